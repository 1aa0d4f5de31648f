"""CRYSTAL as a task of lmms-eval: item, prompt, response parser and the glue around the scorer."""

from .released import parse_released
from .response import Response, parse_response

__all__ = ["Response", "parse_released", "parse_response"]
