"""Our tasks beside the harness's own, and what their YAML files say of themselves.

The harness has no entry points for tasks, so the package's folder of tasks is added to every index that
its ``TaskManager`` builds.
"""

from __future__ import annotations

import functools
import itertools
import sys
from pathlib import Path
from typing import Any

import yaml

from ..errors import CrystalError, stop_the_run

TASKS = Path(__file__).parent / "tasks"
#: The benchmark with our prompt and parser, with the authors', and the set that ships in the package.
BENCHMARK, PAPER, MINI = TASK_NAMES = ("crystal", "crystal_paper", "crystal_mini")


def task_version(task: str) -> int:
    """The ``metadata.version`` of a task's YAML, which is the ``v`` of its scorer signature.

    >>> task_version("crystal") >= 1
    True
    """
    return int(yaml.load((TASKS / f"{task}.yaml").read_text("utf-8"), _PlainLoader)["metadata"]["version"])


def metric_directions() -> dict[str, bool | None]:
    """Whether higher is better, by metric, as the task YAMLs say it; None where neither is.

    >>> metric_directions()["match_f1"], metric_directions()["lis"]
    (True, None)
    """
    common = yaml.load((TASKS / "_crystal_common").read_text("utf-8"), _PlainLoader)
    return {metric["metric"]: metric["higher_is_better"] for metric in common["metric_list"]}


class _PlainLoader(yaml.SafeLoader):
    """Reads the YAML of a task without importing the functions that it names."""


_PlainLoader.add_constructor("!function", lambda loader, node: node.value)


@stop_the_run
def _refuse_hidden_task(arguments: list[str]) -> None:
    """The harness takes ``--tasks crystal`` for a folder of tasks where there is a folder of that name."""
    for option, value in itertools.pairwise(arguments):
        if option == "--tasks" and value in TASK_NAMES and Path(value).is_dir():
            raise CrystalError(
                f"The harness reads --tasks {value} as the folder {Path(value).resolve()} instead of the task; run the "
                "command from another folder, or rename that one."
            )


def register_tasks() -> None:
    """Makes ``crystal``, ``crystal_paper`` and ``crystal_mini`` known to every ``TaskManager`` from now on."""
    from lmms_eval.tasks import TaskManager

    initialise = TaskManager.initialize_tasks
    if hasattr(initialise, "__wrapped_by_crystal__"):
        return

    @functools.wraps(initialise)
    def with_crystal(self: Any, include_path: Any = None, include_defaults: bool = True) -> Any:
        _refuse_hidden_task(sys.argv)
        index = initialise(self, include_path=include_path, include_defaults=include_defaults)
        if not include_defaults:
            return index
        # A user's own task of the same name, given by --include_path, wins as it does over the harness's.
        return {**self._get_task_and_group(str(TASKS)), **index}

    with_crystal.__wrapped_by_crystal__ = True  # type: ignore[attr-defined]
    TaskManager.initialize_tasks = with_crystal
