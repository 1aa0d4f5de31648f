"""``crystal_hf``: every open vision-language model that transformers loads with ``AutoModelForImageTextToText``."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any

import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from loguru import logger as eval_logger
from tqdm import tqdm

from .. import ranks
from ..errors import CrystalError, stop_the_run
from .base import TextModel, refuse_unknown
from .batching import Batches, buckets
from .conversation import ChatFormat, Conversation
from .generation import Decoding, greedy_config
from .image_limits import set_image_limits
from .lengths import Lengths
from .loading import Checkpoint, choose_dtype
from .pictures import fit, opened
from .responses import write_batch

MODEL_ID = "crystal_hf"
# Ranks have unequal shares left after a resume, and wait for each other at the end.
PATIENCE = timedelta(weeks=4)
# Where --batch_size is auto: the upper end of what is worth trying, since what does not fit is halved.
AUTO_BATCH_SIZE = 32
# What a preset may say of a model; the user's own --model_args win over it.
PRESET_ARGUMENTS = ("revision", "attn_implementation", "min_pixels", "max_pixels", "max_tiles", "trust_remote_code")


class CrystalHF(TextModel):
    """``--model crystal_hf --model_args pretrained=HUB_ID|FOLDER`` or ``preset=NAME``.

    Further arguments: ``revision``; ``dtype`` (auto: float32 on a CPU; on a GPU the preset's, else
    bfloat16); ``device_map`` (``auto`` spreads one copy over all GPUs, in one process); ``device`` (each
    process's own GPU; ``cpu`` in one process); ``attn_implementation``; ``min_pixels`` and ``max_pixels``
    of an image, ``max_tiles`` where the family cuts tiles; ``trust_remote_code`` (off); ``model_name``,
    which names the result folder. The batch size is the harness's ``--batch_size``.

    Requests of like length are generated together, padded on the left, greedily unless they ask
    otherwise. In float32 a batch writes what each of its items would alone; in 16 bits the rounding
    differs with the batch, as on any hardware.
    """

    model_id = MODEL_ID
    is_simple = False
    keeps_journal = True

    @stop_the_run
    def __init__(
        self,
        pretrained: object = None,
        preset: object = None,
        revision: object = None,
        dtype: object = None,
        device_map: object = None,
        attn_implementation: object = None,
        batch_size: object = 1,
        min_pixels: object = None,
        max_pixels: object = None,
        max_tiles: object = None,
        trust_remote_code: object = None,
        model_name: object = None,
        device: object = None,
        max_batch_size: object = None,
        **other: object,
    ) -> None:
        super().__init__()
        known: dict[str, Any] = {
            "revision": _text("revision", revision),
            "attn_implementation": _text("attn_implementation", attn_implementation),
            "min_pixels": _count("min_pixels", min_pixels),
            "max_pixels": _count("max_pixels", max_pixels),
            "max_tiles": _count("max_tiles", max_tiles),
            "trust_remote_code": _flag("trust_remote_code", trust_remote_code),
        }
        refuse_unknown(MODEL_ID, (*known, "pretrained", "preset", "dtype", "device_map", "model_name"), other)
        self.pretrained, suggested, known = _with_preset(pretrained, preset, known)
        self.model_name = None if model_name is None else str(model_name)
        self._batches = Batches(_batch_size(batch_size))
        # As the harness counts ranks: without a GPU the accelerator takes each process of torchrun for the only one.
        self._rank = ranks.rank()
        self._world_size = ranks.world_size()
        self.accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=PATIENCE)])
        self.device = _device(device, self.accelerator.device, self._world_size)
        placement = _placement(device_map, self.device, self._world_size)

        checkpoint = Checkpoint(
            self.pretrained, known["revision"], known["attn_implementation"], bool(known["trust_remote_code"])
        )
        self._processor = checkpoint.load_processor()
        limits = set_image_limits(self._processor, known["min_pixels"], known["max_pixels"], known["max_tiles"])
        self.min_pixels, self.max_pixels = limits.least, limits.largest
        self._before = limits.before
        self._chat = ChatFormat(self._processor)
        self.system_prompt = self._chat.system_prompt
        self._lengths = Lengths(limits.largest_area)

        weights_on = torch.device("cpu") if placement == "cpu" else self.device
        self._dtype = choose_dtype(_text("dtype", dtype), suggested, weights_on)
        self._model = checkpoint.load_network(self._dtype, placement)
        self._model.generation_config = greedy_config(self._model, self._processor.tokenizer)
        if self._rank == 0:
            eval_logger.info(f"{MODEL_ID} loaded {self.pretrained} as {self._dtype} on {self._model.device}.")

    @property
    def batch_size(self) -> int:
        """How many requests are generated together, where as many fit into memory."""
        return self._batches.size

    def request_length(self, request: Instance) -> int:
        """A cheap estimate of a prompt's length in tokens, to sort by; no image is decoded."""
        context, _, _, index, task, split = request.args
        return self._lengths.estimate(str(context), self.task_dict[task][split], task, split, index)

    @stop_the_run
    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        """One text per request, in order, each with its counts of input and output tokens.

        The count of a text that reached ``max_new_tokens`` is that limit; an end token is not counted.
        """
        results: dict[int, GenerationResult] = {}
        # One batch is over before a bar says anything; whoever sends single batches has a bar of their own.
        hidden = self.rank != 0 or len(requests) <= self.batch_size
        with tqdm(total=len(requests), desc="Generating", disable=hidden) as progress:
            for made in self.generate_batches(requests):
                results |= made
                progress.update(len(made))
        return [results[place] for place in range(len(requests))]

    def generate_batches(self, requests: Sequence[Instance]) -> Iterator[dict[int, GenerationResult]]:
        """The results of each batch as soon as it is made, by their places in ``requests``."""
        # Repeated only to keep all ranks equally busy, which nothing here needs; they never reach scoring.
        padding = {place for place, request in enumerate(requests) if request.metadata.get("__padding_only__")}
        yield {place: GenerationResult("", TokenCounts()) for place in padding}
        asked = [place for place in range(len(requests)) if place not in padding]
        decodings = [Decoding.of_request(requests[place].args[2]) for place in asked]
        lengths = [self.request_length(requests[place]) for place in asked]
        for bucket in buckets(decodings, lengths):
            batches = self._batches.run(
                [requests[asked[index]] for index in bucket],
                [lengths[index] for index in bucket],
                partial(self._write, decoding=decodings[bucket[0]]),
                _name,
            )
            places = iter(asked[index] for index in bucket)
            for results in batches:
                yield dict(zip(islice(places, len(results)), results, strict=True))

    def _write(self, requests: Sequence[Instance], decoding: Decoding) -> list[GenerationResult]:
        """The texts of one batch. Where the number of images differs, processors want the items apart."""
        conversations = [self._conversation(request) for request in requests]
        results: dict[int, GenerationResult] = {}
        for group in buckets([len(conversation.images) for conversation in conversations], [0] * len(conversations)):
            texts = self._write_batch([conversations[place] for place in group], decoding)
            results.update(zip(group, texts, strict=True))
        return [results[place] for place in range(len(requests))]

    def _conversation(self, request: Instance) -> Conversation:
        _, doc_to_messages, _, index, task, split = request.args
        messages = doc_to_messages(self.task_dict[task][split][index])
        return self._chat.conversation(messages, lambda image: fit(opened(image), self._before))

    def _write_batch(self, conversations: Sequence[Conversation], decoding: Decoding) -> list[GenerationResult]:
        return [
            GenerationResult(made.text, TokenCounts(input_tokens=made.input_tokens, output_tokens=made.output_tokens))
            for made in write_batch(self._model, self._processor, conversations, decoding, self._dtype)
        ]


def _with_preset(pretrained: object, preset: object, given: dict[str, Any]) -> tuple[str, str | None, dict[str, Any]]:
    """The checkpoint's name, the dtype that a preset suggests, and the arguments with the preset's in the gaps."""
    if preset is None:
        if pretrained is None:
            raise CrystalError(f"{MODEL_ID} needs pretrained=HUB_ID|FOLDER or preset=NAME in --model_args.")
        return str(pretrained), None, given
    from .presets import load_preset

    chosen = load_preset(str(preset))
    if chosen.adapter != MODEL_ID:
        raise CrystalError(
            f"The preset {chosen.name} runs through {chosen.adapter}, another adapter of the harness; "
            f"use `crystal-eval run {chosen.name}`."
        )
    filled = {name: getattr(chosen, name) if given[name] is None else given[name] for name in PRESET_ARGUMENTS}
    return str(pretrained or chosen.model), chosen.dtype, filled


def _device(wanted: object, own: torch.device, processes: int) -> torch.device:
    """The device of this process: the accelerator's, or the CPU where one process asks for it."""
    if wanted is None or str(wanted) in (own.type, str(own)):
        return own
    if str(wanted) == "cpu" and processes == 1:
        return torch.device("cpu")
    raise CrystalError(
        f"device={wanted} is not this process's device, which is {own}; leave device= out, and choose GPUs with "
        "CUDA_VISIBLE_DEVICES."
    )


def _placement(device_map: object, device: torch.device, processes: int) -> str | dict[str, torch.device]:
    if device_map is None:
        return {"": device}
    if processes > 1:
        raise CrystalError(
            f"device_map={device_map} spreads the model over the GPUs of one process, and there are {processes} "
            "processes; start one (python -m lmms_eval), or leave device_map= out and give each process a GPU."
        )
    return str(device_map)


def _name(request: Instance) -> str:
    _, _, _, index, task, _ = request.args
    return f"Item {index} of {task}"


def _batch_size(size: object) -> int:
    text = str(size)
    if text.startswith("auto"):
        return AUTO_BATCH_SIZE
    if not text.isdecimal() or int(text) < 1:
        raise CrystalError(f"--batch_size takes a number from 1 on or auto, not {size}.")
    return int(text)


def _text(name: str, value: object) -> str | None:
    # The harness reads 1234567 and 12e5 in --model_args as numbers, and what was typed is gone.
    if value is None or isinstance(value, str):
        return value
    raise CrystalError(f"{name}={value} reached {MODEL_ID} as a number; write a name (of a revision, all 40 digits).")


def _count(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CrystalError(f"{MODEL_ID} takes a whole number from 1 on as {name}=, not {value}.")
    return value


def _flag(name: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise CrystalError(f"{MODEL_ID} takes True or False as {name}=, not {value}.")
