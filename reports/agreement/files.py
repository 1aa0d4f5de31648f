"""The files of a study of agreement: pairs to label without their scores, instructions, the key, labels read back."""

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CrystalError
from ...metrics.signature import short_hash
from ..plain import one_line
from .draw import ACCEPTED, BAND, Draw

#: Raised when the layout of the key changes.
EDITION = 1
COLUMNS = ("id", "question", "predicted", "reference")
ANNOTATOR = "annotator_"
KEY_ENDING, TEXT_ENDING = ".key.json", ".txt"
#: Nobody compares longer steps by eye, and spreadsheets cut cells off at 32,767 characters.
LONGEST = 2000
#: Characters of a column's name that a sentence shows.
HEADING_LENGTH = 40
WORDS = {
    **dict.fromkeys(("same", "yes", "y", "1", "1.0", "true", "t", "match", "x"), True),
    **dict.fromkeys(("different", "no", "n", "0", "0.0", "false", "f"), False),
}
#: A cell that begins with one of these is a formula to a spreadsheet (the wide ones to some).
_FORMULA = "=+-@＝＋－＠"
#: One that splits cells at semicolons, whatever the quotes say, begins a cell after each.
_AFTER_SEMICOLON = re.compile(rf"(;[\s\"']*)(?=[{_FORMULA}])")
#: What may stand around the name of a column. Programs that do not know the mark of UTF-8 take it into the first one,
#: quoted with it, or in the letters of another code page.
_BLANKS = " \t\r\n\"'\ufeffï»¿"
#: What some spreadsheets write, or need, above the heading to know what parts the cells.
_SEPARATOR = re.compile(r"[\ufeff\"]*sep=(.)\"?[\r\n]+", re.IGNORECASE)
#: Bytes that a CSV may begin with, and what it is then written in.
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))

INSTRUCTIONS = """\
Do two sentences say the same step?

{file} has a row a pair of sentences: a step that a model wrote ("predicted") and a step of
the reference ("reference") for the same question. Each annotator fills one column, alone, without
looking at the other's: {columns}.

Write
  same       the two state the same thing about the picture, or draw the same conclusion: whoever
             accepts one has to accept the other. Other words, more or less detail and another order
             within the sentence do not matter.
  different  they state different things, one says more that matters than the other, or they disagree
             in a number, a name, a direction or a negation.
Leave the cell empty where the sentences alone cannot tell. (yes and no, 1 and 0 are understood too.)

Judge the pair as it stands: whether a step is true, or useful, or well put is not asked, nor how many
pairs are the same. The rows are shuffled; similar rows may be there on purpose. Keep the column "id",
and save as CSV. An apostrophe before =, +, - or @ keeps a spreadsheet from reading a formula and is no
part of the sentence; "[...]" marks a cut.

The file {key} tells which pairs the matcher accepts. Do not open it before you are done.
The texts are of the benchmark, whose terms forbid to publish them.
"""


@dataclass(frozen=True)
class Key:
    """What annotators must not see: the draws by the id of their row, and how they were made."""

    task: str
    encoder: str
    tau: float
    seed: int
    items: int
    of: int
    scorers: tuple[str, ...]
    draws: tuple[tuple[str, Draw], ...]
    #: Labels of the models that are scripted stand-ins; keys of before do not say.
    scripted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Annotator:
    """One annotator's labels by row: True where the pair is the same step. Rows without a label are absent."""

    name: str
    labels: dict[str, bool]


def row_id(draw: Draw, seed: int) -> str:
    """The id of a pair's row: equal pairs of one question are one row, however often they are drawn.

    It begins with a letter, or a spreadsheet would take some ids for numbers.
    """
    return "p" + short_hash(json.dumps([seed, draw.question, draw.predicted, draw.reference]), 12)


def pairs_csv(key: Key, annotators: int) -> str:
    """The rows to label, shuffled, without anything that the matcher says of them."""
    rows = dict(key.draws)
    # By id, which is a hash: the order in which they were drawn tells their band.
    names = sorted(rows)
    order = np.random.default_rng(key.seed).permutation(len(names))
    columns = annotator_columns(annotators)
    made = io.StringIO()
    writer = csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow([*COLUMNS, *columns])
    for place in order:
        draw = rows[names[place]]
        texts = [cell(text) for text in (draw.question, draw.predicted, draw.reference)]
        writer.writerow([names[place], *texts, *("" for _ in columns)])
    # Spreadsheets take a file without this mark for one in the code page of the machine.
    return "\ufeff" + made.getvalue()


def annotator_columns(annotators: int) -> list[str]:
    """The headings of the columns that annotators fill."""
    return [f"{ANNOTATOR}{number + 1}" for number in range(annotators)]


def cell(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula: one line, nothing unseen, cut if endless.

    >>> cell("=1+1"), cell("two\\nlines"), cell('a; "-2')
    ("'=1+1", 'two lines', 'a; "\\'-2')
    """
    text = one_line(text)
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} [...]"
    text = _AFTER_SEMICOLON.sub(r"\1'", text)
    return f"'{text}" if text.lstrip("\"' ").startswith(tuple(_FORMULA)) else text


def key_json(key: Key) -> str:
    """The key as a file."""
    stated = {name: value for name, value in asdict(key).items() if name != "draws"}
    # Texts stand in the CSV already.
    draws = [
        {"id": name, **{field: value for field, value in asdict(draw).items() if field not in COLUMNS}}
        for name, draw in key.draws
    ]
    return json.dumps({"crystal_agreement": EDITION, **stated, "draws": draws}, indent=1, ensure_ascii=False) + "\n"


def read_key(path: Path) -> Key:
    """Raises ``CrystalError`` where the file is no key."""
    try:
        stated: dict[str, Any] = json.loads(path.read_text("utf-8"))
        edition = stated.pop("crystal_agreement")
        draws = tuple(
            (str(draw.pop("id")), Draw(question="", predicted="", reference="", **draw)) for draw in stated.pop("draws")
        )
        stated |= {name: tuple(stated[name]) for name in ("scorers", "scripted") if name in stated}
        key = Key(draws=draws, **stated)
        _check_key(key)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CrystalError(
            f"{path} is no key of `crystal-eval agreement sample` ({type(error).__name__}: {error}); give --key the "
            f"file that was written beside the pairs, which ends in {KEY_ENDING}."
        ) from error
    if edition != EDITION:
        raise CrystalError(f"{path} was written by another version of this package; score it with that one.")
    return key


def _check_key(key: Key) -> None:
    """Raises ``ValueError`` or ``TypeError`` for numbers that are none."""
    if not all(math.isfinite(number) for number in (key.tau, key.seed, key.items, key.of)):
        raise ValueError("tau, seed, items and of are numbers")
    hash(key.scripted)
    for name, draw in key.draws:
        if not (math.isfinite(draw.similarity) and math.isfinite(draw.weight) and draw.weight > 0):
            raise ValueError(f"similarity and weight of {name} are numbers, the weight above 0")
        if draw.kind not in (BAND, ACCEPTED):
            raise ValueError(f"{name} was drawn as {draw.kind!r:.40}")
        hash((draw.model, draw.source, draw.doc_id))


def find_key(labels: Sequence[Path]) -> Path:
    """The key beside label files: of the same name, else the only one there. Raises ``CrystalError`` without one."""
    for path in labels:
        if path.with_suffix(KEY_ENDING).exists():
            return path.with_suffix(KEY_ENDING)
    found = sorted({key for path in labels for key in path.parent.glob(f"*{KEY_ENDING}")})
    if len(found) == 1:
        return found[0]
    raise CrystalError(
        f"{len(found) or 'No'} files that end in {KEY_ENDING} lie beside {labels[0]}; say with --key which one was "
        "written with its pairs."
    )


def read_labels(paths: Sequence[Path], known: Mapping[str, Any]) -> list[Annotator]:
    """The annotators of one or more files: each column ``annotator_...`` that holds a label.

    ``known`` has the ids of the key. Raises ``CrystalError`` for a file that cannot be read or is given twice, a
    column or an id that comes twice, an id that is not in the key, a label that is none, and where nothing is labelled.
    """
    resolved = [path.resolve() for path in paths]
    for path in paths:
        if resolved.count(path.resolve()) > 1:
            raise CrystalError(f"{path} is given twice, and would be two annotators who agree in all; give it once.")
    found = [(path, name, labels) for path in paths for name, labels in _columns(path, known).items() if labels]
    if not found:
        raise CrystalError(
            f"Nothing is labelled in {', '.join(map(str, paths))}: fill a column {ANNOTATOR}1 with same or different."
        )
    names = [name for _, name, _ in found]
    return [
        Annotator(name if names.count(name) == 1 else f"{path.stem}/{name}", labels) for path, name, labels in found
    ]


def _columns(path: Path, known: Mapping[str, Any]) -> dict[str, dict[str, bool]]:
    rows = _rows(path)
    heading = [name.strip(_BLANKS).lower() for name in rows[0]] if rows else []
    places = {name: place for place, name in enumerate(heading) if name.startswith(ANNOTATOR)}
    twice = next((name for name in ("id", *places) if heading.count(name) > 1), None)
    if twice:
        raise CrystalError(f"{path} has several columns {twice!r:.60}; rename or delete all but one.")
    if "id" not in heading or not places:
        lacking = [name for name, is_there in (("id", "id" in heading), (f"{ANNOTATOR}1", places)) if not is_there]
        raise CrystalError(
            f"{path} has no column {' and no column '.join(lacking)} (it has: {_named(heading)}); give the CSV "
            "that `crystal-eval agreement sample` wrote."
        )
    columns: dict[str, dict[str, bool]] = {name: {} for name in places}
    seen: set[str] = set()
    for number, row in enumerate(rows[1:], 2):
        if not any(text.strip() for text in row):
            continue
        row_name = row[heading.index("id")].strip() if len(row) > heading.index("id") else ""
        if row_name not in known:
            raise CrystalError(
                f"{path} row {number}: id {row_name!r:.60} is not in the key; give the key of these pairs."
            )
        if row_name in seen:
            raise CrystalError(f"{path} row {number}: id {row_name} comes twice; delete one of the rows.")
        seen.add(row_name)
        for name, place in places.items():
            label = row[place].strip() if place < len(row) else ""
            if label:
                columns[name][row_name] = _label(label, path, number, name)
    return columns


def _named(heading: Sequence[str]) -> str:
    """Names of columns for a sentence: of a file that is no CSV they may be anything."""
    return one_line(", ".join(name[:HEADING_LENGTH] for name in heading))[: 5 * HEADING_LENGTH] or "none"


def _label(text: str, path: Path, row: int, column: str) -> bool:
    value = WORDS.get(text.lower().strip("'\"."))
    if value is None:
        raise CrystalError(
            f"{path} row {row}, {column}: {text!r:.60} is no label; write same or different (or yes, no, 1, 0), or "
            "leave the cell empty."
        )
    return value


def _rows(path: Path) -> list[list[str]]:
    """A CSV as spreadsheets save it: with commas, semicolons or tabs, in UTF-8 or an older encoding."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CrystalError(f"{path} cannot be read ({error.strerror}).") from error
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    # Ids and labels are ASCII; a sentence in another code page may lose a letter here.
    text = data.decode(encoding, "replace")
    stated = _SEPARATOR.match(text)
    text = (text[stated.end() :] if stated else text).lstrip("\r\n")
    first = text.partition("\n")[0]
    delimiter = stated[1] if stated else max(",;\t", key=first.count)
    try:
        csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise CrystalError(f"{path} is no CSV ({error}); save it as CSV again.") from error
