"""``crystal-eval``: the commands beside ``lmms-eval``. A thin shell; each command is a module of this folder."""

import sys
from collections.abc import Sequence

import typer

from .. import __version__
from ..errors import CrystalError
from ..reports.plain import printable
from . import ablate, agreement, check, demo, models, paper_prompt, report, run, score, table, train

HELP = """\
Commands of lmms-eval-crystal, beside the harness's own `lmms-eval --tasks crystal`.

Begin with the demo, which needs nothing; then choose a model, check that it can run, and run it:

    crystal-eval demo
    crystal-eval models
    crystal-eval check qwen2.5-vl-7b
    crystal-eval run qwen2.5-vl-7b --limit 100

Each command explains itself: `crystal-eval run --help`.
"""

app = typer.Typer(
    name="crystal-eval",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("models")(models.run)
# Extra arguments are those after `--`, which go to lmms-eval.
app.command("run", context_settings={"allow_extra_args": True})(run.run)
app.command("check")(check.run)
app.command("score")(score.run)
app.command("table")(table.run)
app.command("report")(report.run)
app.command("ablate")(ablate.run)
app.add_typer(agreement.app, name="agreement")
app.command("train")(train.run)
app.command("demo")(demo.run)
app.command("paper-prompt")(paper_prompt.run)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"lmms-eval-crystal {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Takes the options that come before a command."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command; an error of the user ends in one sentence and exit code 1."""
    try:
        app(list(arguments) if arguments is not None else None)
    except CrystalError as error:
        # What it quotes may be of a file of others.
        sys.exit("crystal-eval: " + "\n".join(map(printable, str(error).splitlines())))
