"""The behaviours of the scripted stand-in: what each persona writes for an item, the same for the same seed."""

import json
import math
import random
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .unrelated import SENTENCES

if TYPE_CHECKING:
    from ..crystal_task.item import Item

# The cherry picker names one reference step in three: enough to look sound, too little to be it.
CHERRY_SHARE = 3
# The talker has this many steps for each reference step: a long chain, and about other pictures.
TALKER_SHARE = 2
# A refusal in one sentence holds no JSON, no step and no answer for any parser to find.
REFUSAL = "I am sorry, but I cannot help with that request."
POLARITY = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
# Single words, for the released rule never takes one word for another, nor for a part of several. The
# second stands in where the reference itself speaks of the first.
WRONG_WORDS = ("zeppelin", "marzipan")

LETTER = re.compile(r"\(?([A-Za-z])[).:]?")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def oracle(item: "Item", rng: random.Random, others: Sequence[str]) -> str:
    """The references and the right answer."""
    return response(item.reference_steps, item.answer)


def cherry_picker(item: "Item", rng: random.Random, others: Sequence[str]) -> str:
    """The first third of the references, at least one, and the right answer."""
    return response(item.reference_steps[: math.ceil(len(item.reference_steps) / CHERRY_SHARE)], item.answer)


def shuffled(item: "Item", rng: random.Random, others: Sequence[str]) -> str:
    """All references in an order that is not theirs, and the right answer."""
    return response(shuffle(item.reference_steps, rng), item.answer)


def verbose(item: "Item", rng: random.Random, others: Sequence[str]) -> str:
    """All references, as many sentences that have nothing to do with the item, and the right answer."""
    padding = unrelated(len(item.reference_steps), rng)
    return response([*item.reference_steps, *padding], item.answer)


def talker(item: "Item", rng: random.Random, others: Sequence[str]) -> str:
    """Twice as many steps as there are references, all of them other items' references, and the right answer."""
    count = TALKER_SHARE * len(item.reference_steps)
    drawn = draw(others, count + len(item.reference_steps), rng) if others else []
    said = [step for step in drawn if step not in item.reference_steps]
    return response([*said, *unrelated(count, rng)][:count], item.answer)


def lucky(item: "Item", rng: random.Random, others: Sequence[str]) -> str:
    """As many steps as there are references, none to do with the item, and the right answer."""
    return response(unrelated(len(item.reference_steps), rng), item.answer)


def wrong(item: "Item", rng: random.Random, others: Sequence[str]) -> str:
    """The references and an answer that no rule takes for the right one."""
    return response(item.reference_steps, wrong_answer(item.answer, item.options))


def malformed(item: "Item", rng: random.Random, others: Sequence[str]) -> str:
    """A refusal, in which there is nothing to parse."""
    return REFUSAL


Persona = Callable[["Item", random.Random, Sequence[str]], str]
PERSONAS: dict[str, Persona] = {
    persona.__name__: persona for persona in (oracle, cherry_picker, shuffled, verbose, talker, lucky, wrong, malformed)
}


def write(persona: str, item: "Item", seed: int, others: Sequence[str] = ()) -> str:
    """The response of ``persona`` to ``item``: the same for the same seed, in any process and any order of items.

    ``others`` are the reference steps of the whole dataset; only ``talker`` needs them.

    >>> from lmms_eval_crystal.crystal_task.item import Item
    >>> write("wrong", Item(0, "How many dogs?", "2", ("Two dogs sit",)), seed=42)
    '{"reasoning_steps": ["Two dogs sit"], "answer": "11"}'
    """
    return PERSONAS[persona](item, random.Random(f"{seed}/{item.index}/{item.question}"), others)


def response(steps: Sequence[str], answer: str) -> str:
    """The JSON object that the prompt asks for, as a model writes it.

    >>> response(["Two dogs sit"], "2")
    '{"reasoning_steps": ["Two dogs sit"], "answer": "2"}'
    """
    return json.dumps({"reasoning_steps": list(steps), "answer": answer}, ensure_ascii=False)


def shuffle(steps: Sequence[str], rng: random.Random) -> list[str]:
    """The steps in a random order other than the given one; fewer than two have no other.

    >>> shuffle(["first", "second"], random.Random(0))
    ['second', 'first']
    """
    given = list(range(len(steps)))
    order = given.copy()
    while order == given and len(given) > 1:
        rng.shuffle(order)
    return [steps[index] for index in order]


def unrelated(count: int, rng: random.Random) -> list[str]:
    """``count`` sentences that have nothing to do with any item.

    >>> len(set(unrelated(40, random.Random(0))))
    40
    """
    return draw(SENTENCES, count, rng)


def draw(texts: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """``count`` of the texts in random order, none twice before all have been used once.

    >>> sorted(draw(["a", "b"], 4, random.Random(0)))
    ['a', 'a', 'b', 'b']
    """
    drawn: list[str] = []
    while len(drawn) < count:
        drawn += rng.sample(texts, min(count - len(drawn), len(texts)))
    return drawn


def wrong_answer(reference: str, options: Sequence[str] = ()) -> str:
    """An answer of the reference's own kind where it has one, that both answer rules reject.

    >>> wrong_answer("C", ["left", "right", "middle"]), wrong_answer("No"), wrong_answer("12 cm")
    ('A', 'yes', '31')
    >>> wrong_answer("a red bus")
    'zeppelin'
    """
    plain = reference.strip().rstrip(".").lower()
    if plain in POLARITY:
        return POLARITY[plain]
    if letter := LETTER.fullmatch(reference.strip()):
        return _next_letter(letter[1].upper(), len(options))
    if number := NUMBER.search(reference):
        # Beyond every tolerance, whatever the sign: at least twice the reference and seven more.
        return str(2 * int(float(number[0])) + 7)
    return next((word for word in WRONG_WORDS if word not in plain), "".join(WRONG_WORDS))


def _next_letter(letter: str, options: int) -> str:
    position = ord(letter) - ord("A")
    # A letter beyond the options is a name in the picture; the whole alphabet stands beside it.
    among = options if options > 1 and position < options else 26
    return chr(ord("A") + (position + 1) % among)
