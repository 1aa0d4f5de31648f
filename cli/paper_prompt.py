"""``crystal-eval paper-prompt``: takes the authors' prompt out of their script, for the task ``crystal_paper``."""

from pathlib import Path
from typing import Any

from ..crystal_task.paper_prompt import SCRIPT, keep


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "paper-prompt",
        help="take the authors' prompt from their repository, for crystal_paper",
        description="Reads the authors' prompt out of your copy of their script (it is not run), checks that it is the "
        "one the paper used, and keeps it for the task crystal_paper. Needed once.",
        epilog="example: git clone https://github.com/waybarrios/crystal && "
        f"crystal-eval paper-prompt crystal/{SCRIPT}",
    )
    parser.add_argument("script", type=Path, metavar="PATH", help=f"the authors' {SCRIPT}")
    parser.set_defaults(run=run)


def run(options: Any) -> None:
    print(f"Kept the authors' prompt in {keep(options.script)}; the task crystal_paper uses it from now on.")
