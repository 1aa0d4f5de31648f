"""The metrics that tables of models show, in their order, for the page, its exports and the terminal alike."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A metric, how it is shown, and whether its highest value deserves a mark.

    ``short`` is its heading in a terminal, which goes without those that have none.
    """

    metric: str
    title: str
    meaning: str
    short: str = ""
    digits: int = 3
    higher_is_better: bool = False


COLUMNS = (
    Column("accuracy", "Accuracy", "final answers right by the paper's released rule", "Acc.", higher_is_better=True),
    Column(
        "accuracy_strict", "strict", "final answers right as a careful marker decides", "strict", higher_is_better=True
    ),
    Column("match_f1", "Match F1", "harmonic mean of step precision and recall", "Match F1", higher_is_better=True),
    Column(
        "f1_above_null",
        "above null",
        "Match F1 minus its null, which is Match F1 against another item's reference steps",
        "Ab. null",
        higher_is_better=True,
    ),
    Column("precision", "Precision", "share of predicted steps that match; few safe steps score high", "Prec."),
    Column("recall", "Recall", "share of reference steps that are matched", "Recall", higher_is_better=True),
    Column("ordered_f1", "Ordered F1", "Match F1, less up to 30 % for disorder", "Ord. F1", higher_is_better=True),
    Column("lis_multi", "LIS 2+", "share of matched steps in order, over the items where two or more match", "LIS 2+"),
    Column("steps", "Steps", "predicted steps an item", "Steps", digits=1),
    Column("format_usable", "Usable", "share of responses that could be read", "Usable"),
    Column("truncated", "Truncated", "share of responses that broke off or reached the token limit", "Trunc."),
    Column("output_tokens", "Tokens", "output tokens an item, where the model counts them", digits=0),
)
