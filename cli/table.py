"""``crystal-eval table``: the results of several runs in one table."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from ..reports.load import Result, load_results
from ..reports.tables import footnotes, results_table

#: Where the output is no terminal, its width is not known; this holds the table.
PLAIN_WIDTH = 120


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "table",
        help="the CRYSTAL results of several runs in one table",
        description="Prints the CRYSTAL results found in folders that lmms-eval wrote (its --output_path): a row a "
        "model and task, the newest run of each.",
        epilog="example: crystal-eval table out",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="output folder or results file of lmms-eval"
    )
    parser.set_defaults(run=lambda options: show(load_results(options.paths)))


def show(results: Sequence[Result]) -> None:
    """Prints the table and what has to be known beside it."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    console.print(results_table(results, console.width))
    for note in footnotes(results):
        console.print(note, highlight=False, markup=False, soft_wrap=True)
