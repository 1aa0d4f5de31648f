"""What the README and the pages of docs/ tell people to type does what it says."""

import contextlib
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer
from lmms_eval_crystal.cli.main import app

ROOT = Path(__file__).parents[1]
FILES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "training" / "README.md")
PAGES = {page: page.read_text("utf-8") for page in FILES}
TEXT = "\n".join(PAGES.values())


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.M | re.S)


def commands() -> list[list[str]]:
    """The shell commands of all pages, without comments."""
    lines = [line for block in blocks("bash") for line in block.splitlines() if line and not line.startswith("#")]
    return [shlex.split(line) for line in lines]


HARNESS = [command for command in commands() if "--tasks" in command and command[0] != "crystal-eval"]
OWN = [command for command in commands() if command[0] == "crystal-eval"]
#: Ours in several processes.
LAUNCHED = [command for command in commands() if "lmms_eval_crystal" in command]


def test_every_command_is_of_a_kind_that_is_checked():
    others = [command for command in commands() if command not in (*HARNESS, *OWN, *LAUNCHED)]
    # Run by CI, by tests/e2e/test_personas.py and tests/e2e/test_install.py.
    installed = [["pip", "install", f".[{extra}]"] for extra in ("minilm", "train")]
    assert others == [["make", "demo"], ["make", "test"], *installed]
    assert len(HARNESS) == 9
    assert len(OWN) == 30
    assert len(LAUNCHED) == 1


@pytest.mark.parametrize("command", HARNESS, ids=" ".join)
def test_a_harness_command_names_models_tasks_and_options_that_exist(command, monkeypatch):
    """A dry run: the harness's own parser, model registry and task index take it."""
    from lmms_eval import models
    from lmms_eval.__main__ import parse_eval_args
    from lmms_eval.tasks import TaskManager

    variables = [part for part in command if re.match(r"CRYSTAL_\w+=", part)]
    assert all(f"`{part.partition('=')[0]}`" in TEXT for part in variables)
    start = command.index("-m") + 2 if "-m" in command else command.index("lmms-eval") + 1
    monkeypatch.setattr(sys, "argv", ["lmms-eval", *command[start:]])
    _, options = parse_eval_args()
    assert set(options.tasks.split(",")) <= set(TaskManager("ERROR").all_tasks)
    models.get_model(options.model)
    assert options.log_samples
    assert options.output_path


@pytest.mark.parametrize("command", OWN + LAUNCHED, ids=" ".join)
def test_an_own_command_is_taken_by_our_parser(command, tmp_path, monkeypatch):
    # An option that shows or copies something acts at once, and ends the command.
    monkeypatch.chdir(tmp_path)
    known, rest = typer.main.get_command(app), command[1:]
    if command in LAUNCHED:
        rest = command[command.index("lmms_eval_crystal") + 1 :]
    while hasattr(known, "commands"):
        known, rest = known.commands[rest[0]], rest[1:]
    with contextlib.suppress(typer.Exit):
        assert known.make_context(command[1], rest).params


def test_the_python_example_runs_and_finds_what_it_should(capsys):
    # The other is of a reward in a trainer, which tests/training/test_rewards_in_trl.py holds to.
    example, _ = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    steps, answer = capsys.readouterr().out.splitlines()
    assert [round(float(number), 2) for number in steps.split()] == [1.0, 0.67, 0.8]
    assert answer == "True False"


def test_each_command_of_ours_is_explained():
    for name in typer.main.get_command(app).commands:
        assert f"crystal-eval {name}" in TEXT or f"make {name}" in TEXT, name


def anchors(text: str) -> set[str]:
    """The places of a page that a link can lead to, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    for file, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", PAGES[page]):
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target.read_text("utf-8")), f"{file}#{anchor}"


def test_the_metrics_table_names_every_metric():
    from lmms_eval_crystal.crystal_task.aggregators import METRICS
    from lmms_eval_crystal.crystal_task.item import SOURCES

    missing = [metric for metric in METRICS if not metric.endswith(SOURCES) and f"`{metric}`" not in TEXT]
    assert not missing
