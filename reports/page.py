"""``report.html``: one file that needs no network, from a study and what was found out about it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from .. import __version__
from .beyond_length import HEADS, READING, Row
from .boards import MARKS, DiagnosedRun, Flags, Matrix, agreed
from .columns import COLUMNS, Column
from .diagnosis import DIAGNOSES, Thresholds
from .inline import inline_json
from .leaderboard import differences_between_rows, differences_from_paper, leaves_out_stand_ins, shown
from .paper import NOTE as PAPER_NOTE
from .screen import Slopes, Table
from .statistics import TOO_FEW
from .study import Board
from .training.section import Section
from .viewer import Shown

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("elements.js", "steps.js", "viewer.js", "report.js")
#: Nothing may be loaded but the pictures that the page carries, and no script and no style sheet counts but its own.
POLICY = (
    "default-src 'none'; img-src data:; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Picture:
    """A figure inside the page: an ``<svg>`` element, its title, and how it is made."""

    name: str
    title: str
    caption: str
    svg: str = field(repr=False)


@dataclass(frozen=True)
class Panel:
    """All that the page shows of one board, but its items."""

    board: Board
    name: str
    headline: str
    table: Table
    slopes: Slopes | None
    flags: Sequence[Flags]
    diagnosed: Sequence[DiagnosedRun]
    matrices: Sequence[Matrix]
    lengths: Sequence[Row] = ()
    length_sentences: Sequence[str] = ()
    elsewhere: Sequence[str] = ()
    figures: Sequence[Picture] = ()

    @property
    def between(self) -> list[str]:
        """Why its rows should be compared with care."""
        return differences_between_rows(self.board)

    @property
    def from_paper(self) -> list[str]:
        """Why its rows are not comparable with the paper's table."""
        return differences_from_paper(self.board)

    @property
    def stand_ins_aside(self) -> bool:
        """Whether scripted stand-ins have no part in the best marks."""
        return leaves_out_stand_ins(self.board)

    @property
    def agreed(self) -> str:
        """What is said where the two accuracies do not differ on any item."""
        return agreed(self.board)

    @property
    def has_paper(self) -> bool:
        """Whether the paper's rows are in the table."""
        return any(row.paper for row in self.table.rows)


@dataclass(frozen=True)
class Trained:
    """The training section: ``picture`` is the figure of several trainings, ``pictures`` has that of each part."""

    section: Section
    picture: Picture | None
    pictures: Sequence[Picture | None]


@dataclass(frozen=True)
class Page:
    """The whole page; ``items`` has the step viewer's data of a board, by its place."""

    panels: Sequence[Panel]
    items: Mapping[int, Shown]
    pictures: Mapping[str, str]
    thresholds: Thresholds
    method: Sequence[tuple[str, str]]
    notes: Sequence[str] = ()
    licence: Sequence[str] = ()
    training: Trained | None = None

    @property
    def title(self) -> str:
        """What a browser's tab says."""
        boards = [panel.board for panel in self.panels]
        if self.training:
            count = len(self.training.section.parts)
            return f"CRYSTAL: {count} training{'s' if count > 1 else ''}"
        models = len({run.label for board in boards for run in board.runs})
        return (
            f"CRYSTAL: {models} model{'s' if models > 1 else ''} on {', '.join(dict.fromkeys(b.task for b in boards))}"
        )

    @property
    def dated(self) -> str:
        """The day of the newest results file, by its name; the page itself has no date, and is the same each time."""
        stems = [run.result.file.name[:8] for board in [panel.board for panel in self.panels] for run in board.runs]
        days = sorted(f"{stem[:4]}-{stem[4:6]}-{stem[6:]}" for stem in stems if stem.isdigit())
        return days[-1] if days else "an unknown day"

    @property
    def columns(self) -> Sequence[Column]:
        """The metrics that the page explains."""
        return COLUMNS


def render(page: Page) -> str:
    """The page as HTML; texts of models and datasets are escaped, or stand in JSON that the script sets as text."""
    script = "\n".join((TEMPLATES / name).read_text("utf-8") for name in SCRIPTS)
    css = (TEMPLATES / "report.css").read_text("utf-8")
    allowed = _hash(script)
    if any(shown.files for shown in page.items.values()):
        # The items beside the page are scripts that its own script asks for.
        allowed += " 'strict-dynamic'"
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            version=__version__,
            policy=Markup(POLICY.format(style=_hash(css), script=allowed)),
            css=Markup(css),
            script=Markup(script),
            data={place: Markup(_viewer_data(page, place)) for place in page.items},
            picture_data=Markup(inline_json(page.pictures)),
        )
    )


def _hash(text: str) -> str:
    """What a Content-Security-Policy calls an inline script or style sheet."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _viewer_data(page: Page, place: int) -> str:
    board, items = page.panels[place].board, page.items[place]
    data: dict[str, Any] = {
        "models": [run.label for run in board.runs],
        "diagnoses": {
            name: {"label": f"{MARKS[name]} {known.label}", "sentence": known.meaning}
            for name, known in DIAGNOSES.items()
        },
        "chosen": chosen_words(items),
        "rows": items.rows,
        "bodies": items.bodies,
        "files": items.files,
        "a_file": items.a_file,
    }
    return inline_json(data)


def chosen_words(items: Shown) -> str:
    """Which items the viewer has, in words."""
    if len(items.rows) == items.total:
        return f"All {items.total:,} items."
    words = (
        f"{len(items.rows):,} of {items.total:,} items, drawn from every source, number of reference steps and "
        "diagnosis, what is rare first: shares among them are not those of the benchmark (--items all shows all)."
    )
    return words + (f" {items.left_out:,} were too long for one page." if items.left_out else "")


def _printed(number: float | None) -> str:
    return shown(number, 3)


def _breakable(name: str) -> Markup:
    """A name that a browser may break after ``_``, ``-``, ``/`` and ``.``."""
    return Markup("<wbr>").join(re.split(r"(?<=[_\-/.])", name))


def _plain(printed: str) -> str:
    """A printed number as a spreadsheet reads it."""
    return printed.removesuffix(" %").replace(",", "")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(breakable=_breakable, printed=_printed, plain=_plain)
    environment.globals.update(
        diagnoses=DIAGNOSES,
        marks=MARKS,
        paper_note=PAPER_NOTE,
        length_heads=HEADS,
        length_reading=READING,
        too_few=TOO_FEW,
    )
    return environment
