"""``crystal-eval models``: the presets, and what the paper found for the same models."""

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table

from ..errors import CrystalError
from ..model_adapters.presets import Preset, load_presets
from ..reports.paper import paper_figures
from .console import open_console

#: Holds the table where the output is no terminal.
PLAIN_WIDTH = 170
FOOTNOTES = (
    "GPUs: of 80 GB for one copy in 16 bits; none where the model runs at its provider's. Memory: estimated from the "
    "weights, not measured.",
    "Kin: of the family, or next to the family, that helped to write CRYSTAL's references; read its scores with care.",
    "Accuracy, Match F1 and steps are the paper's (Table 2), published and not measured here. They were made with the "
    "authors' prompt: only the task crystal_paper is comparable.",
    "All keys, with image limits, notes and what was tried: crystal-eval models --json",
)

SHORT_TYPES = {"float16": "FP16", "bfloat16": "BF16"}
Figures = Mapping[str, float]
#: Heading, side and cell of each column.
COLUMNS: dict[str, tuple[Literal["left", "right"], Callable[[Preset, Figures], str]]] = {
    "Preset": ("left", lambda preset, _: preset.name),
    "Model": ("left", lambda preset, _: preset.model),
    "Adapter": ("left", lambda preset, _: preset.adapter),
    "Type": ("left", lambda preset, _: SHORT_TYPES.get(preset.dtype or "", "-")),
    "GPUs": ("right", lambda preset, _: "-" if preset.is_api else str(preset.gpus)),
    "Memory": ("right", lambda preset, _: "-" if preset.is_api else f"{preset.gpu_memory_gb:.0f} GB"),
    "Tokens": ("right", lambda preset, _: str(preset.tokens)),
    "Kin": ("left", lambda preset, _: preset.kin or "-"),
    "Acc.": ("right", lambda _, figures: f"{figures['accuracy_pct']:.1f}"),
    "Match F1": ("right", lambda _, figures: f"{figures['match_f1']:.3f}"),
    "Steps": ("right", lambda _, figures: f"{figures['steps']:.1f}"),
}
#: Columns that are shown where there is room, the most wanted first.
DISPENSABLE = ("GPUs", "Memory", "Model", "Type", "Tokens", "Adapter")
#: Characters between two columns.
GAP = 2


def run(
    as_csv: Annotated[bool, typer.Option("--csv", help="All keys as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All keys as JSON.")] = False,
) -> None:
    """List the presets, with the paper's figures of the same models.

    A preset is a model of the paper with the settings that it is run with, under a name for `crystal-eval run` and
    `check`. A narrow terminal shows fewer columns.

        crystal-eval models --csv > presets.csv
    """
    if as_csv and as_json:
        raise CrystalError("--csv and --json are two forms of the same; choose one.")
    rows = [row(preset) for preset in _presets()]
    if as_json:
        print(json.dumps(rows, indent=2))
    elif as_csv:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        _print_table()


def row(preset: Preset) -> dict[str, Any]:
    """All that is known of a preset, with the paper's figures as ``paper_*``."""
    figures = paper_figures()[preset.paper_name]
    return {
        **asdict(preset),
        "gpu_memory_gb": preset.gpu_memory_gb,
        **{f"paper_{name}": value for name, value in figures.items() if name != "params_b"},
    }


def _print_table() -> None:
    console = open_console(PLAIN_WIDTH)
    rows = [[cell(preset, paper_figures()[preset.paper_name]) for _, cell in COLUMNS.values()] for preset in _presets()]
    shown = _fitting([list(column) for column in zip(COLUMNS, *rows, strict=True)], console.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in shown:
        table.add_column(heading, justify=COLUMNS[heading][0], no_wrap=True)
    for row in rows:
        table.add_row(*(text for heading, text in zip(COLUMNS, row, strict=True) if heading in shown))
    console.print(table)
    hidden = [heading for heading in COLUMNS if heading not in shown]
    notes = [f"Hidden at this width: {', '.join(hidden)}.", *FOOTNOTES] if hidden else FOOTNOTES
    for note in notes:
        # A terminal would break a long line within a word; other programs want it whole.
        console.print(note, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def _fitting(columns: Sequence[Sequence[str]], width: int) -> list[str]:
    """The headings of the columns that a terminal of that width holds; each column begins with its heading."""
    needed = {column[0]: GAP + max(map(len, column)) for column in columns}
    shown = [heading for heading in COLUMNS if heading not in DISPENSABLE]
    for heading in DISPENSABLE:
        if sum(needed[name] for name in [*shown, heading]) <= width:
            shown.append(heading)
    return [heading for heading in COLUMNS if heading in shown]


def _presets() -> Sequence[Preset]:
    return list(load_presets().values())
