"""The step viewer's data: which items of a board go into the page, and each of them as plain JSON.

An item is a row of the list (what filters and search need) and a body (texts, steps and matches), so that
a page with the rows of all items can fetch bodies later.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..metrics.order import in_order, predicted_order
from .study import Board, Run

#: Items that a page shows unless it is told otherwise: each stratum several times, and a page that opens at once.
ITEMS = 300
#: Bytes of texts in one page: with pictures and figures it stays under 15 MB.
TEXT_BYTES = 6_000_000
#: Characters of a question in the list; the row shows about eighty, search reads all of them.
LISTED = 300
SEED = 42
#: Shares of the items below which a chain of reference steps counts as short and as middling.
TERTILES = (1 / 3, 2 / 3)

#: The diagnosis of each item (index ``doc_id``) by the label of its run.
Diagnoses = Mapping[str, "pd.Series[str]"]


@dataclass(frozen=True)
class Shown:
    """The items of a board that a page shows: ``bodies`` of all rows, or of the first ones with the rest elsewhere."""

    rows: list[dict[str, Any]]
    bodies: dict[int, dict[str, Any]]
    total: int


def choose_items(
    board: Board, diagnoses: Diagnoses, count: int = ITEMS, first: Iterable[int] = (), seed: int = SEED
) -> list[int]:
    """``count`` items (all, where there are fewer) that show each kind of case; sorted by ``doc_id``.

    ``first`` are taken in any case. The others are drawn in turn from cells of source, number of reference
    steps (tertiles) and diagnosis of each model, the cells with the fewest items first, so that what is
    rare is there. The draw depends on ``seed`` and on the items, not on the order of runs.
    """
    known = _all_items(board)
    chosen = dict.fromkeys(doc_id for doc_id in first if doc_id in known.index)
    if len(known) <= count:
        return [int(doc_id) for doc_id in known.index]
    cells: dict[tuple[str, ...], list[int]] = defaultdict(list)
    lengths = _length_names(known["references"])
    for label in sorted(diagnoses):
        for doc_id, diagnosis in diagnoses[label].items():
            cells[str(known.at[doc_id, "source"]), lengths[doc_id], label, diagnosis].append(int(doc_id))
    rng = random.Random(seed)
    piles = [rng.sample(sorted(pile), len(pile)) for _, pile in sorted(cells.items(), key=lambda c: (len(c[1]), c[0]))]
    while len(chosen) < count and any(piles):
        for pile in piles:
            while pile and pile[-1] in chosen:
                pile.pop()
            if pile and len(chosen) < count:
                chosen[pile.pop()] = None
    return sorted(list(chosen)[:count])


def show_items(
    board: Board,
    diagnoses: Diagnoses,
    doc_ids: Sequence[int],
    public: bool = False,
    budget: int = TEXT_BYTES,
    advance: Callable[[], None] = lambda: None,
) -> Shown:
    """Rows and bodies of the given items; bodies only as long as their texts fit into ``budget`` (characters).

    A public page has numbers and no texts: neither questions, options, answers, steps nor responses.
    """
    rows, bodies, used = [], {}, 0
    for doc_id in doc_ids:
        records = {
            place: run.samples.record(doc_id)["crystal"]
            for place, run in enumerate(board.runs)
            if run.samples is not None and doc_id in run.samples.places
        }
        body = _body(board, doc_id, records, public)
        used += _weight(body)
        if used <= budget:
            bodies[doc_id] = body
        rows.append(_row(board, diagnoses, doc_id, records, public))
        advance()
    return Shown(rows, bodies, len(_all_items(board)))


def bodies_of(board: Board, doc_ids: Iterable[int], public: bool = False) -> dict[int, dict[str, Any]]:
    """The bodies of items that are shown on demand."""
    return {
        doc_id: _body(
            board,
            doc_id,
            {
                place: run.samples.record(doc_id)["crystal"]
                for place, run in enumerate(board.runs)
                if run.samples is not None and doc_id in run.samples.places
            },
            public,
        )
        for doc_id in doc_ids
    }


def _all_items(board: Board) -> pd.DataFrame:
    """Source and number of reference steps of every item that some run has."""
    tables = [run.items[["source", "references"]] for run in board.sampled if run.items is not None]
    if not tables:
        return pd.DataFrame({"source": [], "references": []})
    joined = pd.concat(tables)
    return joined[~joined.index.duplicated()].sort_index()


def _length_names(references: pd.Series[int]) -> dict[int, str]:
    short, middling = references.quantile(list(TERTILES))
    return {
        int(doc_id): "short" if steps <= short else "middling" if steps <= middling else "long"
        for doc_id, steps in references.items()
    }


def _row(
    board: Board, diagnoses: Diagnoses, doc_id: int, records: Mapping[int, dict[str, Any]], public: bool
) -> dict[str, Any]:
    """What the list shows, filters and searches."""
    any_record: dict[str, Any] = next(iter(records.values()), {})
    return {
        "id": doc_id,
        "source": str(any_record.get("source") or ""),
        "steps": len(any_record.get("reference_steps") or ()),
        "question": "" if public else str(any_record.get("question") or "")[:LISTED],
        "runs": [
            _verdict(run, diagnoses, doc_id, records[place]) if place in records else None
            for place, run in enumerate(board.runs)
        ],
    }


def _verdict(run: Run, diagnoses: Diagnoses, doc_id: int, record: Mapping[str, Any]) -> dict[str, Any]:
    assert run.items is not None
    numbers = run.items.loc[doc_id]
    known = diagnoses.get(run.label)
    return {
        "strict": bool(numbers["accuracy_strict"] >= 0.5),
        "paper": bool(numbers["accuracy"] >= 0.5),
        "diagnosis": "" if known is None else str(known.get(doc_id, "")),
        "status": str(record.get("status") or ""),
        "f1": _number(numbers["match_f1"]),
    }


def _body(board: Board, doc_id: int, records: Mapping[int, dict[str, Any]], public: bool) -> dict[str, Any]:
    """Question, reference and each model's chain; of a public page numbers of steps in the place of texts."""
    any_record: dict[str, Any] = next(iter(records.values()), {})
    runs: list[dict[str, Any] | None] = [None] * len(board.runs)
    for place, record in records.items():
        run = board.runs[place]
        assert run.items is not None
        runs[place] = _chain(run.items.loc[doc_id], record, public)
    steps = _texts(any_record.get("reference_steps"))
    if public:
        return {"reference": len(steps), "runs": runs}
    return {
        "question": str(any_record.get("question") or ""),
        "options": _texts(any_record.get("options")),
        "answer": str(any_record.get("reference_answer") or ""),
        "image": str(any_record.get("image_sha256") or ""),
        "reference": steps,
        "runs": runs,
    }


def _chain(numbers: pd.Series[Any], record: Mapping[str, Any], public: bool) -> dict[str, Any]:
    steps = _texts(record.get("predicted_steps"))
    chain: dict[str, Any] = {
        "steps": len(steps) if public else steps,
        "pairs": _pairs(record, len(steps)),
        "kinds": [str(record.get("correct_kind") or ""), str(record.get("correct_strict_kind") or "")],
        "scores": {
            name: _number(numbers.get(name))
            for name in ("match_f1", "precision", "recall", "ordered_f1", "lis_multi", "null_f1")
        },
        "truncated": bool(numbers.get("truncated") == 1),
        "tokens": _number(numbers.get("output_tokens")),
    }
    if not public:
        chain["answer"] = str(record.get("answer") or "")
        chain["response"] = str(record.get("response") or "")
    return chain


def _pairs(record: Mapping[str, Any], steps: int) -> list[list[Any]]:
    """``[predicted, reference, similarity, whether it stands in order]`` of each match."""
    pairs = [(int(p), int(r), float(s)) for p, r, s in record.get("pairs") or ()]
    run = set(in_order(predicted_order(pairs)))
    references = len(record.get("reference_steps") or ())
    return [
        [predicted, reference, _number(similarity), predicted in run]
        for predicted, reference, similarity in pairs
        if 0 <= predicted < steps and 0 <= reference < references
    ]


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list | tuple) else []


def _number(value: Any) -> float | None:
    """Four digits of a number; None where there is none, as JSON has no NaN."""
    return None if value is None or not math.isfinite(value) else round(float(value), 4)


def _weight(body: Any) -> int:
    """Characters of all texts in a body."""
    if isinstance(body, str):
        return len(body)
    if isinstance(body, Mapping):
        return sum(map(_weight, body.values()))
    return sum(map(_weight, body)) if isinstance(body, list) else 4
