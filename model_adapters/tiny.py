"""Tiny random models of real families, built offline from their config classes: for demos and tests without a hub.

    python -m lmms_eval_crystal.model_adapters.tiny qwen2_5_vl PATH

Such a model has the real architecture and the real processor, and writes noise: it shows that a
whole run works, on a CPU, in seconds.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from .tiny_qwen import build_tiny_qwen2_5_vl, build_tiny_qwen3_vl
from .tiny_tiles import build_tiny_gemma3, build_tiny_internvl, build_tiny_llava_next, build_tiny_mllama

# One function a family, under the model type that its config states.
FAMILIES: dict[str, Callable[[str | Path], Path]] = {
    "qwen2_5_vl": build_tiny_qwen2_5_vl,
    "qwen3_vl": build_tiny_qwen3_vl,
    "internvl": build_tiny_internvl,
    "gemma3": build_tiny_gemma3,
    "mllama": build_tiny_mllama,
    "llava_next": build_tiny_llava_next,
}


def main() -> None:
    """The command line: a family and a folder."""
    parser = argparse.ArgumentParser(description="Build a tiny random model of a family, offline.")
    parser.add_argument("family", choices=sorted(FAMILIES))
    parser.add_argument("path", type=Path, help="the folder to write, as for save_pretrained")
    arguments = parser.parse_args()
    print(FAMILIES[arguments.family](arguments.path))


if __name__ == "__main__":
    main()
