"""``crystal-eval report``: everything that is found out about a study, and the files that say it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .benchmarks import Score
from .beside import write_beside
from .beyond_length import length_rows, length_sentences
from .boards import diagnosed, example_ids, grouped, matrices
from .diagnosis import Thresholds, diagnose
from .elsewhere import elsewhere, scores_of
from .exports import write_exports
from .figures import registry
from .figures.exhibit import Drawn, Exhibit
from .figures.render import to_inline_svg
from .finding import Finding
from .leaderboard import flags, headline
from .method import method
from .notes import public_text
from .page import Page, Panel, Picture, Trained, render
from .paper import paper_table
from .pictures import BUDGET as PICTURE_BYTES
from .pictures import Pictures, thumbnails
from .place import check_folder, clear_folder
from .screen import first_table, slopes
from .statistics import compare_models, compared_metrics
from .study import Board, Study, fields
from .training.read import Training
from .training.section import FIGURES as TRAINING_FIGURES
from .training.section import Section, make_section
from .viewer import BODY_BYTES, ITEMS, ItemReader, Shown, choose_items, show_items
from .writing import write_whole

#: Figures that the page draws itself, to be sorted out at a glance; as files they are there like the others.
ON_FIRST_SCREEN = ("ranks", "diagnosis")


class Work:
    """What is told of long work while it is done; this one keeps it to itself."""

    def start(self, task: str, total: int) -> None:
        """Begins a piece of work of ``total`` parts."""

    def advance(self, parts: float = 1) -> None:
        """Tells that parts of it are done."""


@dataclass(frozen=True)
class Options:
    """What a user can choose.

    ``items`` of each board are in the step viewer, None for all; ``pictures`` are at hand by task; ``kin``
    says of a model how its family helped with the references; ``scores`` of other benchmarks from elsewhere
    are by model, which ``aliases`` may name otherwise.
    """

    items: int | None = ITEMS
    thresholds: Thresholds = field(default_factory=Thresholds)
    public: bool = False
    pictures: Mapping[str, Pictures] = field(default_factory=dict)
    kin: Callable[[str], str | None] = lambda model: None
    scores: Mapping[str, Sequence[Score]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    licence: Sequence[str] = ()


@dataclass(frozen=True)
class Written:
    """What a report came to: a headline a board, and the files."""

    headlines: Mapping[str, str]
    files: Sequence[Path]


def write_report(
    study: Study, folder: Path, options: Options, work: Work | None = None, trainings: Sequence[Training] = ()
) -> Written:
    """Writes ``report.html`` and what goes with it into ``folder``; a study without boards needs ``trainings``.

    Raises ``CrystalError`` where that cannot be written, or would replace files that are not a report's.
    """
    work = work or Work()
    check_folder(folder)
    findings = _findings(study, options, work)
    if trainings:
        work.start("Reading trainings", len(trainings))
    section = make_section(trainings, work.advance)
    panels = [_panel(finding, place) for place, finding in enumerate(findings)]
    notes = [public_text(note) for note in study.notes] if options.public else study.notes
    # An earlier page goes first and the new one comes last: where this is interrupted, none shows items of another.
    clear_folder(folder)
    exported = write_exports(findings, folder, notes, section)
    items, pictures, files = _items(panels, findings, folder, options, work)
    drawn = {finding.folder: list(finding.figures) for finding in findings}
    drawn |= {TRAINING_FIGURES: section.figures} if section else {}
    work.start("Figures", sum(map(len, drawn.values())))
    for inner, figures in drawn.items():
        files += registry.write_figures(figures, folder / inner, work.advance)
    explained = method([board.scorer for board in study.boards])
    shown = _trained(section) if section else None
    html = render(Page(panels, items, pictures, options.thresholds, explained, notes, options.licence, shown))
    page = write_whole(folder / "report.html", html)
    headlines = {"training": section.headline} if section else {}
    headlines |= {finding.name: finding.headline for finding in findings}
    return Written(headlines, [page, *exported, *files])


def _findings(study: Study, options: Options, work: Work) -> list[Finding]:
    findings: list[Finding] = []
    for board, name in zip(study.boards, board_names(study.boards), strict=True):
        runs = {run.label: run.items for run in board.sampled if run.items is not None}
        diagnoses = {label: diagnose(items, options.thresholds) for label, items in runs.items()}
        metrics = compared_metrics(runs)
        if len(runs) > 1:
            work.start(f"Comparing models of {name}", math.comb(len(runs), 2) * len(metrics))
        comparisons = compare_models(runs, metrics, advance=work.advance)
        scores = scores_of(board, options.scores, options.aliases)
        others = elsewhere(board, scores, comparisons)
        work.start(f"Drawing figures of {name}", len(registry.FIGURES))
        figures = registry.draw_figures(Exhibit(board, diagnoses, others.means, str(options.thresholds)), work.advance)
        folder = "figures" if len(study.boards) == 1 else f"figures/{len(findings) + 1}-{board.task}"
        findings.append(
            Finding(
                board=board,
                name=name,
                headline=headline(board, comparisons),
                flags=flags(board, options.kin),
                comparisons=comparisons,
                diagnoses=diagnoses,
                scores=scores,
                elsewhere=others,
                figures=figures,
                folder=folder,
            )
        )
    return findings


def board_names(boards: Sequence[Board]) -> list[str]:
    """The task of each board, and in what its scoring differs from that of others of the same task.

    A name that would occur twice all the same is numbered.
    """
    names: list[str] = []
    for board in boards:
        ours = fields(board.scorer)
        others = [fields(other.scorer) for other in boards if other.task == board.task]
        parts = [f"{part} {text}" for part, text in ours.items() if any(other.get(part) != text for other in others)]
        name = ", ".join([board.task, *parts])
        names.append(name if name not in names else f"{name} ({len(names) + 1})")
    return names


def _panel(finding: Finding, place: int) -> Panel:
    board = finding.board
    return Panel(
        board=board,
        name=finding.name,
        headline=finding.headline,
        table=first_table(board, finding.elsewhere.columns, paper_table()),
        slopes=slopes(finding.elsewhere.rankings.table),
        flags=grouped(finding.flags),
        diagnosed=diagnosed(board, place, finding.diagnoses),
        matrices=matrices(finding.comparisons),
        lengths=length_rows(board),
        length_sentences=length_sentences(board, finding.comparisons),
        elsewhere=finding.elsewhere.sentences,
        figures=[
            _picture(drawn, f"b{place}-{drawn.name}") for drawn in finding.figures if drawn.name not in ON_FIRST_SCREEN
        ],
    )


def _trained(section: Section) -> Trained:
    whole, *pictures = [
        None if figure is None else _picture(figure, figure.name)
        for figure in (section.figure, *(part.figure for part in section.parts))
    ]
    return Trained(section, whole, pictures)


def _picture(drawn: Drawn, name: str) -> Picture:
    return Picture(drawn.name, drawn.title, drawn.caption, to_inline_svg(drawn.figure, name, drawn.title))


def _items(
    panels: Sequence[Panel], findings: Sequence[Finding], folder: Path, options: Options, work: Work
) -> tuple[dict[int, Shown], dict[str, str], list[Path]]:
    """What the step viewer shows of each board, thumbnails by SHA-256, and the files with the items beside the page."""
    with_samples = [place for place, panel in enumerate(panels) if panel.board.sampled]
    shown: dict[int, Shown] = {}
    pictures: dict[str, str] = {}
    files: list[Path] = []
    for place in with_samples:
        board, diagnoses = panels[place].board, findings[place].diagnoses
        reader = ItemReader(board, diagnoses, options.public, work.advance)
        chosen = choose_items(board, diagnoses, options.items or ITEMS, example_ids(panels[place].diagnosed))
        work.start(f"Items of {panels[place].name}", len(chosen))
        items = show_items(reader, chosen, BODY_BYTES // len(with_samples))
        at_hand = None if options.public else options.pictures.get(board.task)
        if at_hand:
            wanted = [(row["id"], items.bodies[row["id"]]["image"]) for row in items.rows]
            work.start(f"Pictures of {panels[place].name}", len(wanted))
            pictures |= thumbnails(wanted, at_hand, PICTURE_BYTES // len(with_samples), work.advance)
        if options.items is None:
            work.start(f"All items of {panels[place].name}", reader.total)
            items, written = write_beside(reader, items, place, folder, at_hand)
            files += written
        shown[place] = items
    return shown, pictures, files
