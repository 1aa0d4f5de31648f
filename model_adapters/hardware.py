"""The GPUs of this machine, asked for in a process of its own so that the caller occupies none of them."""

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

GIGABYTE = 1e9
#: Importing torch on a slow disk takes half a minute.
TIMEOUT_S = 120
# Asking for free memory opens the GPU and keeps some of its memory until the process ends.
QUESTION = """
import json, torch
count = torch.cuda.device_count()
print(json.dumps([[torch.cuda.get_device_name(i), *torch.cuda.mem_get_info(i)] for i in range(count)]))
"""


@dataclass(frozen=True)
class Gpu:
    """One visible GPU; memory in GB."""

    name: str
    free_gb: float
    total_gb: float


@cache
def visible_gpus() -> tuple[Gpu, ...]:
    """The GPUs that a process started here would see; none where torch finds none or cannot open them."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", QUESTION], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
        rows = json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return ()
    return tuple(Gpu(name, free / GIGABYTE, total / GIGABYTE) for name, free, total in rows)
