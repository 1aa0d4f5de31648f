"""``crystal-eval models``: the presets, and what the paper found for the same models."""

import csv
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from ..model_adapters.presets import Preset, load_presets
from ..reports.paper import paper_figures

#: Where the output is no terminal, its width is not known; this holds the table.
PLAIN_WIDTH = 170
FOOTNOTES = (
    "GPUs: of 80 GB for one copy in 16 bits. Memory: estimated from the weights, not measured.",
    "Kin: of the family, or next to the family, that helped to write CRYSTAL's references; read its scores with care.",
    "Accuracy, Match F1 and steps are the paper's (Table 2), published and not measured here. They were made with the "
    "authors' prompt: only the task crystal_paper is comparable.",
    "All keys, with image limits, notes and what was tried: crystal-eval models --json",
)


def run(
    as_csv: Annotated[bool, typer.Option("--csv", help="All keys as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All keys as JSON.")] = False,
) -> None:
    """List the presets, with the paper's figures of the same models."""
    rows = [row(preset) for preset in load_presets().values()]
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
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("Preset", "Model", "Adapter", "Type"):
        table.add_column(heading, no_wrap=heading == "Preset", overflow="fold")
    for heading in ("GPUs", "Memory", "Tokens"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Kin", overflow="fold")
    for heading in ("Acc.", "Match F1", "Steps"):
        table.add_column(heading, justify="right", no_wrap=True)
    for preset in load_presets().values():
        table.add_row(*_cells(preset, paper_figures()[preset.paper_name]))
    console.print(table)
    for note in FOOTNOTES:
        console.print(note, highlight=False, markup=False, soft_wrap=True)


def _cells(preset: Preset, figures: Mapping[str, float]) -> list[str]:
    local = not preset.is_api
    return [
        preset.name,
        preset.model,
        preset.adapter,
        preset.dtype or "-",
        str(preset.gpus) if local else "-",
        f"{preset.gpu_memory_gb:.0f} GB" if local else "-",
        str(preset.tokens),
        preset.kin or "-",
        f"{figures['accuracy_pct']:.1f}",
        f"{figures['match_f1']:.3f}",
        f"{figures['steps']:.1f}",
    ]
