"""Order of the matched steps, with the share of items in which there is an order to judge."""

from functools import cache
from random import Random

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...metrics.order import lis_ratio
from .exhibit import Exhibit, over_items
from .intervals import whisker
from .layout import rows, shares_axis, unit_axis
from .theme import INK, MUTED, PAPER, SMALL, text_on

#: Shuffles a number of matches, and their seed: the mean moves in the third decimal.
SHUFFLES, SEED = 1000, 42
#: More matches than this are taken as this many; the value hardly falls any more, and few items have more.
MOST = 40


def caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit)}. Left: lis_multi, the longest run of matched steps in the reference's order as a share "
        "of the matches, over the items with two or more matches, with its 95 % bootstrap interval. The grey stroke is "
        "what the same numbers of matches give in random order. Right: the share of items behind it; the others say "
        "nothing about order. lis itself is not shown, since it is 1 where nothing matches."
    )


def draw(exhibit: Exhibit) -> Figure | None:
    """``lis_multi`` and its share of items, a row a model."""
    made = rows(exhibit.styles, (1, 0.8))
    left, right = made.panels
    unit_axis(left, "lis_multi, 95 % interval")
    shares_axis(right, "items with two or more matches")
    for place, (run, style) in enumerate(exhibit.rows):
        value = run.mean("lis_multi")
        share = (value.items or 0) / run.result.items if value else 0.0
        if value:
            whisker(left, place, value, style)
        else:
            left.text(0.5, place, "no item has two matches", fontsize=SMALL, color=MUTED, ha="center", va="center")
        if value and run.items is not None:
            left.plot(
                [in_random_order(run.items["matches"])] * 2, [place - 0.3, place + 0.3], color=MUTED, linewidth=1.5
            )
        right.barh(place, share, 0.6, color=style.colour, edgecolor=PAPER, linewidth=0)
        inside = share > 0.8
        right.annotate(
            f"{100 * share:.0f} %",
            (share, place),
            xytext=(-4 if inside else 4, 0),
            textcoords="offset points",
            ha="right" if inside else "left",
            va="center",
            fontsize=SMALL,
            color=text_on(style.colour) if inside else INK,
        )
    return made.figure


def in_random_order(matches: pd.Series) -> float:
    """Mean of ``lis_multi`` over items with these numbers of matches if their order were random."""
    counts = matches[matches >= 2].clip(upper=MOST)
    return float(counts.map(_random_lis).mean()) if len(counts) else float("nan")


@cache
def _random_lis(count: int) -> float:
    """Expected ``lis`` of ``count`` matches in random order; 0.75 for two."""
    random = Random(f"{SEED} {count}")
    return float(np.mean([lis_ratio(random.sample(range(count), count)) for _ in range(SHUFFLES)]))
