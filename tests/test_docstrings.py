"""Every example in a docstring does what it says."""

import doctest
import importlib
import pkgutil

import lmms_eval_crystal
import pytest

FOLDERS = ("metrics", "crystal_task", "model_adapters", "reports", "training")
ROOT = ("arguments", "errors", "jsonable", "ranks", "redaction")
MODULES = [f"lmms_eval_crystal.{name}" for name in ROOT] + [
    module.name
    for folder in FOLDERS
    for module in pkgutil.walk_packages(
        [f"{lmms_eval_crystal.__path__[0]}/{folder}"], prefix=f"lmms_eval_crystal.{folder}."
    )
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
