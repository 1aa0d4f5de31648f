"""The harness's ``openai`` adapter with the key of another provider, such as Google.

The adapter knows ``OPENAI_API_KEY`` only, and so do the judges of the harness, which would send it to OpenAI. So
``CRYSTAL_KEY_VARIABLE`` names the variable that holds the key of the model's own provider. With it set these
classes stand in for the harness's (``manifests``), and the key reaches nothing but the address of the model.
"""

import os
from typing import Any

from lmms_eval.models.chat import openai as chat
from lmms_eval.models.simple import openai as simple

from ..errors import CrystalError, stop_the_run
from .commands import NAMING_VARIABLE


@stop_the_run
def provider_key() -> str:
    """The key in the variable that ``CRYSTAL_KEY_VARIABLE`` names. Ends the process where there is none."""
    name = os.environ[NAMING_VARIABLE].strip()
    key = os.environ.get(name, "").strip()
    if not key:
        raise CrystalError(f"{NAMING_VARIABLE} says that the API key stands in {name}, which is not set; set it.")
    return key


# By the name of the harness's, which the generation signature shows.
class OpenAICompatible(chat.OpenAICompatible):
    """``openai`` for chat tasks; all arguments are the harness's."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"api_key": provider_key(), **more})


class OpenAICompatibleSimple(simple.OpenAICompatible):
    """``openai`` for tasks that have no messages; all arguments are the harness's."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"api_key": provider_key(), **more})
