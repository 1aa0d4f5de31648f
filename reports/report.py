"""``crystal-eval report``: everything that is found out about a study, and the files that say it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from .boards import diagnosed, example_ids, grouped, matrices
from .diagnosis import Thresholds, diagnose
from .leaderboard import flags, headline
from .method import METHOD
from .page import Page, Panel, items_file, render
from .pictures import BUDGET as PICTURE_BYTES
from .pictures import Pictures, thumbnails
from .screen import first_table, slopes
from .statistics import compare_models
from .study import Board, Study, fields
from .viewer import BODY_BYTES, ITEMS, Diagnoses, ItemReader, Shown, choose_items, known_items, show_items

#: Bodies of items in one file beside the page: about a megabyte.
A_FILE = 100


class Work:
    """What is told of long work while it is done; this one keeps it to itself."""

    def start(self, task: str, total: int) -> None:
        """Begins a piece of work of ``total`` parts."""

    def advance(self, parts: float = 1) -> None:
        """Tells that parts of it are done."""


@dataclass(frozen=True)
class Options:
    """What a user can choose. ``items`` is None for all of them; ``kin`` says how a model's family made references."""

    items: int | None = ITEMS
    thresholds: Thresholds = field(default_factory=Thresholds)
    public: bool = False
    pictures: Mapping[str, Pictures] = field(default_factory=dict)
    kin: Callable[[str], str | None] = lambda model: None
    licence: Sequence[str] = ()


@dataclass(frozen=True)
class Written:
    """What a report came to: a headline a board, and the files."""

    headlines: Mapping[str, str]
    files: Sequence[Path]


def write_report(study: Study, folder: Path, options: Options, work: Work | None = None) -> Written:
    """Writes ``report.html`` and what goes with it into ``folder``. Raises ``OSError`` where that cannot be written."""
    work = work or Work()
    folder.mkdir(parents=True, exist_ok=True)
    work.start("Comparing", len(study.boards))
    panels, diagnoses = [], []
    for place, board in enumerate(study.boards):
        found = {run.label: diagnose(run.items, options.thresholds) for run in board.sampled if run.items is not None}
        diagnoses.append(found)
        panels.append(_panel(study, board, place, found, options))
        work.advance()
    items, pictures, files = _items(panels, diagnoses, folder, options, work)
    page = Page(study, panels, items, pictures, options.thresholds, METHOD, options.licence)
    files.insert(0, write_aside(folder / "report.html", render(page)))
    return Written({panel.name: panel.headline for panel in panels}, files)


def paper_rows() -> pd.DataFrame:
    rows = pd.read_csv(Path(__file__).parents[1] / "configs" / "paper_table2.csv").rename(
        columns={"paper_name": "model"}
    )
    rows["accuracy"] = rows["accuracy_pct"] / 100
    return rows


def _panel(study: Study, board: Board, place: int, diagnoses: Diagnoses, options: Options) -> Panel:
    runs = {run.label: run.items for run in board.sampled if run.items is not None}
    comparisons = compare_models(runs)
    several = sum(other.task == board.task for other in study.boards) > 1
    return Panel(
        board=board,
        name=f"{board.task}, {fields(board.scorer).get('enc', '').split('/')[-1]}" if several else board.task,
        headline=headline(board, comparisons),
        table=first_table(board, paper=paper_rows()),
        slopes=slopes(board),
        flags=grouped(flags(board, options.kin)),
        diagnosed=diagnosed(board, place, diagnoses),
        matrices=matrices(comparisons),
    )


def _items(
    panels: Sequence[Panel], diagnoses: Sequence[Diagnoses], folder: Path, options: Options, work: Work
) -> tuple[dict[int, Shown], dict[str, str], list[Path]]:
    """What the step viewer shows of each board, thumbnails by SHA-256, and the files with the items beside the page."""
    with_samples = [place for place, panel in enumerate(panels) if panel.board.sampled]
    shown: dict[int, Shown] = {}
    pictures: dict[str, str] = {}
    files: list[Path] = []
    for place in with_samples:
        panel, found = panels[place], diagnoses[place]
        reader = ItemReader(panel.board, found, options.public, work.advance)
        chosen = choose_items(panel.board, found, options.items or ITEMS, example_ids(panel.diagnosed))
        work.start(f"Items of {panel.name}", reader.total if options.items is None else len(chosen))
        items = show_items(reader, chosen, BODY_BYTES // len(with_samples))
        at_hand = options.pictures.get(panel.board.task)
        if at_hand and not options.public:
            wanted = [(row["id"], items.bodies[row["id"]]["image"]) for row in items.rows]
            work.start(f"Pictures of {panel.name}", len(wanted))
            pictures |= thumbnails(wanted, at_hand, PICTURE_BYTES // len(with_samples), work.advance)
        if options.items is None:
            items, written = _beside(reader, items, place, folder, options)
            files += written
        shown[place] = items
    return shown, pictures, files


def _beside(reader: ItemReader, items: Shown, place: int, folder: Path, options: Options) -> tuple[Shown, list[Path]]:
    """The rows of all items, and the bodies that the page does not carry as scripts in ``items/``."""
    doc_ids = [int(doc_id) for doc_id in known_items(reader.board).index]
    chunks = [doc_ids[start : start + A_FILE] for start in range(0, len(doc_ids), A_FILE)]
    names = [f"items/{place}-{number:03d}.js" for number in range(len(chunks))]
    (folder / "items").mkdir(exist_ok=True)
    rows, written = [], []
    for name, chunk in zip(names, chunks, strict=True):
        bodies = {}
        for doc_id in chunk:
            rows.append(reader.row(doc_id))
            if doc_id not in items.bodies:
                bodies[doc_id] = reader.body(doc_id)
        at_hand = options.pictures.get(reader.board.task)
        wanted = [(doc_id, body["image"]) for doc_id, body in bodies.items()] if at_hand and not options.public else []
        text = items_file(name, bodies, thumbnails(wanted, at_hand) if at_hand else {})
        written.append(write_aside(folder / name, text))
    return replace(items, rows=rows, files=tuple(names), a_file=A_FILE, left_out=0), written


def write_aside(file: Path, text: str) -> Path:
    """Writes beside the file and renames, so that what is there is whole."""
    part = file.with_name(f".{file.name}.part")
    part.write_text(text, "utf-8")
    os.replace(part, file)
    return file
