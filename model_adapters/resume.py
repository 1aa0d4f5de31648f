"""Resumption: what stands in the journal is not generated again, and what is generated goes there at once.

It wraps a model's ``generate_until`` from outside, so it works for any model of the harness. Other kinds
of requests (likelihoods, several rounds) pass by it.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmms_eval.api.instance import Instance, unwrap_generation_output
from loguru import logger
from tqdm import tqdm

from .. import ranks
from ..crystal_task.observe import Run, leaf_tasks
from ..crystal_task.response import text_status
from ..crystal_task.scoring import LoadedTask, loaded_task
from ..crystal_task.settings import cache_folder
from ..errors import CrystalError, stop_the_run
from .base import OfflineModel
from .calling import Place, call_all, quietly
from .identity import digest, run_hash, run_identity, without_secrets
from .journal import EDITION, Entry, Journal, Key
from .launcher import ending_with_launcher
from .saving import forget, when_saved

#: What a failed call comes back as; it is no response of the model.
#: The module of the adapter whose runs keep a journal unasked.
OWN_ADAPTER = f"{__package__}.hf"
#: Ways to spread a model over processes that must call it equally often.
LOCKSTEP = ("FSDP", "DEEPSPEED", "MEGATRON_LM")


@contextmanager
def journaled(lm: Any, run: Run, cli_args: Any = None) -> Iterator[None]:
    """While the context lasts, the responses of ``lm`` go through the journal, if this run keeps one.

    ``CRYSTAL_JOURNAL`` names its folder, for any model; ``off`` turns it off. Without it ``crystal_hf`` keeps
    one under ``CRYSTAL_CACHE_DIR``, in a folder for each command. Leaving the context without an error marks
    the journal finished once the harness has written its results. Ends the process with a sentence where the
    journal belongs to another run or its folder cannot be written.
    """
    forget()
    resumption = _begin(lm, run, cli_args)
    if resumption is None:
        yield
        return
    lm.generate_until = stop_the_run(resumption.generate_until)
    try:
        with ending_with_launcher():
            yield
    finally:
        del lm.generate_until
    if ranks.is_main():
        when_saved(resumption.finish, anything=cli_args is not None)


@stop_the_run
def _begin(lm: Any, run: Run, cli_args: Any) -> Resumption | None:
    folder = os.environ.get("CRYSTAL_JOURNAL", "").strip()
    # What is read from a file or made up costs nothing to make again, and the file may have changed.
    if folder.lower() == "off" or isinstance(lm, OfflineModel):
        return None
    unasked = not folder
    if unasked and not any(base.__module__ == OWN_ADAPTER for base in type(lm).__mro__):
        return None
    if _in_lockstep(lm):
        logger.warning("This model runs in lockstep over several processes, so it keeps no journal and cannot resume.")
        return None
    path = default_folder(run, cli_args) if unasked else Path(folder)
    try:
        journal = Journal(path, run_identity(run, cli_args), ranks.rank())
    except CrystalError as error:
        if not unasked:
            raise
        logger.warning(str(error))
        return None
    tasks = {
        str(task.config.task): ours
        for task in leaf_tasks(run.tasks)
        if (ours := loaded_task(getattr(task, "eval_docs", None)))
    }
    return Resumption(lm, journal, tasks)


def default_folder(run: Run, cli_args: Any = None) -> Path:
    """Where a run keeps its journal if the user names no folder: the same for the same command."""
    return cache_folder() / "journal" / f"{run_hash(run, cli_args)}-v{EDITION}"


class Resumption:
    """A model together with its journal: answers what is known, has the rest made, and writes that down.

    ``tasks`` are this package's tasks by name; their images are part of what a response answers.
    """

    def __init__(self, lm: Any, journal: Journal, tasks: Mapping[str, LoadedTask]) -> None:
        self.lm = lm
        self.journal = journal
        self.tasks = tasks
        self._generate = lm.generate_until
        self._asked: Counter[tuple[Any, ...]] = Counter()
        self._told = False
        self._lock = threading.Lock()

    def generate_until(self, requests: list[Instance]) -> list[Any]:
        """One response a request, in order, as the model's own ``generate_until`` returns them."""
        # Before anything is generated: some adapters write defaults into the settings of a request.
        keys = [self._key(request) for request in requests]
        outputs: list[Any] = [self._known(key) for key in keys]
        missing = [place for place, output in enumerate(outputs) if output is None]
        self._tell(keys, outputs)
        hidden = not ranks.is_main() or len(missing) < 2
        with tqdm(total=len(requests), initial=len(requests) - len(missing), desc="Responses", disable=hidden) as bar:

            def keep(made: Mapping[Place, Any]) -> None:
                self.journal.append(self._entries((keys[place], output) for place, output in made.items()))
                for place, output in made.items():
                    outputs[place] = output
                with self._lock:
                    bar.update(len(made))

            with quietly(self.lm):
                call_all(self.lm, self._generate, requests, missing, keep)
        return outputs

    def finish(self) -> None:
        """Marks the journal finished, unless calls failed: then the same command tries only those again."""
        failed = self.journal.failed()
        if failed:
            logger.warning(
                f"{failed} calls failed; the same command tries these again and nothing else. To start anew, delete "
                f"{self.journal.open}."
            )
        else:
            self.journal.finish()

    def _key(self, request: Instance) -> Key | None:
        """None for a request that only keeps all ranks equally busy: its response is nobody's."""
        if (request.metadata or {}).get("__padding_only__"):
            return None
        settings = next((argument for argument in request.args if isinstance(argument, dict)), {})
        asked = (request.task_name, str(request.args[-1]), _plain(request.doc_id), digest([request.args[0], settings]))
        self._asked[asked] += 1
        return Key(*asked[:3], repeat=self._asked[asked] - 1, request=asked[3])

    def _known(self, key: Key | None) -> Any:
        entry = self.journal.entries.get(key) if key else None
        if key is None or entry is None or entry.failed:
            return None
        image = self._image(key)
        if entry.image != image:
            raise CrystalError(
                f"The journal in {self.journal.open} holds responses of another dataset: the image of item "
                f"{key.doc_id} of {key.task} was {entry.image} and is now {image}; set CRYSTAL_JOURNAL to another "
                "folder, or delete this one to start anew."
            )
        return entry.output()

    def _image(self, key: Key) -> str | None:
        ours = self.tasks.get(key.task)
        return ours.images.sha256(int(key.doc_id)) if ours else None

    def _entries(self, made: Iterable[tuple[Key | None, Any]]) -> Iterator[Entry]:
        for key, output in made:
            text, tokens = unwrap_generation_output(output)
            text = "" if text is None else text
            if key is None or not isinstance(text, str):
                continue
            failed = text_status(text) == "failed"
            # An error of a server may repeat the key that it was sent.
            yield Entry(key, without_secrets(text) if failed else text, tokens, self._image(key), failed)

    def _tell(self, keys: list[Key | None], outputs: list[Any]) -> None:
        if self._told:
            return  # some tasks ask in many small rounds
        self._told = True
        wanted = sum(key is not None for key in keys)
        found = sum(output is not None for output in outputs)
        share = f" (rank {ranks.rank()}, its share)" if ranks.world_size() > 1 else ""
        if found:
            logger.info(f"Journal: resuming, {found} of {wanted} responses found in {self.journal.open}{share}.")
        elif self.journal.entries:
            logger.warning(
                f"Journal: none of the responses in {self.journal.open} answers one of these {wanted} requests{share}."
            )
        elif ranks.is_main():
            logger.info(f"Journal: responses are kept in {self.journal.open}; after a kill the same command resumes.")


def _plain(doc_id: Any) -> int | str:
    return doc_id if isinstance(doc_id, int | str) else str(doc_id)


def _in_lockstep(lm: Any) -> bool:
    """Whether the processes of a run must call the model equally often; after a kill they have unequal shares left."""
    spread = getattr(getattr(lm, "accelerator", None), "distributed_type", "")
    parallel = max(getattr(lm, name, 1) or 1 for name in ("_tp_world_size", "data_parallel_size"))
    return parallel > 1 or str(getattr(spread, "value", spread)) in LOCKSTEP
