"""The presets of ``configs/models.yaml``: how each of the twenty models of the paper's Table 2 is run here."""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from ..errors import CrystalError

CONFIGS = Path(__file__).parent.parent / "configs"
PRESETS_FILE = CONFIGS / "models.yaml"

#: Bytes a weight takes in float16 and bfloat16.
BYTES_PER_WEIGHT = 2
#: Activations and the key-value cache of a batch come to about a fifth of the weights; an estimate, not measured.
WORKING_SHARE = 0.2
#: What CUDA, its libraries and one large image take beside, in GB; an estimate as well.
FIXED_GB = 4.0
#: Share of a GPU's memory that a model can have; the rest goes to the driver and to fragments.
USABLE_SHARE = 0.95


@dataclass(frozen=True)
class Preset:
    """One model and its settings; the keys are explained in ``configs/models.yaml``."""

    name: str
    paper_name: str
    provider: str
    model: str
    adapter: str
    tokens: int
    revision: str | None = None
    params_b: float | None = None
    gpus: int = 0
    dtype: str | None = None
    attn_implementation: str | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None
    max_tiles: int | None = None
    trust_remote_code: bool = False
    vllm: bool = True
    kin: str = ""
    notes: str = ""
    tried: str = ""

    @property
    def is_api(self) -> bool:
        """Whether the model runs at its provider's and is called over the net."""
        return self.provider != "hub"

    @property
    def weights_gb(self) -> float:
        """Size of the weights in 16 bits, in GB; 0 for API models."""
        return (self.params_b or 0.0) * BYTES_PER_WEIGHT

    @property
    def gpu_memory_gb(self) -> float:
        """GPU memory that one copy needs, in GB, as estimated from its weights; 0 for API models."""
        return round(self.weights_gb * (1 + WORKING_SHARE) + FIXED_GB, 1) if self.weights_gb else 0.0

    def gpus_needed(self, memory_gb: float | None) -> int:
        """How many GPUs of ``memory_gb`` one copy needs; without a size, of 80 GB.

        >>> load_preset("qwen2.5-vl-32b").gpus_needed(None), load_preset("qwen2.5-vl-32b").gpus_needed(141.0)
        (2, 1)
        """
        if self.is_api or memory_gb is None:
            return self.gpus
        return max(1, math.ceil(self.gpu_memory_gb / (memory_gb * USABLE_SHARE)))


@cache
def load_presets() -> Mapping[str, Preset]:
    """All presets by name, in the order of their file."""
    rows: dict[str, dict[str, Any]] = yaml.safe_load(PRESETS_FILE.read_text("utf-8"))
    return MappingProxyType({name: Preset(name=name, **row) for name, row in rows.items()})


def load_preset(name: str) -> Preset:
    """The preset of that name, in any case. Raises ``CrystalError`` with the nearest name where there is none.

    >>> load_preset("gemma3-4b").model
    'google/gemma-3-4b-it'
    """
    presets = load_presets()
    wanted = name.strip().lower()
    if wanted not in presets:
        raise CrystalError(f"There is no preset {name!r}; {suggestion(wanted, list(presets))}.")
    return presets[wanted]


def suggestion(name: str, known: Sequence[str]) -> str:
    """What to type instead of a name that is not known."""
    near = nearest(name, known)
    listing = "`crystal-eval models` lists all"
    return f"did you mean {near}? {listing}" if near else f"{listing}, and any hub id (OWNER/NAME) or folder will do"


def nearest(name: str, known: Sequence[str]) -> str:
    """The known name that is most like another; empty where none is.

    >>> nearest("vlm", ["hf", "vllm", "api"])
    'vllm'
    """
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.5)), "")
