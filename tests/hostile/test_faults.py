"""The list of faults in ``docs/faults.md`` is true: each is there once, and each has a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEAST = 40
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| `(.+?)` \|$", (ROOT / "docs" / "faults.md").read_text("utf-8"), re.M)


@cache
def names_in(file: str) -> set[str]:
    """The tests of a file as pytest names them, with their classes and without their parameters."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    plain = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return plain | {
        f"{node.name}::{inner.name}" for node in classes for inner in node.body if isinstance(inner, ast.FunctionDef)
    }


def test_there_are_as_many_faults_as_were_promised_each_named_once():
    names = [name for name, *_ in ROWS]
    assert len(names) == len(set(names)) >= LEAST
    assert len({test for *_, test in ROWS}) == len(ROWS)


def test_each_fault_has_a_test_that_exists():
    for name, _, _, test in ROWS:
        file, _, rest = test.partition("::")
        function, _, case = rest.partition("[")
        assert function in names_in(file), f"{name}: there is no {test}"
        assert not case or f'"{case.removesuffix("]")}"' in (ROOT / file).read_text("utf-8"), f"{name}: no case {case}"


def test_each_hostile_response_is_in_the_list():
    tree = ast.parse((ROOT / "tests" / "hostile" / "test_scored.py").read_text("utf-8"))
    [cases] = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CASES" and isinstance(node.value, ast.Dict)
    ]
    listed = {test.partition("[")[2].removesuffix("]") for *_, test in ROWS}
    missing = [key.value for key in cases.keys if isinstance(key, ast.Constant) and key.value not in listed]
    assert not missing
