"""Entry point of the harness: the models of this package, and with them its tasks.

The harness has an entry-point group for models and none for tasks. It loads the models' entry points
before it looks for tasks, so registering both here is in time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..crystal_task.observe import Run, surround
from ..crystal_task.plugin import register_tasks
from . import launcher  # noqa: F401  (notes the parent process while it is still there)
from .commands import NAMING_VARIABLE

if TYPE_CHECKING:
    from lmms_eval.models.registry_v2 import ModelManifest

PACKAGE = __package__


@contextmanager
def _kept(lm: Any, run: Run, cli_args: Any) -> Iterator[None]:
    """A run with a journal, and with the time limits that its API calls were given."""
    # Late: these import parts of the harness, which imports this module while it is half imported itself.
    from .resume import journaled
    from .timeouts import keep_to_timeout

    keep_to_timeout(lm, getattr(cli_args, "model_args", None))
    with journaled(lm, run, cli_args):
        yield


def manifests() -> list[ModelManifest]:
    """One manifest a model, each with a class for chat and one for simple tasks; registers the tasks as well.

    The classes are named, not imported, so that listing them costs nothing.

    >>> [manifest.model_id for manifest in manifests()]
    ['crystal_hf', 'crystal_scripted', 'crystal_replay']
    """
    from lmms_eval.models.registry_v2 import ModelManifest

    register_tasks()
    surround(_kept)
    return [
        *_with_providers_key(ModelManifest),
        ModelManifest(model_id="crystal_hf", chat_class_path=f"{PACKAGE}.hf.CrystalHF"),
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


def _with_providers_key(manifest: type[ModelManifest]) -> list[ModelManifest]:
    """The harness's ``openai`` with another key, where the environment names one."""
    if not os.environ.get(NAMING_VARIABLE, "").strip():
        return []
    module = f"{PACKAGE}.provider_key"
    chat, simple = f"{module}.OpenAICompatible", f"{module}.OpenAICompatibleSimple"
    return [manifest(model_id="openai", chat_class_path=chat, simple_class_path=simple)]
