"""``crystal-eval table``: the results of several runs in one table."""

from pathlib import Path
from typing import Annotated

import typer

from ..reports.load import Found, load_results
from ..reports.tables import LEGEND, blocks
from .console import open_console, say

#: Holds the table where the output is no terminal.
PLAIN_WIDTH = 140


def run(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Output folders or results files of lmms-eval.")
    ],
) -> None:
    """Print the CRYSTAL results of several runs in one table.

    Takes the folders that lmms-eval wrote (its --output_path); a row a model and task; of runs
    with the same signatures the newest:

        crystal-eval table out
    """
    show(load_results(paths))


def show(found: Found) -> None:
    """Prints the table and what has to be known beside it."""
    console = open_console(PLAIN_WIDTH)
    for table, notes in blocks(found.results, console.width):
        console.print(table)
        for note in notes:
            say(console, note)
        console.print()
    for line in (LEGEND, *found.problems):
        say(console, line)
