"""Embeddings by text: each different text is encoded once, however often and wherever it occurs."""

import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from ..errors import CrystalError
from .cache import PROBES, EmbeddingCache

#: What a user can do about an encoder that is no good.
ANOTHER = "use another encoder (CRYSTAL_ENCODER, or the option of the command that names it)"
#: Texts that are encoded, and kept on disk, at a time: what a run that is killed loses, and a step of its bar.
PORTION = 1024


class Encoder(Protocol):
    """Anything that turns texts into rows of numbers that can be compared by their cosine."""

    def encode(self, texts: list[str]) -> np.ndarray:
        """Embeddings of shape ``(n, d)``, one row a text."""
        ...


def _as_array(rows: Any) -> np.ndarray:
    """An encoder's rows as an array; some return lists, torch tensors of any device and type, or lists of these."""
    if isinstance(rows, list):
        rows = [_as_array(row) if hasattr(row, "detach") else row for row in rows]
    if hasattr(rows, "detach"):
        rows = rows.detach().float().cpu().numpy()
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise CrystalError(f"The encoder returned no matrix ({error}); {ANOTHER}.") from error
    if array.dtype.kind not in "fiub":
        raise CrystalError(
            f"The encoder returned {type(rows).__name__} of {array.dtype} instead of rows of real numbers; {ANOTHER}."
        )
    return array


class EmbeddingTable:
    """Embeddings of all texts seen so far, by text; safe to use from several threads.

    With a ``cache_folder`` the texts that are added to be kept go to a file there, and come from it in
    later runs; for that the encoder needs a ``cache_key``, which names all that its vectors depend on.
    """

    def __init__(self, encoder: Encoder, cache_folder: Path | None = None) -> None:
        self.progress = False
        #: A bar that goes on over several calls and tables, in place of one for each call.
        self.bar: tqdm | None = None
        self._encoder = encoder
        self._cache_folder = cache_folder
        self._caches: dict[str, EmbeddingCache | None] = {}
        self._row_of: dict[str, np.ndarray] = {}
        self._passing: set[str] = set()
        self._width = 0
        self._kept = 0
        self._lock = threading.Lock()

    def add(self, texts: Iterable[str], keep: bool = False) -> None:
        """Encodes the texts that are not in the table yet, each once, those of like length together.

        ``keep`` takes from the cache on disk what it has, and writes there what it has not.
        Raises ``CrystalError`` where the encoder returns another number of rows, another width than
        before, no real numbers, or numbers that are no directions (NaN, infinite, or a row of zeros);
        nothing of such an answer is kept.
        """
        with self._lock:
            wanted = list(dict.fromkeys(texts))
            if keep:
                self._passing.difference_update(wanted)
            new = [text for text in wanted if text not in self._row_of]
            if keep and new and (cache := self._cache()):
                known = cache.load(new)
                self._row_of.update(known)
                self._kept += len(known)
                new = [text for text in new if text not in self._row_of]
            if not keep:
                self._passing.update(new)
            # The longest first, as they are padded to one length; a batch too large for the device shows at once.
            new.sort(key=len, reverse=True)
            with self._counting(len(new)) as bar:
                for start in range(0, len(new), PORTION):
                    portion = new[start : start + PORTION]
                    rows = dict(zip(portion, self._encode(portion), strict=True))
                    self._row_of.update(rows)
                    # Asked for anew: a full GPU sends an encoder to the CPU, whose vectors are kept elsewhere.
                    if keep and (cache := self._cache()):
                        cache.save(rows)
                    bar.update(len(portion))

    def _counting(self, texts: int) -> AbstractContextManager[tqdm]:
        """A bar for so many more texts, which says how many others came from the cache on disk."""
        bar = self.bar
        if bar is None:
            bar = tqdm(total=texts, desc="Embedding", unit="step", disable=not (self.progress and texts))
        elif texts:
            bar.total = (bar.total or 0) + texts
        if self._kept:
            bar.set_postfix_str(f"{self._kept:,} from the cache", refresh=False)
        bar.refresh()
        return nullcontext(bar) if bar is self.bar else bar

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """Embeddings of the texts, shape ``(n, d)``; texts not seen before are encoded now."""
        if not all(text in self._row_of for text in texts):
            self.add(texts)
        if not texts:
            return np.empty((0, self._width), dtype=np.float32)
        return np.stack([self._row_of[text] for text in texts])

    def forget_passing(self) -> None:
        """Drops the texts that were not added to be kept: the steps of one model say nothing to the next."""
        with self._lock:
            for text in self._passing:
                self._row_of.pop(text, None)
            self._passing.clear()

    def _encode(self, texts: list[str], zero_allowed: bool = False) -> np.ndarray:
        rows = _as_array(self._encoder.encode(texts))
        self._check(rows, texts, zero_allowed)
        self._width = rows.shape[1]
        return rows

    def _cache(self) -> EmbeddingCache | None:
        """The file of the encoder as it is now; None without a folder, a key of the encoder, or float32 vectors."""
        key = str(getattr(self._encoder, "cache_key", ""))
        if self._cache_folder is None or not key:
            return None
        if key not in self._caches:
            # An encoder may know no word of them; then it is told from others by the rest.
            probes = self._encode(list(PROBES), zero_allowed=True)
            # The encoder may have gone to another device for them.
            key = str(getattr(self._encoder, "cache_key", key))
            # The file holds float32: with vectors of another type a run would score otherwise than without it.
            same = probes.dtype == np.float32
            self._caches[key] = EmbeddingCache(self._cache_folder, key, probes) if same else None
        return self._caches[key]

    def _check(self, rows: np.ndarray, texts: list[str], zero_allowed: bool) -> None:
        encoder = f"The encoder {name}" if (name := getattr(self._encoder, "id", "")) else "The encoder"
        if rows.ndim != 2 or len(rows) != len(texts) or rows.shape[1] == 0:
            raise CrystalError(
                f"{encoder} returned shape {rows.shape} for {len(texts)} texts, expected ({len(texts)}, width); "
                f"{ANOTHER}."
            )
        if self._width and rows.shape[1] != self._width:
            raise CrystalError(
                f"{encoder} returned {rows.shape[1]} numbers a text after {self._width} before; {ANOTHER}."
            )
        norms = np.linalg.norm(rows, axis=1)
        zero = norms == 0
        bad = np.flatnonzero(~np.isfinite(norms) | (zero & (not zero_allowed or bool(zero.all()))))
        if len(bad):
            raise CrystalError(
                f"{encoder} returned no usable direction (NaN, infinite or zero) for {len(bad)} of {len(texts)} "
                f"texts, the first being {texts[bad[0]][:80]!r}; {ANOTHER} or another device for it "
                "(CRYSTAL_ENCODER_DEVICE=cpu)."
            )
