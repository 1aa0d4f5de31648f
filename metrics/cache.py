"""Embeddings on disk: one SQLite file an encoder, shared by runs, models, ranks and thresholds.

The cache saves time and is never needed: whatever is wrong with its folder or its file, the run goes on
without it and says so once. What is read from it was written whole and for that very text, or it counts
as absent: each row carries a checksum over text and vector, and each file some vectors of the encoder
that wrote it, which the present encoder must give too.
"""

from __future__ import annotations

import hashlib
import logging
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from .. import ranks

_LOG = logging.getLogger(__name__)
T = TypeVar("T")

#: Raised when the layout of the file or what counts as the same text changes; an older file is made anew.
EDITION = 1
#: What marks a SQLite file as ours: "CRYS".
APPLICATION_ID = 0x43525953
#: Texts that an encoder embeds before it uses a file: short and longer than any limit, in several scripts, so that
#: other weights, another tokeniser, pooling or limit on tokens give other vectors.
PROBES = (
    "The sign is red.",
    "Count the bars that exceed 12.5 %, and add them: 3 + 4 = 7.",
    "Größe, naïve façade, 东京, Δx ≤ √2 \\frac{1}{2}",
    "MIXED case and   spaces\tand\nlines",
    " ".join(f"step {number} of a long chain" for number in range(200)),
)
#: Largest distance of two vectors of one text by one encoder on one kind of device. Batches and processors differ by
#: about 1e-6; other weights or half precision by more than 1e-4.
TOLERANCE = 1e-5
# Other processes hold the file for milliseconds; what takes longer is a file system without working locks.
_TIMEOUT_S = 10.0
# Older SQLite takes no more than 999 values a statement.
_VALUES = 900
_SPOILT = re.compile(r"^no such |^table |malformed|unsupported file format|syntax error")
# Two to four vectors a page leave little of it empty.
_PAGE_BYTES = 16_384
_TABLE = "CREATE TABLE embeddings (key BLOB PRIMARY KEY, vector BLOB, checksum INTEGER)"
# All that a file of ours declares: a view in place of the table may have no end, a trigger may undo what is written.
_DECLARED = [(b"table", _TABLE.encode()), (b"index", None)]


class EmbeddingCache:
    """The file of one encoder in a folder; a row a text.

    ``encoder`` says which encoder, and on which kind of device; ``probes`` are its vectors of ``PROBES``.
    No method raises for what is wrong with the file or the disk.
    """

    def __init__(self, folder: Path, encoder: str, probes: np.ndarray) -> None:
        # The name of a folder need not be UTF-8.
        digest = hashlib.sha256(encoder.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        name = re.sub(r"[^\w.-]+", "-", encoder.rpartition("/")[2])[:60]
        self.path = folder / f"{name}-{digest}.sqlite"
        self._probes = dict(zip(PROBES, probes, strict=True))
        self._reads = self._writes = True
        self._rebuilt = self._told = False
        self._attempt(self._prepare)

    def load(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors of those of the texts that are in the file, float32."""
        if not self._reads:
            return {}
        return self._attempt(lambda: self._load(texts)) or {}

    def save(self, rows: Mapping[str, np.ndarray]) -> None:
        """Writes the vectors of some texts, all of them or none."""
        if self._reads and self._writes:
            self._attempt(lambda: self._save(rows), writing=True)

    def _prepare(self) -> None:
        """Makes the folder, and sees that the file, if there is one, holds vectors of this very encoder."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        known = self._load(PROBES)
        if not all(text in known and _near(known[text], row) for text, row in self._probes.items()):
            raise sqlite3.DatabaseError("it holds vectors of an encoder that gives other ones")

    def _load(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        text_of = {_key(text): text for text in texts}
        keys = list(text_of)
        size = next(iter(self._probes.values())).size
        found: dict[str, np.ndarray] = {}
        with self._opened() as database:
            for start in range(0, len(keys), _VALUES):
                some = keys[start : start + _VALUES]
                marks = ",".join("?" * len(some))
                for key, row, checksum in database.execute(
                    f"SELECT key, vector, checksum FROM embeddings WHERE key IN ({marks})", some
                ):
                    # A row that is not what was written is as good as none, and is written again.
                    whole = key in text_of and isinstance(row, bytes) and len(row) == 4 * size
                    if whole and checksum == _checksum(key, row):
                        found[text_of[key]] = np.frombuffer(row, dtype="<f4")
        return found

    def _save(self, rows: Mapping[str, np.ndarray]) -> None:
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            _insert(database, rows)
            database.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection for one action: nothing stays open that a fork, a thread or a vanished folder could spoil."""
        database = sqlite3.connect(self.path, timeout=_TIMEOUT_S, isolation_level=None)
        try:
            database.text_factory = bytes
            if _tag(database) != (APPLICATION_ID, EDITION):
                self._create(database)
            if database.execute("SELECT type, sql FROM sqlite_master").fetchall() != _DECLARED:
                raise sqlite3.DatabaseError("it holds other tables")
            yield database
        finally:
            database.close()

    def _create(self, database: sqlite3.Connection) -> None:
        database.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        database.execute("BEGIN IMMEDIATE")
        # Another process may have been quicker.
        if _tag(database) != (APPLICATION_ID, EDITION):
            if database.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise sqlite3.DatabaseError("it is of another version")
            database.execute(_TABLE)
            _insert(database, self._probes)
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {EDITION}")
        database.execute("COMMIT")

    def _attempt(self, action: Callable[[], T], writing: bool = False) -> T | None:
        """What an action returns. A spoilt file is made anew, once; with any other trouble the cache is left."""
        try:
            try:
                return action()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if self._rebuilt or not _is_spoilt(error):
                    raise
                self._rebuild(error)
                return action()
        # A path that no system can have is a ValueError.
        except (sqlite3.Error, ValueError, OSError) as error:
            self._reads, self._writes = writing and self._reads, False
            if not self._told:
                what = "written" if self._reads else "used"
                _say(f"The embedding cache {self.path} cannot be {what} ({error}); the run goes on without it.")
            self._told = True
            return None

    def _rebuild(self, reason: Exception) -> None:
        self._rebuilt = True
        _say(f"The embedding cache {self.path} is made anew: {reason}.")
        for file in (self.path, self.path.with_name(f"{self.path.name}-journal")):
            file.unlink(missing_ok=True)


def _is_spoilt(error: Exception) -> bool:
    """Whether an error speaks of what is in the file; SQLite's others speak of locks, disks and permissions."""
    # What a file says of its own tables may be no text; and a name that changed is a column that is missing.
    return not isinstance(error, sqlite3.OperationalError) or bool(_SPOILT.search(str(error)))


def _tag(database: sqlite3.Connection) -> tuple[int, int]:
    [application], [edition] = (
        database.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    return application, edition


def _insert(database: sqlite3.Connection, rows: Mapping[str, np.ndarray]) -> None:
    keyed = ((_key(text), np.asarray(row, dtype="<f4").tobytes()) for text, row in rows.items())
    database.executemany(
        "INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", ((key, row, _checksum(key, row)) for key, row in keyed)
    )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _checksum(key: bytes, row: bytes) -> int:
    return zlib.crc32(row, zlib.crc32(key))


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    return float(np.linalg.norm(one - other)) <= TOLERANCE


def _say(message: str) -> None:
    # Once a machine; its other ranks meet the same folder.
    if ranks.local_rank() == 0:
        _LOG.warning(message)
