"""Imports between the folders run one way."""

import ast
from pathlib import Path

import lmms_eval_crystal
import pytest

ROOT = Path(lmms_eval_crystal.__path__[0])
#: What each folder may import of the package; the modules of the root (errors, ranks and so on) serve all.
ALLOWED = {
    "metrics": set(),
    "crystal_task": {"metrics"},
    "model_adapters": {"crystal_task", "metrics"},
    "reports": {"metrics"},
    "training": {"model_adapters", "crystal_task", "metrics"},
    "cli": {"training", "reports", "model_adapters", "crystal_task", "metrics"},
}


def imported_folders(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            depth = len(file.relative_to(ROOT).parts) - node.level
            package = [*file.relative_to(ROOT).parts[:depth], *(node.module or "").split(".")]
            found.add(package[0] or node.names[0].name)
    return found


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_folder_imports_only_what_lies_below_it(folder):
    for file in (ROOT / folder).rglob("*.py"):
        others = imported_folders(file) & ALLOWED.keys() - {folder}
        assert others <= ALLOWED[folder], f"{file} imports {others - ALLOWED[folder]}"


def test_the_metrics_know_nothing_of_the_harness():
    for file in (ROOT / "metrics").rglob("*.py"):
        assert "import lmms_eval" not in file.read_text("utf-8")
        assert "from lmms_eval" not in file.read_text("utf-8")
