"""Resumption: what stands in the journal is not generated again, and what is generated goes there at once.

It wraps a model's ``generate_until`` from outside, so it works for any model of the harness. Other kinds
of requests (likelihoods, several rounds) pass by it.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lmms_eval.api.instance import Instance, unwrap_generation_output
from loguru import logger
from tqdm import tqdm

from .. import ranks
from ..crystal_task.observe import Run, leaf_tasks
from ..crystal_task.response import text_status
from ..crystal_task.scoring import loaded_task
from ..crystal_task.settings import cache_folder
from ..errors import CrystalError, stop_the_run
from ..redaction import shown, without_secrets
from .calling import Place, call_all, quietly
from .identity import digest, run_hash, run_identity
from .journal import EDITION, Entry, Journal, Key, NotThisRun
from .launcher import ending_with_launcher
from .saving import forget, when_saved


@contextmanager
def journaled(lm: Any, run: Run, cli_args: Any = None) -> Iterator[None]:
    """While the context lasts, the responses of ``lm`` go through the journal, if this run keeps one.

    ``CRYSTAL_JOURNAL`` names its folder, for any model; ``off`` turns it off. Without it a model whose class
    says ``keeps_journal`` keeps one under ``CRYSTAL_CACHE_DIR``, in a folder for each command, but not on
    several machines, where that is not one folder. Leaving the context without an error marks the journal
    finished once the harness has written its results. Ends the process with a sentence where a journal that
    was asked for belongs to another run or its folder cannot be written.
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
    keeps = getattr(lm, "keeps_journal", None)
    if folder.lower() == "off" or keeps is False or not (folder or keeps):
        return None
    if not folder and ranks.on_several_machines():
        if ranks.is_main():
            logger.info(
                "Journal: none, since this run is on several machines; for one that they share, set CRYSTAL_JOURNAL to "
                "a folder that all of them see."
            )
        return None
    images, identity = _Images(run), run_identity(run, cli_args)
    if folder:
        return Resumption(lm, Journal(Path(folder), identity, ranks.rank(), images.of), images.of)
    journal = _unasked(default_folder(run, cli_args), identity, images)
    return None if journal is None else Resumption(lm, journal, images.of)


def _unasked(default: Path, identity: Mapping[str, Any], images: _Images) -> Journal | None:
    """The journal of a run that asked for none: it must not stop that run, nor lend it responses of another.

    One that does not belong to the run stays as it is, and a second folder is taken, or a third. The same
    command ends at the same folder again, and so do all ranks.
    """
    folder, number = default, 1
    while True:
        try:
            return Journal(folder, identity, ranks.rank(), images.of)
        except NotThisRun as error:
            number += 1
            folder = default.with_name(f"{default.name}-{number}")
            if ranks.is_main():
                logger.warning(f"{error.what}; it is left as it is, and this run keeps its own in {folder}.")
        except CrystalError as error:
            logger.warning(str(error))
            return None


def default_folder(run: Run, cli_args: Any = None) -> Path:
    """Where a run keeps its journal if the user names no folder: the same for the same command."""
    return cache_folder() / "journal" / f"{run_hash(run, cli_args)}-v{EDITION}"


class _Images:
    """The images of this package's tasks, which are part of what a response answers."""

    def __init__(self, run: Run) -> None:
        self._tasks = {
            str(task.config.task): ours
            for task in leaf_tasks(run.tasks)
            if (ours := loaded_task(getattr(task, "eval_docs", None)))
        }

    def of(self, key: Key) -> str | None:
        """SHA-256 of the image of an item; None for the tasks of others, and where there is no such item."""
        ours = self._tasks.get(key.task)
        return ours.images.sha256(int(key.doc_id)) if ours and key.doc_id in range(len(ours.items)) else None


class Resumption:
    """A model together with its journal: answers what is known, has the rest made, and writes that down.

    ``image_of`` tells the SHA-256 of the image that a response is about, or None.
    """

    def __init__(self, lm: Any, journal: Journal, image_of: Callable[[Key], str | None]) -> None:
        self.lm = lm
        self.journal = journal
        self._image_of = image_of
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
        return None if entry is None or entry.failed else entry.output()

    def _entries(self, made: Iterable[tuple[Key | None, Any]]) -> Iterator[Entry]:
        for key, output in made:
            text, tokens = unwrap_generation_output(output)
            text = "" if text is None else text
            if key is None or not isinstance(text, str):
                continue
            failed = text_status(text) == "failed"
            # An error of a server may repeat the key that it was sent.
            yield Entry(key, without_secrets(shown(text)) if failed else text, tokens, self._image_of(key), failed)

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
