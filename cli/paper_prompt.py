"""``crystal-eval paper-prompt``: takes the authors' prompt out of their script, for the task ``crystal_paper``."""

from pathlib import Path
from typing import Annotated

import typer

from ..crystal_task.paper_prompt import SCRIPT, keep


def run(script: Annotated[Path, typer.Argument(help=f"The authors' {SCRIPT}.")]) -> None:
    """Take the authors' prompt from their repository, for crystal_paper.

    Reads it out of your copy of their script (which is not run), checks that it is the one the paper
    used, and keeps it for the task crystal_paper. Needed once:

        git clone https://github.com/waybarrios/crystal authors

        crystal-eval paper-prompt authors/inference/crystal_inference.py
    """
    print(f"Kept the authors' prompt in {keep(script)}; the task crystal_paper uses it from now on.")
