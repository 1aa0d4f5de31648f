"""The time limit of API calls: the harness's ``openai`` adapter takes ``timeout=`` and then forgets it."""

from typing import Any

from ..arguments import split_arguments


def keep_to_timeout(lm: Any, model_args: object) -> None:
    """Gives the client of an API adapter the ``timeout=`` that ``model_args`` states, in seconds.

    Without one the client's own ten minutes stay, and models that call no API are left alone. A call that
    takes longer fails, is tried again as any other, and at last is a failed item.
    """
    client = getattr(lm, "client", None)
    stated = isinstance(model_args, str) and "timeout" in split_arguments(model_args)
    if stated and client is not None and hasattr(client, "with_options"):
        lm.client = client.with_options(timeout=float(lm.timeout))
