"""Synthetic items of the paper's shape: reference chains, and predicted ones that say part of it in other words."""

import random
from dataclasses import dataclass

#: Mean numbers of reference and predicted steps, as in the paper's data and among its models.
REFERENCE_STEPS, PREDICTED_STEPS = 11.6, 6.0
#: Spread of these numbers, and the fewest and most steps of a chain.
SPREAD, FEWEST, MOST = 3.0, 2, 24
#: Share of the predicted steps that say what a reference step says; the others say something else.
FAITHFUL = 0.7
SEED = 42


def _split(words: str) -> list[str]:
    return [" ".join(word.split()) for word in words.split(",")]


_THINGS = _split("""
bar, line, sector, triangle, circle, sign, car, bottle, window, shelf, arrow, label, table, bridge, lamp,
 house, tree, dog, child, cyclist, bus, plate, graph, axis, legend, curve, rectangle, angle, pipe, wheel, roof, fence,
 clock, ladder, kite, boat, magnet, beaker, leaf, cell""")
_TRAITS = _split("""
red, dark green, pale blue, striped, dotted, the tallest, the second shortest, partly hidden, upright, broken,
 wooden, shaded, hollow, empty, half full, closed, tilted to the left, painted white, wet, transparent, out of focus""")
_PLACES = _split("""
in the upper left corner, beside the entrance, under the horizontal axis, at the right edge of the image,
 behind the parked lorry, between the two columns, near the centre of the figure, above the second row,
 in the foreground, along the dashed line, at the bottom of the diagram, next to the scale""")
_UNITS = _split("units, cm, degrees, per cent, people, metres, kg, dollars, litres, points, years, minutes")
#: Each group says one thing in several ways: for the reference, and for the predicted step.
_WORDINGS = (
    ("The {thing} covers {number} {unit}.", "It has {number} {unit} of {thing}."),
    ("The {trait} {thing} touches the {other}.", "The {other} meets a {trait} {thing}."),
    (
        "Because the {thing} {place} is {trait}, the total of {number} {unit} has to be reduced by {small}.",
        "As the {thing} {place} is {trait}, one has to take away {small} from the {number} {unit}.",
    ),
    ("The {thing} {place} is {trait}.", "We can see that the {trait} {thing} stands {place}."),
    (
        "Reading the value of the {thing} {place} gives {number} {unit}.",
        "According to the picture, the {thing} {place} has a value of about {number} {unit}.",
    ),
    (
        "Subtracting {small} from {number} leaves a difference of {rest} {unit} for the {thing}.",
        "The difference between {number} and {small} is {rest} {unit}, which belongs to the {thing}.",
    ),
    (
        "There are {small} {thing} shapes {place}, and none of them is {trait}.",
        "Counting the {thing} shapes {place} gives {small}; not one of them appears to be {trait}.",
    ),
    (
        "Since the {thing} is {trait}, the option that names the {other} {place} can be ruled out.",
        "The choice with the {other} {place} is wrong, because the {thing} is clearly {trait}.",
    ),
    (
        "The {thing} and the {other} together make up {number} {unit} of the total shown {place}.",
        "Adding the {other} to the {thing} results in {number} {unit}, as can be read {place}.",
    ),
    (
        "A {trait} {thing} {place} shows that the {other} has been moved by {small} {unit}.",
        "That the {other} moved {small} {unit} follows from the {trait} {thing} {place}.",
    ),
)


@dataclass(frozen=True)
class SyntheticItem:
    """The steps of one item, predicted and of the reference."""

    predicted: list[str]
    reference: list[str]


def make_items(count: int, seed: int = SEED) -> list[SyntheticItem]:
    """So many items, the same for the same seed; those of a smaller count are the first of a larger one."""
    draw = random.Random(seed)
    return [_item(draw) for _ in range(count)]


def _item(draw: random.Random) -> SyntheticItem:
    facts = [_fact(draw) for _ in range(_chain_length(draw, REFERENCE_STEPS))]
    wanted = _chain_length(draw, PREDICTED_STEPS)
    shared = draw.sample(range(len(facts)), min(len(facts), sum(draw.random() < FAITHFUL for _ in range(wanted))))
    told = [facts[index] for index in sorted(shared)]
    while len(told) < wanted:
        told.insert(draw.randrange(len(told) + 1), _fact(draw))
    return SyntheticItem([said for _, said in told], [meant for meant, _ in facts])


def _chain_length(draw: random.Random, mean: float) -> int:
    return min(MOST, max(FEWEST, round(draw.gauss(mean, SPREAD))))


def _fact(draw: random.Random) -> tuple[str, str]:
    """One thing that can be said of an image, as the reference says it and as a prediction does."""
    thing, other = draw.sample(_THINGS, 2)
    small, number = draw.randint(2, 40), draw.randint(41, 999)
    words = {
        "thing": thing,
        "other": other,
        "trait": draw.choice(_TRAITS),
        "place": draw.choice(_PLACES),
        "unit": draw.choice(_UNITS),
        "small": small,
        "number": number,
        "rest": number - small,
    }
    reference, predicted = (wording.format(**words) for wording in draw.choice(_WORDINGS))
    return reference, predicted
