"""``crystal-eval report``: the page, tables and figures about the results of any number of runs."""

import os
from collections import Counter
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ..crystal_task.plugin import BENCHMARK, MINI
from ..errors import CrystalError
from ..model_adapters.presets import load_presets
from ..reports.diagnosis import Thresholds
from ..reports.elsewhere import unused_scores
from ..reports.model_names import read_aliases
from ..reports.outside_scores import read_scores_csv
from ..reports.pictures import Pictures
from ..reports.plain import one_line
from ..reports.report import Options, Work, Written, write_report
from ..reports.study import load_study
from ..reports.training.find import find_trainings
from ..reports.viewer import ITEMS
from .console import say

LICENCE = (
    "Questions, pictures and reference steps on this page are from the CRYSTAL dataset by Wayner Barrios and SouYoung "
    "Jin, which is gated and under CC-BY-NC-SA-4.0: no commercial use, and what is made from it is shared under the "
    "same terms. Give this page only to people who accept those terms; --public makes a page without them.",
)
MINI_LICENCE = (
    "Questions and reference steps of crystal_mini are part of lmms-eval-crystal (MIT licence); the licence of each of "
    "its pictures stands in the set's data card.",
)

OWN_LICENCE = (
    "Questions and reference steps of other tasks are of whoever made them. Where they are items of CRYSTAL, its terms "
    "hold: gated, CC-BY-NC-SA-4.0, no commercial use.",
)


class Answers(str, Enum):
    """The rule by which an item is right."""

    strict = "strict"
    paper = "paper"


def run(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Output folders of lmms-eval or of crystal-eval train, or results files."
        ),
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where the report goes.",
            show_default="report in the folder; of several, out/report",
        ),
    ] = None,
    items: Annotated[
        str, typer.Option(help="Items in the step viewer: a number, or `all`, which writes the rest beside the page.")
    ] = str(ITEMS),
    public: Annotated[
        bool, typer.Option("--public", help="Leave out questions, images, references and raw texts; keep the numbers.")
    ] = False,
    dataset: Annotated[
        str, typer.Option(help="Where thumbnails come from: a folder, a file or a hub id in the cache.")
    ] = "",
    scores: Annotated[
        Path | None, typer.Option(help="CSV of scores from elsewhere: model, benchmark, score[, scale, source].")
    ] = None,
    aliases: Annotated[
        Path | None, typer.Option(help="YAML of names of one model: `canonical name: [other names]`.")
    ] = None,
    answers: Annotated[Answers, typer.Option(help="Which accuracy the diagnosis takes.")] = Answers.strict,
    sound_f1: Annotated[float, typer.Option(help="Diagnosis: steps are sound from this Match F1 on ...")] = 0.5,
    sound_recall: Annotated[float, typer.Option(help="... with more than this recall.")] = 0.5,
    good_precision: Annotated[float, typer.Option(help="Diagnosis: steps are good from this precision on.")] = 0.5,
) -> None:
    """Write a page that people read: who reasons well, who skips, shuffles or guesses, and on which items.

    Takes the folders that lmms-eval wrote with --log_samples; several models, tasks and runs at once. The folder of
    a training gives before and after beside each other, and how it went; several, methods over seeds.
    `report.html` is one file that opens from disk:

        crystal-eval report out

        crystal-eval report out elsewhere/results -o reports/june --items all

        crystal-eval report out --public -o public

        crystal-eval report out/cpr-1 out/cpr-2 out/composite-1 out/composite-2
    """
    thresholds = Thresholds(sound_f1, sound_recall, good_precision, answers.value)
    choices = Options(
        items=_number(items),
        thresholds=thresholds,
        public=public,
        kin=_kin,
        scores=read_scores_csv(scores) if scores else {},
        aliases=read_aliases(aliases) if aliases else {},
    )
    make(paths, folder or _place(paths), choices, dataset)


def make(paths: list[Path], folder: Path, choices: Options, dataset: str = "") -> None:
    """Writes a report with progress bars, and prints what it came to and where it is."""
    console = Console()
    with Bars(console) as bars:
        trainings, faults = find_trainings(paths)
        study = load_study(paths, choices.aliases, bars.read, bars.announce, needed=not trainings)
        unused = unused_scores(study.boards, choices.scores, choices.aliases)
        study = replace(study, notes=(*study.notes, *faults, *unused))
        notes: list[str] = []
        if not choices.public:
            tasks = {board.task for board in study.boards}
            pictures, notes = _pictures(tasks, dataset)
            choices = replace(choices, pictures=pictures, licence=_licence(tasks))
        written = write_report(study, folder, choices, bars, trainings)
    for line in (*study.notes, *notes, *_outcome(written, folder)):
        say(console, line)


def _place(paths: list[Path]) -> Path:
    """Beside the results of a single folder, so that the reports of two do not write over each other."""
    return paths[0] / "report" if len(paths) == 1 and paths[0].is_dir() else Path("out/report")


def _outcome(written: Written, folder: Path) -> list[str]:
    """Headlines and files; files of a folder beside the page are counted."""
    lines = [f"{name}: {headline}" for name, headline in written.headlines.items()]
    beside = Counter(file.parent for file in written.files if file.parent != folder)
    lines += [f"  {file}" for file in written.files if file.parent == folder]
    return lines + [f"  {parent} ({count} files)" for parent, count in beside.items()]


def _pictures(tasks: set[str], dataset: str) -> tuple[dict[str, Pictures], list[str]]:
    # A report must neither wait for a hub nor load gigabytes for its thumbnails; the clients read this as they load.
    os.environ["HF_HUB_OFFLINE"] = "1"
    from .pictures import find_pictures

    return find_pictures(tasks, dataset)


def _number(items: str) -> int | None:
    if items == "all":
        return None
    if items.isdecimal() and items.isascii() and int(items) > 0:
        return int(items)
    raise CrystalError(f"--items {items} is neither a number of items nor `all`.")


def _licence(tasks: set[str]) -> list[str]:
    benchmark = {task for task in tasks if task.startswith(BENCHMARK)} - {MINI}
    own = {task for task in tasks if not task.startswith(BENCHMARK)}
    return [
        *(LICENCE if benchmark else ()),
        *(MINI_LICENCE if MINI in tasks else ()),
        *(OWN_LICENCE if own else ()),
    ]


def _kin(model: str) -> str | None:
    """Whether a model is of, or next to, a family that helped to write the references; by its hub id or preset."""
    for preset in load_presets().values():
        if preset.kin and model.lower() in (preset.model.lower(), preset.name, preset.paper_name.lower()):
            return f"Kin of {preset.kin}, a family that helped to write the references"
    return None


class Bars(Work):
    """Progress bars on the terminal, one a piece of work."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._current: TaskID | None = None

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def announce(self, size: int) -> None:
        """Begins reading ``size`` bytes of samples."""
        self.start("Reading samples (kB)", size // 1000)

    def read(self, size: int) -> None:
        """Tells of bytes that were read."""
        self.advance(size / 1000)

    def start(self, task: str, total: int) -> None:
        """Begins a piece of work of ``total`` parts."""
        if self._current is not None:
            self._progress.update(self._current, completed=self._progress.tasks[self._current].total)
        self._current = self._progress.add_task(one_line(task), total=total)

    def advance(self, parts: float = 1) -> None:
        """Tells that parts of it are done."""
        if self._current is not None:
            self._progress.advance(self._current, parts)
