"""The step viewer's data: which items of a board go into the page, and each of them as plain JSON.

An item is a row of the list (what filters and search need) and a body (texts, steps and matches), so that
a page with the rows of all items can fetch bodies later.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ..metrics.aggregate import SEED
from ..metrics.order import in_order, predicted_order
from .inline import inline_json
from .study import Board

#: Items that a page shows unless it is told otherwise: each stratum several times, and a page that opens at once.
ITEMS = 300
#: Bytes of the bodies in one page: with pictures and figures it stays under 15 MB.
BODY_BYTES = 6_000_000
#: Characters of a question in the list; the row shows about eighty, search finds them all.
LISTED = 160
#: Shares of the items below which a chain of reference steps counts as short and as middling.
TERTILES = (1 / 3, 2 / 3)
#: Scores of a chain that the viewer prints.
SCORES = ("match_f1", "precision", "recall", "ordered_f1", "null_f1")

#: The diagnosis of each item (index ``doc_id``) by the label of its run.
Diagnoses = Mapping[str, "pd.Series[str]"]


@dataclass(frozen=True)
class Shown:
    """What a page shows of a board: rows, and the bodies that it carries itself.

    ``left_out`` counts chosen items that were too long to be shown; bodies of other rows lie in ``files``,
    ``a_file`` rows in each, beside the page.
    """

    rows: list[dict[str, Any]]
    bodies: dict[int, dict[str, Any]]
    total: int
    left_out: int = 0
    files: tuple[str, ...] = ()
    a_file: int = 0


def choose_items(
    board: Board, diagnoses: Diagnoses, count: int = ITEMS, first: Iterable[int] = (), seed: int = SEED
) -> list[int]:
    """``count`` items (all, where there are fewer) that show each kind of case, those that matter most first.

    ``first`` are taken in any case, even where they are more. The others are drawn in turn from cells of
    source, number of reference steps (tertiles) and diagnosis of each model, the cells with the fewest items
    first, so that what is rare is there. The draw depends on ``seed`` and on the items, not on the order of runs.
    """
    known = known_items(board)
    chosen = dict.fromkeys(doc_id for doc_id in first if doc_id in known.index)
    count = max(count, len(chosen))
    cells: dict[tuple[str, ...], list[int]] = defaultdict(list)
    lengths = _length_names(known["references"])
    sources = known["source"].to_dict()
    for label in sorted(diagnoses):
        found: dict[Any, str] = diagnoses[label].to_dict()
        for doc_id, diagnosis in found.items():
            cells[str(sources[doc_id]), lengths[doc_id], label, diagnosis].append(doc_id)
    rng = random.Random(seed)
    piles = [rng.sample(sorted(pile), len(pile)) for _, pile in sorted(cells.items(), key=lambda c: (len(c[1]), c[0]))]
    while len(chosen) < count and any(piles):
        for pile in piles:
            while pile and pile[-1] in chosen:
                pile.pop()
            if pile and len(chosen) < count:
                chosen[pile.pop()] = None
    return [int(doc_id) for doc_id in chosen]


def known_items(board: Board) -> pd.DataFrame:
    """``source`` and ``references`` (number of reference steps) of every item that some run has, by ``doc_id``."""
    tables = [run.items[["source", "references"]] for run in board.sampled if run.items is not None]
    if not tables:
        return pd.DataFrame({"source": [], "references": []})
    joined = pd.concat(tables)
    return joined[~joined.index.duplicated()].sort_index()


def show_items(reader: ItemReader, doc_ids: Iterable[int], budget: int = BODY_BYTES) -> Shown:
    """Rows and bodies of the given items, in their order until ``budget`` (bytes) is used up; then by number.

    An item that alone would take more than is left is passed over, so that one endless response costs one item.
    """
    rows, bodies, left, out = [], {}, budget, 0
    for doc_id in doc_ids:
        body = reader.body(doc_id)
        size = len(inline_json(body).encode())
        if size > left:
            out += 1
            continue
        left -= size
        bodies[doc_id] = body
        rows.append(reader.row(doc_id))
    return Shown(sorted(rows, key=lambda row: row["id"]), bodies, reader.total, out)


def _length_names(references: pd.Series[int]) -> dict[Any, str]:
    short, middling = references.quantile(list(TERTILES))
    return {
        doc_id: "short" if steps <= short else "middling" if steps <= middling else "long"
        for doc_id, steps in references.items()
    }


@dataclass
class ItemReader:
    """Reads items of a board from its samples; of a public page it gives numbers and no texts.

    ``advance`` is told of each item whose records were read.
    """

    board: Board
    diagnoses: Diagnoses
    public: bool = False
    advance: Callable[[], None] = lambda: None
    _numbers: list[dict[Any, dict[str, Any]]] = field(init=False)
    _last: tuple[int, dict[int, dict[str, Any]]] = field(init=False, default=(-1, {}))

    def __post_init__(self) -> None:
        self._numbers = [{} if run.items is None else run.items.to_dict("index") for run in self.board.runs]  # type: ignore[misc]

    @property
    def total(self) -> int:
        """Number of items that some run has."""
        return len(set().union(*self._numbers))

    def row(self, doc_id: int) -> dict[str, Any]:
        """What the list shows, filters and searches; of each run strict and paper's verdict, diagnosis, status, F1."""
        records = self._records(doc_id)
        known: dict[str, Any] = next(iter(records.values()), {})
        runs: list[list[Any] | None] = [None] * len(self.board.runs)
        for place, record in records.items():
            numbers = self._numbers[place][doc_id]
            found = self.diagnoses.get(self.board.runs[place].label)
            runs[place] = [
                int(numbers["accuracy_strict"] >= 0.5),
                int(numbers["accuracy"] >= 0.5),
                "" if found is None else str(found.get(doc_id, "")),
                str(record.get("status") or ""),
                _number(numbers["match_f1"]) or 0,
            ]
        return {
            "id": doc_id,
            "source": str(known.get("source") or ""),
            "steps": len(_texts(known.get("reference_steps"))),
            "question": "" if self.public else str(known.get("question") or "")[:LISTED],
            "runs": runs,
        }

    def body(self, doc_id: int) -> dict[str, Any]:
        """Question, reference and the chain of each run; in public numbers of steps in the place of texts."""
        records = self._records(doc_id)
        known: dict[str, Any] = next(iter(records.values()), {})
        runs: list[dict[str, Any] | None] = [None] * len(self.board.runs)
        for place, record in records.items():
            runs[place] = _chain(self._numbers[place][doc_id], record, self.public)
        steps = _texts(known.get("reference_steps"))
        if self.public:
            return {"reference": len(steps), "runs": runs}
        return {
            "question": str(known.get("question") or ""),
            "options": _texts(known.get("options")),
            "answer": str(known.get("reference_answer") or ""),
            "image": self.image(doc_id),
            "reference": steps,
            "runs": runs,
        }

    def image(self, doc_id: int) -> str:
        """SHA-256 of the item's image; empty where no record has it."""
        known = (str(record.get("image_sha256") or "") for record in self._records(doc_id).values())
        return next(filter(None, known), "")

    def _records(self, doc_id: int) -> dict[int, dict[str, Any]]:
        """Records by the place of their run; those of the last item are kept, as rows and bodies both need them."""
        if self._last[0] != doc_id:
            found = {
                place: run.samples.record(doc_id)["crystal"]
                for place, run in enumerate(self.board.runs)
                if run.samples is not None and doc_id in run.samples.places
            }
            self._last = (doc_id, found)
            self.advance()
        return self._last[1]


def _chain(numbers: Mapping[str, Any], record: Mapping[str, Any], public: bool) -> dict[str, Any]:
    steps = _texts(record.get("predicted_steps"))
    chain: dict[str, Any] = {
        "steps": len(steps) if public else steps,
        "pairs": _pairs(record, len(steps)),
        "scores": {name: _number(numbers.get(name)) for name in SCORES},
        "truncated": numbers.get("truncated") == 1,
    }
    if not public:
        chain["answer"] = str(record.get("answer") or "")
        chain["response"] = str(record.get("response") or "")
    return chain


def _pairs(record: Mapping[str, Any], steps: int) -> list[list[Any]]:
    """``[predicted, reference, similarity, whether it stands in order]`` of each match."""
    pairs = [(int(p), int(r), float(s)) for p, r, s in record.get("pairs") or ()]
    run = set(in_order(predicted_order(pairs)))
    references = len(_texts(record.get("reference_steps")))
    return [
        [predicted, reference, _number(similarity), int(predicted in run)]
        for predicted, reference, similarity in pairs
        if 0 <= predicted < steps and 0 <= reference < references
    ]


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list | tuple) else []


def _number(value: Any) -> float | None:
    """Four digits of a number; None where there is none, as JSON has no NaN."""
    return None if value is None or not math.isfinite(value) else round(float(value), 4)
