"""What a worker does when its launcher is killed: it ends too.

torchrun starts its workers in sessions of their own, so a killed torchrun leaves them at work. The same
command, started again, would share the GPUs with them, make their responses twice and write results twice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from loguru import logger

#: Set by torchrun and by `accelerate launch` for the processes that they start, and by nothing else.
STARTED_BY_LAUNCHER = "TORCHELASTIC_RUN_ID"
#: The parent when the plugin was loaded, which is before any weights are: a launcher may be killed while they load.
LAUNCHER = os.getppid() if hasattr(os, "getppid") else 0
#: A worker is gone long before a new run has imported torch.
POLL_SECONDS = 0.5


@contextmanager
def ending_with_launcher() -> Iterator[None]:
    """While the context lasts, the process ends soon after the launcher that started it, if one did."""
    if STARTED_BY_LAUNCHER not in os.environ or not hasattr(os, "getppid"):
        yield
        return
    over = threading.Event()
    threading.Thread(target=_watch, args=(LAUNCHER, over), daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _watch(launcher: int, over: threading.Event) -> None:
    # At once, too: the launcher may have been killed while the weights were loading.
    while os.getppid() == launcher:
        if over.wait(POLL_SECONDS):
            return
    logger.error(f"The launcher of this process ({launcher}) is gone, so it ends; what it made is kept.")
    # Not SystemExit: the main thread may wait for another rank, for ever.
    os._exit(1)
