"""All that was found out about a board; the page and the exports read it and compute nothing again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from .elsewhere import Elsewhere, Scores
from .figures.exhibit import Drawn
from .leaderboard import Flag
from .study import Board
from .viewer import Diagnoses


@dataclass(frozen=True)
class Finding:
    """A board with what is said of it; ``folder`` is that of its figures, seen from the report's.

    ``comparisons`` are those of ``statistics.compare_models``; ``diagnoses`` and ``scores``, of other benchmarks, are
    by label.
    """

    board: Board
    name: str
    headline: str
    flags: Sequence[Flag]
    comparisons: pd.DataFrame
    diagnoses: Diagnoses
    scores: Scores
    elsewhere: Elsewhere
    figures: Sequence[Drawn] = ()
    folder: str = "figures"
