"""The journal: responses on disk as they are made, so that a run that is killed loses only what it was making.

Its folder holds ``open/`` with one JSONL file a process: a header that says what makes the responses,
then a line a response. No file is ever written by two processes, or continued by a later one, so a
torn last line harms nothing that follows. When the results are written, ``open/`` becomes ``finished/``.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import dropwhile
from pathlib import Path
from types import NoneType
from typing import Any

from lmms_eval.api.instance import GenerationResult, TokenCounts
from loguru import logger

from ..errors import CrystalError
from .identity import differences

#: The edition of the format, the value of the header's mark. Another edition is refused, not guessed at.
EDITION = 1
MARK = "crystal_journal"
OPEN, FINISHED = "open", "finished"
#: Of a whole other run everything differs; this many differences tell a user which run it was.
DIFFERENCES_SHOWN = 3


class NotThisRun(CrystalError):
    """A journal that holds responses of another run, or does not tell whose they are.

    ``what`` is what is wrong and where, without what a user who asked for this journal can do about it.
    """

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}; {advice}.")
        self.what = what


@dataclass(frozen=True)
class Key:
    """What a response answers. ``repeat`` counts equal requests of an item from 0, as ``--repeats`` makes them."""

    task: str
    split: str
    doc_id: int | str
    repeat: int
    #: Hash of the prompt's text and the generation settings.
    request: str


@dataclass(frozen=True)
class Entry:
    """A response, with its token counts where the model tells them.

    A ``failed`` one, a call that never succeeded, is noted and is asked for again.
    """

    key: Key
    text: str
    tokens: TokenCounts | None = None
    #: SHA-256 of the image file, for the tasks of this package.
    image: str | None = None
    failed: bool = False

    def output(self) -> GenerationResult:
        """The response as a model of the harness returns it."""
        return GenerationResult(self.text, self.tokens)

    def line(self) -> str:
        """The entry as a line of a journal, without the line's end."""
        tokens = self.tokens.to_dict() if self.tokens else None
        more = {"image": self.image, "tokens": tokens, "failed": self.failed or None}
        fields = {**asdict(self.key), **{name: value for name, value in more.items() if value is not None}}
        return json.dumps({**fields, "text": self.text})

    @classmethod
    def from_line(cls, fields: Mapping[str, Any]) -> Entry:
        """The entry that a line holds. Raises ``KeyError`` or ``TypeError`` where it is none."""
        tokens = _typed(fields.get("tokens"), dict, NoneType)
        for count in (tokens or {}).values():
            _typed(count, int, NoneType)
        return cls(
            key=Key(
                task=_typed(fields["task"], str),
                split=_typed(fields["split"], str),
                doc_id=_typed(fields["doc_id"], int, str),
                repeat=_typed(fields["repeat"], int),
                request=_typed(fields["request"], str),
            ),
            text=_typed(fields["text"], str),
            tokens=None if tokens is None else TokenCounts(**tokens),
            image=_typed(fields.get("image"), str, NoneType),
            failed=bool(_typed(fields.get("failed"), bool, NoneType)),
        )


class Journal:
    """The journal of a run as one of its processes sees it.

    ``entries`` are the responses that earlier processes left, of any rank; what this one appends goes to a
    file of its own. ``identity`` is what ``identity.run_identity`` returns, and ``image_of`` tells the
    SHA-256 of the image that a response is about, or None where that is not known. Raises ``NotThisRun``
    where the folder holds responses of a run that these do not describe, or of one that a damaged header
    does not tell, and another ``CrystalError`` where it cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, Any],
        rank: int = 0,
        image_of: Callable[[Key], str | None] = lambda key: None,
    ) -> None:
        self.folder = folder
        self.open = folder / OPEN
        self.entries: dict[Key, Entry] = {}
        self._header = json.dumps({MARK: EDITION, **identity})
        self._file = self.open / f"rank-{rank}-{uuid.uuid4().hex[:8]}.jsonl"
        self._lock = threading.Lock()
        self._broken = False
        for entry in _read(self.open, json.loads(self._header)):
            known = self.entries.get(entry.key)
            if known is None or known.failed:
                self.entries[entry.key] = entry
        # By every rank and before anything is generated: all ranks decide alike.
        for key, entry in self.entries.items():
            _check_image(self.open, entry, image_of(key))
        try:
            self.open.mkdir(parents=True, exist_ok=True)
            self._write([self._header])
        except OSError as error:
            raise CrystalError(
                f"The journal of responses cannot be written to {self.open} ({error.strerror}); set CRYSTAL_JOURNAL "
                "to a folder that can be written, or to off to run without one."
            ) from error

    def append(self, entries: Iterable[Entry]) -> None:
        """Puts the entries on the disk before it returns; where that fails the run goes on without a journal."""
        with self._lock:
            if self._broken:
                return
            try:
                self._write([entry.line() for entry in entries])
            except OSError as error:
                # Responses that are made cost more than the journal is worth, so the run must not end here.
                self._broken = True
                logger.warning(
                    f"The journal cannot be written any more ({error}); the run goes on, but would not resume behind "
                    f"this point. What it holds stays in {self.open}."
                )

    def _write(self, lines: list[str]) -> None:
        # Opened each time: the folder may have been put away by another run, or be on a disk that comes and goes.
        if not self._file.exists() and lines[0] != self._header:
            self.open.mkdir(parents=True, exist_ok=True)
            lines = [self._header, *lines]
        with self._file.open("ab") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
            file.flush()
            os.fsync(file.fileno())

    def failed(self) -> int:
        """How many calls of all processes, until now, never succeeded."""
        done: dict[Key, bool] = {}
        for entry in _read(self.open, json.loads(self._header)):
            done[entry.key] = done.get(entry.key, False) or not entry.failed
        return sum(not success for success in done.values())

    def finish(self) -> None:
        """Puts the journal away, so that the same command starts anew; one finished journal is kept."""
        finished = self.folder / FINISHED
        try:
            shutil.rmtree(finished, ignore_errors=True)
            self.open.rename(finished)
            logger.info(f"Journal: the run is complete, its responses are kept in {finished}.")
        except OSError as error:
            logger.warning(
                f"The journal in {self.open} cannot be put away ({error}); delete it, or the same command replays it."
            )


def _typed(value: Any, *types: type) -> Any:
    """The value, if it is of exactly one of the types: ``True`` is no item 1. Raises ``TypeError`` otherwise."""
    if type(value) not in types:
        raise TypeError(f"{type(value)} is none of {types}")
    return value


def _read(folder: Path, identity: Mapping[str, Any]) -> Iterator[Entry]:
    """All entries under a folder, in files' order.

    Raises ``NotThisRun`` for those of another run, and where a file does not say of which run it is.
    """
    for file in sorted(folder.glob("*.jsonl")):
        try:
            lines = list(_whole_lines(file))
        except OSError as error:
            raise NotThisRun(
                f"The journal {file} cannot be read ({error.strerror})", "make it readable, or delete it"
            ) from error
        if not lines:
            continue  # killed before its header was whole
        _check(file, lines[0], identity)
        for fields in lines[1:]:
            try:
                yield Entry.from_line(fields)
            except (KeyError, TypeError):
                logger.warning(f"A line of the journal {file} is damaged and is left out; its response is made again.")


def _whole_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The lines from the first that is not blank; what follows the last line's end was torn by a kill."""
    *lines, _ = file.read_bytes().split(b"\n")
    for line in dropwhile(lambda line: not line.strip(), lines):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        # A damaged line stays one, so that the reader can say so.
        yield fields if isinstance(fields, dict) else {}


def _is_header(fields: Mapping[str, Any]) -> bool:
    tasks = fields.get("tasks")
    return (
        MARK in fields
        and isinstance(fields.get("model"), dict)
        and isinstance(tasks, dict)
        and all(isinstance(task, dict) for task in tasks.values())
    )


def _check(file: Path, header: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    folder, edition = file.parent, header.get(MARK, EDITION)
    if type(edition) is not int or edition != EDITION:
        raise NotThisRun(
            f"The journal in {folder} has edition {edition!r} of the format, and this version reads edition {EDITION}",
            "finish that run with the version that began it, or delete the folder",
        )
    if not _is_header(header):
        # Its responses may be this run's, and may have been paid for: to stop is safer than to make them again.
        raise NotThisRun(
            f"The journal {file} cannot be read, since its first line is damaged", "repair it or move the file away"
        )
    found = differences(header, identity)
    if found:
        shown = "; ".join(found[:DIFFERENCES_SHOWN]) + ("; and more" if len(found) > DIFFERENCES_SHOWN else "")
        raise NotThisRun(
            f"The journal in {folder} holds responses of another run, and they must not be mixed: {shown}",
            "repeat that run's command to finish it, set CRYSTAL_JOURNAL to another folder, or delete this one to "
            "start anew",
        )


def _check_image(folder: Path, entry: Entry, image: str | None) -> None:
    if image is not None and not entry.failed and entry.image != image:
        raise NotThisRun(
            f"The journal in {folder} holds responses of another dataset: the image of item {entry.key.doc_id} of "
            f"{entry.key.task} was {entry.image} and is now {image}",
            "set CRYSTAL_JOURNAL to another folder, or delete this one to start anew",
        )
