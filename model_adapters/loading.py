"""Loading a checkpoint, its processor and its weights, with one sentence for each thing that can be wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

from ..errors import CrystalError
from .batching import is_out_of_memory

DTYPES = {
    "bfloat16": torch.bfloat16,
    "bf16": torch.bfloat16,
    "float16": torch.float16,
    "fp16": torch.float16,
    "half": torch.float16,
    "float32": torch.float32,
    "fp32": torch.float32,
}
# A sentence of another library in ours; more of it buries the point.
REASON_LENGTH = 200


@dataclass(frozen=True)
class Checkpoint:
    """Which checkpoint, and how it is loaded. None leaves the choice to transformers."""

    name: str
    revision: str | None = None
    attn_implementation: str | None = None
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        looks_like_a_path = self.name.startswith((".", "/", "~")) or self.name.count("/") > 1 or "\\" in self.name
        if looks_like_a_path and not self.path.is_dir():
            raise CrystalError(f"There is no folder {self.name} (pretrained=), seen from {Path.cwd()}.")
        if self.path.is_dir() and not (self.path / "config.json").is_file():
            raise CrystalError(f"The folder {self.name} holds no config.json, so it is no checkpoint (pretrained=).")

    @property
    def path(self) -> Path:
        """The checkpoint as a folder, which it may not be."""
        return Path(self.name).expanduser()

    def load_processor(self) -> Any:
        """The processor, which holds tokenizer, image processor and chat template. Raises ``CrystalError``."""
        blind = (
            f"The checkpoint {self.name} has no processor for images and text, so crystal_hf cannot show it a "
            "picture; take a vision-language checkpoint in its transformers form (such as InternVL's -HF)."
        )
        try:
            # First, for its messages: a processor that is missing hides that the whole checkpoint is.
            AutoConfig.from_pretrained(self._source, **self._common)
        except Exception as error:
            raise self._explained(error) from error
        try:
            processor = AutoProcessor.from_pretrained(self._source, **self._common)
        except Exception as error:
            if str(error).startswith("Can't load"):  # its image processor or its tokenizer
                raise CrystalError(blind) from error
            raise self._explained(error) from error
        if getattr(processor, "image_processor", None) is None or getattr(processor, "tokenizer", None) is None:
            raise CrystalError(blind)
        template = getattr(processor, "chat_template", None) or getattr(processor.tokenizer, "chat_template", None)
        if not template:
            raise CrystalError(
                f"The checkpoint {self.name} has no chat template, so there is no telling how to ask it; take its "
                "instruction-tuned form, or put a chat_template.jinja into a local copy."
            )
        processor.chat_template = template
        if processor.tokenizer.pad_token is None:
            # Masked wherever it stands, so any token serves.
            processor.tokenizer.pad_token = processor.tokenizer.eos_token
        return processor

    def load_network(self, dtype: torch.dtype, device_map: str | dict[str, torch.device] | None) -> Any:
        """The model in evaluation mode, on its device or devices; None leaves it where a trainer wants it.

        Raises ``CrystalError``.
        """
        more = {"attn_implementation": self.attn_implementation} if self.attn_implementation else {}
        try:
            network = AutoModelForImageTextToText.from_pretrained(
                self._source, dtype=dtype, device_map=device_map, **more, **self._common
            )
        except Exception as error:
            raise self._explained(error) from error
        return network.eval()

    def load_skeleton(self) -> Any:
        """The model with its shapes and without its weights, in no memory. Raises ``CrystalError``."""
        try:
            config = AutoConfig.from_pretrained(self._source, **self._common)
            with torch.device("meta"):
                return AutoModelForImageTextToText.from_config(config, trust_remote_code=self.trust_remote_code)
        except Exception as error:
            raise self._explained(error) from error

    @property
    def _source(self) -> str:
        return str(self.path) if self.path.is_dir() else self.name

    @property
    def _common(self) -> dict[str, Any]:
        return {"revision": self.revision or "main", "trust_remote_code": self.trust_remote_code}

    def _explained(self, error: Exception) -> CrystalError:
        name = self.name
        causes = list(_causes(error))
        said = " ".join((str(error).strip() or type(error).__name__).split())
        reason = said if len(said) <= REASON_LENGTH else f"{said[:REASON_LENGTH]}..."

        def caused_by(*kinds: type[BaseException]) -> bool:
            return any(isinstance(cause, kinds) for cause in causes)

        if isinstance(error, RuntimeError) and is_out_of_memory(error):
            sentence = f"The model {name} does not fit into memory; take a 16-bit dtype= or device_map=auto."
        elif caused_by(GatedRepoError):
            sentence = (
                f"The model {name} is gated: accept its terms at https://huggingface.co/{name}, then run "
                "`hf auth login` with that account."
            )
        elif caused_by(RevisionNotFoundError):
            sentence = f"The model {name} has no revision {self.revision}; see https://huggingface.co/{name}/commits."
        elif caused_by(RepositoryNotFoundError):
            sentence = (
                f"The hub has no model {name}, or it is private: check pretrained=, or run `hf auth login` with an "
                "account that may read it."
            )
        elif caused_by(HFValidationError):
            sentence = f"{name} (pretrained=) is neither a folder, seen from {Path.cwd()}, nor a name on the hub."
        elif caused_by(LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError):
            sentence = (
                f"The model {name} is not on this machine and the hub is out of reach: go online (without "
                "HF_HUB_OFFLINE), or give a local folder as pretrained=."
            )
        elif "trust_remote_code" in said:
            sentence = (
                f"The model {name} runs code from its own repository: read that, and add trust_remote_code=True to "
                "--model_args if you trust it."
            )
        elif "Unrecognized configuration class" in said or "does not recognize this architecture" in said:
            sentence = (
                f"The model {name} is none that transformers loads with AutoModelForImageTextToText; take its "
                "transformers form (-HF) where there is one, another adapter of the harness, or vLLM."
            )
        elif caused_by(ImportError):
            sentence = f"The model {name} needs a package that is not installed ({reason})."
        else:
            sentence = f"The model {name} cannot be loaded ({reason}); check its files and --model_args."
        return CrystalError(sentence)


def choose_dtype(asked: str | None, suggested: str | None, device: torch.device) -> torch.dtype:
    """The type of the weights: what the user asks for; else on a CPU float32, and on a GPU what the preset suggests.

    Without either a GPU gets bfloat16, and one that lacks it float16. Raises ``CrystalError`` for an unknown name.

    >>> choose_dtype(None, "float16", torch.device("cpu"))
    torch.float32
    """
    for name in (asked, suggested):
        if name and name != "auto" and name not in DTYPES:
            raise CrystalError(f"There is no dtype={name}; take auto, {', '.join(sorted(DTYPES))}.")
    if asked and asked != "auto":
        return DTYPES[asked]
    if device.type == "cpu":
        return torch.float32
    if suggested and suggested != "auto":
        return DTYPES[suggested]
    return torch.bfloat16 if device.type != "cuda" or torch.cuda.is_bf16_supported() else torch.float16


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
