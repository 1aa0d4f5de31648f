"""Entry point of the harness: the models of this package, and with them its tasks.

The harness has an entry-point group for models and none for tasks. It loads the models' entry points
before it looks for tasks, so registering both here is in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..crystal_task.plugin import register_tasks

if TYPE_CHECKING:
    from lmms_eval.models.registry_v2 import ModelManifest

PACKAGE = __package__


def manifests() -> list[ModelManifest]:
    """One manifest a model, each with a class for chat and one for simple tasks; registers the tasks as well.

    The classes are named, not imported, so that listing them costs nothing.

    >>> [manifest.model_id for manifest in manifests()]
    ['crystal_scripted', 'crystal_replay']
    """
    # The harness imports this module while it is half imported itself.
    from lmms_eval.models.registry_v2 import ModelManifest

    register_tasks()
    return [
        ModelManifest(
            model_id="crystal_scripted",
            chat_class_path=f"{PACKAGE}.scripted.CrystalScripted",
            simple_class_path=f"{PACKAGE}.scripted.CrystalScriptedSimple",
        ),
        ModelManifest(
            model_id="crystal_replay",
            chat_class_path=f"{PACKAGE}.replay.CrystalReplay",
            simple_class_path=f"{PACKAGE}.replay.CrystalReplaySimple",
        ),
    ]
