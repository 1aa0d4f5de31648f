"""Texts of a figure that cannot be read."""

import numpy as np
from matplotlib.text import Text


def collisions(figure, monkeypatch) -> list[tuple[str, str]]:
    """Pairs of texts that are drawn on each other, and texts that leave the figure, paired with nothing."""
    shown = []
    draw = Text.draw

    def recorded(self, renderer, *args, **kwargs):
        if self.get_visible() and self.get_text().strip():
            shown.append((self.get_text(), self.get_window_extent(renderer).padded(-1).extents))
        draw(self, renderer, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", recorded)
        figure.canvas.draw()
    boxes = np.array([box for _, box in shown])
    words = [text for text, _ in shown]
    out = (boxes[:, :2] < -2).any(axis=1) | (boxes[:, 2:] > np.array(figure.bbox.size) + 2).any(axis=1)
    meets = (boxes[:, None, :2] < boxes[None, :, 2:]).all(axis=2) & (boxes[None, :, :2] < boxes[:, None, 2:]).all(
        axis=2
    )
    pairs = np.argwhere(np.triu(meets, 1))
    return [(words[place], "") for place in np.flatnonzero(out)] + [(words[one], words[other]) for one, other in pairs]
