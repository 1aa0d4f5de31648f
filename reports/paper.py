"""The 20 rows of the paper's Table 2 (arXiv 2603.13099): published figures, not measured here."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

PAPER_FILE = Path(__file__).parent.parent / "configs" / "paper_table2.csv"
#: Columns of the table that are no numbers.
TEXTS = ("paper_name", "family")
#: Metrics of the table under our names; its accuracy is in percent.
METRICS = ("accuracy", "match_f1", "precision", "recall", "ordered_f1", "lis", "steps")
#: What has to stand wherever a row is shown.
NOTE = (
    "Published figures of the paper's Table 2, made with the authors' prompt and parser on all 6,372 items and not "
    "measured here: only full runs of crystal_paper are comparable. They come without intervals."
)


@cache
def paper_figures() -> Mapping[str, Mapping[str, float]]:
    """The table by ``paper_name`` as it is printed: ``accuracy_pct`` in percent, steps as counts, the rest on 0 to 1.

    >>> paper_figures()["GPT-5"]["accuracy_pct"]
    57.99
    """
    with PAPER_FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row["paper_name"]: {key: float(value) for key, value in row.items() if key not in TEXTS and value}
        for row in rows
    }


def paper_table() -> pd.DataFrame:
    """The same under our metrics' names: a row a model (index ``model``), ``accuracy`` on 0 to 1, ``published`` True.

    ``accuracy`` is that of the paper's rule; the table has no strict one, no intervals and no items, and its
    ``lis`` is 1 where fewer than two steps match. The rows stand in the order of the paper.

    >>> round(float(paper_table().loc["GPT-5", "accuracy"]), 4)
    0.5799
    """
    # Half a second that the other commands, which read the figures only, do not need.
    import pandas as pd

    table = pd.DataFrame.from_dict({name: dict(row) for name, row in paper_figures().items()}, orient="index")
    table["accuracy"] = table["accuracy_pct"] / 100
    return table[list(METRICS)].rename_axis("model").assign(published=True)
