"""How each number of a report is made, in the words of its page."""

from collections.abc import Sequence

from .study import fields

OURS = "as one step that matches nothing and no answer"
RELEASED = "as no step and no answer"

METHOD: tuple[tuple[str, str], ...] = (
    (
        "Match",
        "A predicted and a reference step match if the cosine of their sentence embeddings is above the threshold tau "
        "of the signature; pairs are taken greedily, the most similar first, each step once. With m pairs, P predicted "
        "and R reference steps, precision is m/P, recall m/R, and Match F1 their harmonic mean.",
    ),
    (
        "Interval of a mean",
        "A 95 % bootstrap over items, as the results file carries it. Overlapping intervals of two models on the same "
        "items do not yet mean that they are equal: the pairs say that.",
    ),
    (
        "Pairs",
        "Differences on the items that both models have; whole images are drawn, each source for itself; the interval "
        "has the outer ends of a paired bootstrap and of a sign-flip test, and p is the larger of both. Holm's method "
        "corrects for the number of pairs of one metric.",
    ),
    (
        "Ranks",
        "1 is the highest; tied models share a rank (=) and stand in the order of the table.",
    ),
)


def counted_as(scorers: Sequence[str]) -> str:
    """As what an unreadable response counts, by the parsers that scorer signatures name.

    >>> counted_as(["crystal|v:1|parse:released|tau:0.35"])
    'as no step and no answer'
    """
    parsers = {fields(scorer).get("parse") for scorer in scorers}
    if parsers == {"released"}:
        return RELEASED
    return f"{OURS}, or with the released parser {RELEASED}" if "released" in parsers else OURS


def method(scorers: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The paragraphs for boards of these scorer signatures: titles and texts."""
    unreadable = f"A response that cannot be read counts {counted_as(scorers)}, so that every item counts."
    return (*METHOD, ("Unreadable responses", unreadable))
