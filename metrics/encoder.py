"""The sentence encoder: a preset, a hub id or a folder, loaded through sentence-transformers."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from tqdm import tqdm

from ..errors import CrystalError, first_line

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PRESETS_FILE = Path(__file__).parent.parent / "configs" / "encoders.yaml"
#: Texts per forward pass; steps are short, so this fits on any device.
BATCH_SIZE = 64
#: Words for each token of the limit, so that a tokeniser that joins two words does not matter either.
SURE_WORDS = 2
#: Characters of a text that are tokenised at all. Words without ASCII are not counted, as a tokeniser may drop them;
#: megabytes of those would take it many seconds.
MOST_CHARACTERS = 200_000
#: One of these is in every folder that sentence-transformers can load.
_CONFIGS = ("modules.json", "config.json")
#: Seconds for the hub to say whether it has an encoder; loading one asks it again and again for most of a minute.
HUB_TIMEOUT_S = 10
MINILM = "pip install 'lmms-eval-crystal[minilm]'; its scores are not comparable with the paper's"
_WORD = re.compile(r"\S+")
_SURE = re.compile(r"[0-9A-Za-z]")


@dataclass(frozen=True)
class EncoderSource:
    """Where an encoder is loaded from, and the id that signatures show for it."""

    id: str
    location: str
    revision: str


def encoder_presets() -> dict[str, dict[str, str]]:
    """The presets of ``configs/encoders.yaml``, by name."""
    presets: dict[str, dict[str, str]] = yaml.safe_load(PRESETS_FILE.read_text("utf-8"))["presets"]
    return presets


def default_encoder() -> str:
    """Name of the preset that is used where none is given: the paper's encoder."""
    return str(yaml.safe_load(PRESETS_FILE.read_text("utf-8"))["default"])


def resolve_encoder(name_or_path: str) -> EncoderSource:
    """Where the encoder of that name is: a preset, a hub id, or a folder.

    Raises ``CrystalError`` where a preset's package is not installed, or where the name is neither.
    """
    preset = encoder_presets().get(name_or_path)
    if preset is None:
        return _resolve_plain(name_or_path)
    if "package" not in preset:
        return EncoderSource(preset["model"], preset["model"], "main")
    found = importlib.util.find_spec(preset["package"])
    if found is None or not found.submodule_search_locations:
        raise CrystalError(
            f"The encoder preset {name_or_path!r} needs a package that is not installed: {preset['install']}"
        )
    folder = Path(found.submodule_search_locations[0]) / preset["folder"]
    return EncoderSource(preset["id"], str(folder), _package_version(preset["package"]))


def _resolve_plain(name_or_path: str) -> EncoderSource:
    folder = Path(name_or_path).expanduser()
    if folder.is_dir():
        return EncoderSource(folder.resolve().name, str(folder), _content_hash(folder))
    if "/" in name_or_path and name_or_path.count("/") == 1 and not name_or_path.startswith((".", "/", "~")):
        return EncoderSource(name_or_path, name_or_path, "main")
    known = ", ".join(sorted(encoder_presets()))
    raise CrystalError(
        f"No encoder {name_or_path!r}: it is neither a preset ({known}), nor a hub id (owner/name), nor a folder; "
        "name one of these, in CRYSTAL_ENCODER for a run or in the option of a command."
    )


def is_here(source: EncoderSource) -> bool:
    """Whether an encoder is a folder, or lies in the hub's cache."""
    if Path(source.location).is_dir():
        return True
    # Here, as it reads HF_HUB_OFFLINE when it loads, and commands set that.
    from huggingface_hub import try_to_load_from_cache

    return any(isinstance(try_to_load_from_cache(source.location, name), str) for name in _CONFIGS)


def check_encoder(name: str, option: str = "--encoder", download: bool = True) -> None:
    """Raises ``CrystalError`` where an encoder is not on this machine and the hub cannot give it, without loading it.

    ``option`` is what the user may name another one in. Without ``download`` the hub is not asked.
    """
    source = resolve_encoder(name)
    if is_here(source):
        return
    if not download:
        raise CrystalError(
            f"The encoder {name!r} is not on this machine: fetch it with `hf download {source.location}` or add "
            f"--download, or give {option} a folder that holds it, or minilm ({MINILM})."
        )
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(source.location, timeout=HUB_TIMEOUT_S)
    except Exception as error:  # the hub client raises its own errors and those of its HTTP library
        raise CrystalError(
            f"The encoder {name!r} is not on this machine and the Hugging Face hub does not give it "
            f"({first_line(error)}): take `{option} minilm`, which needs no hub ({MINILM}), give {option} a folder "
            "that holds the encoder, or make the hub reachable."
        ) from error


def _content_hash(folder: Path) -> str:
    """Of the files that make a model: folders of one name hold different ones."""
    digest = hashlib.sha256()
    files = [file for file in folder.rglob("*") if file.suffix in (".json", ".safetensors", ".bin", ".txt", ".model")]
    for file in sorted(files):
        digest.update(str(file.relative_to(folder)).encode())
        with file.open("rb") as content:
            while block := content.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:8]


@cache
def _package_version(package: str) -> str:
    try:
        return version(packages_distributions().get(package, [package])[0])
    except PackageNotFoundError:
        return "unknown"


class StepEncoder:
    """Turns steps into unit vectors. The model is loaded on construction, and only ever the one asked for.

    ``name_or_path`` is a preset of ``configs/encoders.yaml``, a hub id or a folder; the default is the
    paper's ``all-distilroberta-v1``. ``device`` is a torch device such as ``cpu`` or ``cuda:1``.
    Raises ``CrystalError`` where the model cannot be loaded.
    """

    def __init__(self, name_or_path: str | None = None, device: str = "cpu", progress: bool = False) -> None:
        name = name_or_path or default_encoder()
        source = resolve_encoder(name)
        self.id = source.id
        self.progress = progress
        self._model = _load(name, source, device)
        self.revision = _revision(self._model) or source.revision

    @property
    def signature(self) -> str:
        """``id@revision``, as the scorer signature shows it."""
        return f"{self.id}@{self.revision}"

    @property
    def device(self) -> str:
        """Where the model is now."""
        return str(self._model.device)

    @property
    def cache_key(self) -> str:
        """All that its vectors depend on: signature, kind of device, and type of its weights."""
        weights = next(self._model.parameters(), None)
        return f"{self.signature}-{self._model.device.type}-{'' if weights is None else weights.dtype}"

    def to(self, device: str) -> None:
        """Moves the model, to the GPU that generation has left free, say."""
        self._model.to(device)

    def encode(self, texts: list[str]) -> np.ndarray:
        """Embeddings of shape ``(n, d)``, float32, unit rows; no texts give ``(0, d)``.

        TF32 is off while it runs: its rounding is large enough to move matches near the threshold. A
        GPU without room for it is left for the CPU, which gives the same scores more slowly.
        """
        import torch

        with _full_precision():
            try:
                return self._encode(texts)
            except torch.cuda.OutOfMemoryError:
                logging.getLogger(__name__).warning("The GPU is full; the encoder goes on on the CPU, more slowly.")
                self.to("cpu")
                torch.cuda.empty_cache()
                return self._encode(texts)

    def _encode(self, texts: list[str]) -> np.ndarray:
        if not texts:
            width = self._model.get_sentence_embedding_dimension() or 0
            return np.empty((0, width), dtype=np.float32)
        cut = self._cut(texts)
        order = np.argsort([-length for length in self._lengths(cut)], kind="stable")
        batches = [order[start : start + BATCH_SIZE] for start in range(0, len(cut), BATCH_SIZE)]
        # A batch a call: a longer list would be sorted anew, by characters.
        rows = [
            self._model.encode(
                [cut[place] for place in places],
                batch_size=BATCH_SIZE,
                convert_to_numpy=True,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
            for places in tqdm(batches, desc="Embedding", unit="batch", disable=not self.progress)
        ]
        return np.concatenate(rows)[np.argsort(order)].astype(np.float32, copy=False)

    def _lengths(self, texts: list[str]) -> list[int]:
        """What the texts are sorted by, so that those of one batch need little padding.

        Tokens on a CPU, where a step's forward pass takes a hundred times as long as tokenising it, and texts of as
        many characters differ by a tenth in tokens; characters on a GPU, which waits for the tokeniser as it is.
        """
        from transformers import PreTrainedTokenizerBase

        tokenizer, limit = self._model.tokenizer, self._model.max_seq_length
        if self._model.device.type != "cpu" or not isinstance(tokenizer, PreTrainedTokenizerBase):
            return [len(text) for text in texts]
        encoded = tokenizer(texts, truncation=limit is not None, max_length=limit)
        return [len(tokens) for tokens in encoded["input_ids"]]

    def _cut(self, texts: list[str]) -> list[str]:
        """Very long texts without the end that the limit on tokens drops anyway; tokenising 100 kB takes long."""
        limit = self._model.max_seq_length
        cuts_right = getattr(self._model.tokenizer, "truncation_side", "") == "right"
        if not limit or not cuts_right:
            return texts
        return [first_words(text[:MOST_CHARACTERS], SURE_WORDS * limit) for text in texts]


def first_words(text: str, count: int) -> str:
    """A text up to its ``count``-th word that has a letter or digit of ASCII, or all of it where it has fewer.

    No tokeniser turns such a word into nothing, and what stands behind white space changes no token before it.

    >>> first_words("a red - car stops", 3)
    'a red - car'
    """
    # Too short to hold more.
    if len(text) < 2 * count:
        return text
    words = (found for found in _WORD.finditer(text) if _SURE.search(found[0]))
    last = next(islice(words, count - 1, None), None)
    return text[: last.end()] if last else text


@contextmanager
def _full_precision() -> Iterator[None]:
    """Matrix products in full float32. torch refuses to mix its two switches, so the newer is used where it exists."""
    from torch.backends.cuda import matmul

    switch, off = ("fp32_precision", "ieee") if hasattr(matmul, "fp32_precision") else ("allow_tf32", False)
    before = getattr(matmul, switch)
    setattr(matmul, switch, off)
    try:
        yield
    finally:
        setattr(matmul, switch, before)


def _load(name: str, source: EncoderSource, device: str) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(source.location, device=device)
    except Exception as error:  # the loader raises whatever the hub client, the file system or torch raise
        raise CrystalError(
            f"The encoder {name!r} could not be loaded ({first_line(error)}). In CRYSTAL_ENCODER for a run, or by "
            f"--encoder of a command (--encoders of ablate), name minilm ({MINILM}) or a folder that holds it, or "
            "make the Hugging Face hub reachable."
        ) from error


def _revision(model: Any) -> str:
    """Commit of a model that came from the hub, as transformers noted it; empty for a local one."""
    for module in model.modules():
        commit = getattr(getattr(module, "config", None), "_commit_hash", None)
        if commit:
            return str(commit)[:12]
    return ""
