"""Entry point of the harness: our models, and our tasks beside its own.

The harness has an entry-point group for models and none for tasks. It loads the models' entry points
before it looks for tasks, so this module is there in time to add the package's folder of tasks to
every index that ``TaskManager`` builds.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

TASKS = Path(__file__).parent / "tasks"


def manifests() -> list[Any]:
    """Our models, as the entry-point group ``lmms_eval.models`` wants them; registers the tasks as well."""
    from ..model_adapters.manifests import manifests as models

    register_tasks()
    return models()


def register_tasks() -> None:
    """Makes ``crystal``, ``crystal_paper`` and ``crystal_mini`` known to every ``TaskManager`` from now on."""
    from lmms_eval.tasks import TaskManager

    initialise = TaskManager.initialize_tasks
    if hasattr(initialise, "__wrapped_by_crystal__"):
        return

    @functools.wraps(initialise)
    def with_crystal(self: Any, include_path: Any = None, include_defaults: bool = True) -> Any:
        index = initialise(self, include_path=include_path, include_defaults=include_defaults)
        if not include_defaults:
            return index
        # A user's own task of the same name, given by --include_path, wins as it does over the harness's.
        return {**self._get_task_and_group(str(TASKS)), **index}

    with_crystal.__wrapped_by_crystal__ = True  # type: ignore[attr-defined]
    TaskManager.initialize_tasks = with_crystal
