"""What JSON can hold: it has no numbers that are infinite or none."""

import math
from typing import Any


def finite(value: Any) -> Any:
    """The same value, whatever is nested in it, with None for numbers that JSON does not know and lists for tuples.

    >>> finite({"kl": math.inf, "steps": (1, math.nan)})
    {'kl': None, 'steps': [1, None]}
    """
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
