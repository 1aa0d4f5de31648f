"""The paper's figures on training (arXiv 2603.13099, Tables 4, 5, 6 and S1): published, not measured here."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

CONFIGS = Path(__file__).parents[2] / "configs"
#: Rewards and backbones: accuracy in percent, ``steps`` where it is printed, the rest on 0 to 1.
STRATEGIES_FILE = CONFIGS / "paper_table4_5.csv"
#: Weights of CPR on a 15 % held-out split of 4,546 samples, and what the training did.
WEIGHTS_FILE = CONFIGS / "paper_table6.csv"
#: Settings of both phases by backbone.
SETTINGS_FILE = CONFIGS / "paper_tableS1.csv"
#: What has to stand wherever these figures are shown.
NOTE = (
    "The paper's rows are published figures and not measured here. They are not comparable with the others: another "
    "model, other data, and four A100 with DeepSpeed ZeRO-3."
)
WEIGHTS_NOTE = "Its Table 6 is of a held-out split of 4,546 samples; it announces six configurations and lists five."


@cache
def published(file: Path) -> tuple[dict[str, str], ...]:
    """The rows of one of the files above as they are printed; what a row does not have is empty.

    >>> published(WEIGHTS_FILE)[2]["kl_max"]
    '0.372'
    """
    with file.open(encoding="utf-8", newline="") as opened:
        return tuple(csv.DictReader(opened))
