"""``crystal-eval``: the commands beside ``lmms-eval``. A thin shell; each command is a module of this folder."""

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import CrystalError
from . import demo, paper_prompt, table

COMMANDS = (table, demo, paper_prompt)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command line, with all commands."""
    parser = argparse.ArgumentParser(
        prog="crystal-eval",
        description="Commands of lmms-eval-crystal, beside the harness's own `lmms-eval --tasks crystal`.",
    )
    parser.add_argument("--version", action="version", version=f"lmms-eval-crystal {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command; an error of the user ends in one sentence and exit code 1."""
    options = build_parser().parse_args(arguments)
    try:
        options.run(options)
    except CrystalError as error:
        sys.exit(f"crystal-eval: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
