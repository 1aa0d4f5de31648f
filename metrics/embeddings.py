"""Embeddings by text: each different text is encoded once, however often and wherever it occurs."""

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import CrystalError


class Encoder(Protocol):
    """Anything that turns texts into rows of numbers that can be compared by their cosine."""

    def encode(self, texts: list[str]) -> np.ndarray:
        """Embeddings of shape ``(n, d)``, one row a text."""
        ...


def _as_array(rows: Any) -> np.ndarray:
    """An encoder's rows as an array: some return lists, some torch tensors of any device and type."""
    if hasattr(rows, "detach"):
        rows = rows.detach().float().cpu().numpy()
    return np.asarray(rows)


class EmbeddingTable:
    """Embeddings of all texts seen so far, by text; safe to use from several threads."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._row_of: dict[str, np.ndarray] = {}
        self._width = 0
        self._lock = threading.Lock()

    def add(self, texts: Iterable[str]) -> None:
        """Encodes the texts that are not in the table yet, in one call of the encoder.

        Raises ``CrystalError`` where the encoder returns another number of rows, another width than
        before, or numbers that are no directions (NaN, infinite, or a row of zeros).
        """
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._row_of]
            if not new:
                return
            rows = _as_array(self._encoder.encode(new))
            self._check(rows, new)
            self._width = rows.shape[1]
            self._row_of.update(zip(new, rows, strict=True))

    def keep(self, texts: Iterable[str]) -> None:
        """Forgets all texts but these, where the steps of one model after another pass through one table."""
        with self._lock:
            # Copies: a row holds on to the whole array that it came with.
            self._row_of = {text: self._row_of[text].copy() for text in dict.fromkeys(texts) if text in self._row_of}

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of the texts, shape ``(n, d)``; texts not seen before are encoded now."""
        self.add(texts)
        if not texts:
            return np.empty((0, self._width), dtype=np.float32)
        return np.stack([self._row_of[text] for text in texts])

    def _check(self, rows: np.ndarray, texts: list[str]) -> None:
        if rows.ndim != 2 or len(rows) != len(texts) or rows.shape[1] == 0:
            raise CrystalError(
                f"The encoder returned shape {rows.shape} for {len(texts)} texts, expected ({len(texts)}, width); "
                "use another encoder (CRYSTAL_ENCODER)."
            )
        if self._width and rows.shape[1] != self._width:
            raise CrystalError(
                f"The encoder returned {rows.shape[1]} numbers a text after {self._width} before; "
                "use another encoder (CRYSTAL_ENCODER)."
            )
        norms = np.linalg.norm(rows, axis=1)
        bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
        if len(bad):
            raise CrystalError(
                f"The encoder returned no usable direction (NaN, infinite or zero) for {len(bad)} of {len(texts)} "
                f"texts, the first being {texts[bad[0]][:80]!r}; use another encoder (CRYSTAL_ENCODER) or another "
                "device for it (CRYSTAL_ENCODER_DEVICE=cpu)."
            )
