"""From a model's name and the user's wishes to the command of the harness that evaluates it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..arguments import join_arguments, split_arguments
from ..errors import CrystalError
from ..redaction import holds_secret
from .hardware import Gpu
from .local_files import context_length, local_folder
from .presets import nearest
from .targets import Target

#: The backends by the name that a user gives, with the harness's id of each; any other id of the harness will do too.
BACKENDS = {"hf": "crystal_hf", "vllm": "vllm", "api": "openai"}
#: Items a forward pass of crystal_hf; it halves by itself where they do not fit.
HF_BATCH_SIZE = 8
#: The budget of the tasks themselves; only another one has to be stated.
TASK_TOKENS = 4096
#: vLLM schedules by itself and idles on what the harness hands over by default, one item at a time.
VLLM_BATCH_SIZE = 256
#: The largest image of any preset (16,384 tokens), the prompt and the answer; a longer window only costs memory, and
#: the engine refuses one that is longer than the model's own.
VLLM_CONTEXT = 32768
#: Why its command holds a budget of one token.
VLLM_NOTE = (
    "max_new_tokens=1 is no limit: the harness's vLLM adapter takes the larger of it and the budget of the task "
    f"({TASK_TOKENS:,} tokens in CRYSTAL's, or what --gen-kwargs says)."
)
#: Calls under way at once; common rate limits bear this.
API_CALLS = 16
#: Seconds until a call counts as hung; long hidden reasoning takes minutes.
API_TIMEOUT_S = 600
#: Seconds between the adapter's five tries, so that they span the minute by which rate limits are counted.
API_BACKOFF_S = 20
#: Google's address for clients of the OpenAI API.
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/openai"
KEY_VARIABLE = "OPENAI_API_KEY"
GEMINI_KEY_VARIABLE = "GEMINI_API_KEY"
#: Names the variable with the API key, where it is not ``OPENAI_API_KEY``; read by ``provider_key``.
NAMING_VARIABLE = "CRYSTAL_KEY_VARIABLE"
#: Above this many billion weights a run on CPUs takes days.
CPU_PARAMS_B = 1.0
#: Options of the harness that ``run`` sets by itself, because it must know what they say.
OWN_OPTIONS = ("--model", "--model_args", "--tasks", "--output_path", "--config")


@dataclass(frozen=True)
class Wishes:
    """What the user asked for; None or empty where the preset or the machine decides."""

    tasks: str = "crystal"
    out: Path = Path("out")
    nproc: int | None = None
    backend: str | None = None
    limit: float | None = None
    batch_size: int | None = None
    model_args: str = ""
    gen_kwargs: str = ""
    journal: str = "off"
    extra: Sequence[str] = ()


@dataclass(frozen=True)
class Command:
    """The command line of a run, what it needs in the environment, and what the user should know."""

    adapter: str
    arguments: tuple[str, ...]
    model_args: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    #: Variable that holds the API key, for a model that is called over an API.
    key_variable: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def resumes(self) -> bool:
        """Whether the same command goes on where this one stopped."""
        return self.variables.get("CRYSTAL_JOURNAL", "").lower() != "off"

    @property
    def text(self) -> str:
        """The command as a shell takes it, without any secret."""
        parts = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*parts, shlex.join(self.arguments)])


def build_command(target: Target, wishes: Wishes, gpus: Sequence[Gpu] = ()) -> Command:
    """The command for a model on a machine with these GPUs; with none, as for GPUs of 80 GB, one process.

    Raises ``CrystalError`` where model, backend and GPUs do not go together.
    """
    adapter = _adapter(target, wishes.backend)
    plan = _plan(target, adapter, wishes, gpus)
    if "," in target.model:
        raise CrystalError(f"The harness splits its arguments at commas; rename the folder {target.model}.")
    given = split_arguments(wishes.model_args, "--model-args")
    _refuse_keys(given, "--model-args")
    _refuse_other_model(given, target, adapter)
    model_args = {**_model_args(target, adapter, plan, wishes), **given}
    _refuse_keys(split_arguments(wishes.gen_kwargs, "--gen-kwargs"), "--gen-kwargs")
    _check_numbers(wishes)
    arguments = [*launcher(plan.processes), "--model", adapter, "--model_args", join_arguments(model_args)]
    arguments += ["--tasks", wishes.tasks, *_batch_size(target, adapter, wishes)]
    gen_kwargs = _gen_kwargs(target, wishes)
    if gen_kwargs:
        arguments += ["--gen_kwargs", gen_kwargs]
    if wishes.limit is not None:
        arguments += ["--limit", f"{wishes.limit:.12g}"]
    arguments += ["--log_samples", "--output_path", str(wishes.out), *_extra(wishes.extra)]
    key = key_variable(target) if adapter == BACKENDS["api"] else None
    return Command(
        adapter=adapter,
        arguments=tuple(arguments),
        model_args=model_args,
        variables={"CRYSTAL_JOURNAL": wishes.journal, **_naming(key)},
        key_variable=key,
        notes=tuple(plan.notes),
    )


def _check_numbers(wishes: Wishes) -> None:
    if not wishes.tasks.strip(", "):
        raise CrystalError("--tasks names no task; leave it out for crystal.")
    if wishes.batch_size is not None and wishes.batch_size < 1:
        raise CrystalError(f"--batch-size {wishes.batch_size} must be 1 or more.")
    limit = wishes.limit
    if limit is not None and not (0 < limit < 1 or (limit >= 1 and float(limit).is_integer())):
        raise CrystalError(f"--limit {limit:g} must be a number of items from 1 on, or a share of them below 1.")


def key_variable(target: Target) -> str:
    """The environment variable that holds the API key of a model.

    It is the provider's of a preset; else ``CRYSTAL_KEY_VARIABLE`` names it, and without that it is
    ``OPENAI_API_KEY``.
    """
    if target.preset:
        return GEMINI_KEY_VARIABLE if target.preset.provider == "gemini" else KEY_VARIABLE
    return os.environ.get(NAMING_VARIABLE, "").strip() or KEY_VARIABLE


def _naming(key: str | None) -> dict[str, str]:
    return {NAMING_VARIABLE: key} if key and (key != KEY_VARIABLE or NAMING_VARIABLE in os.environ) else {}


def launcher(processes: int) -> list[str]:
    """What starts the harness: torchrun for several processes."""
    if processes == 1:
        return [program("python"), "-m", "lmms_eval"]
    # Without --standalone two runs on one machine ask for the same port.
    return [program("torchrun"), "--standalone", "--nproc_per_node", str(processes), "-m", "lmms_eval"]


def program(name: str) -> str:
    """A program of this environment: by its bare name where a shell finds the same one, else with its folder."""
    own = Path(sys.executable).parent / name
    found = shutil.which(name)
    return name if found == str(own) or not own.exists() else str(own)


@dataclass(frozen=True)
class _Plan:
    """Processes, GPUs of each model copy, and remarks."""

    processes: int
    gpus_each: int
    notes: list[str]


def _adapter(target: Target, backend: str | None) -> str:
    preset = target.preset
    default = preset.adapter if preset else BACKENDS["hf"]
    adapter = BACKENDS.get(backend, backend) if backend else default
    if preset and preset.is_api and adapter != BACKENDS["api"]:
        raise CrystalError(f"{preset.name} is an API model; leave out --backend {backend}.")
    if preset and not preset.is_api:
        if adapter == BACKENDS["vllm"] and not preset.vllm:
            raise CrystalError(f"vLLM no longer runs {preset.model}; leave out --backend vllm.")
        if adapter == BACKENDS["hf"] and preset.adapter != adapter:
            raise CrystalError(f"{preset.model} needs its own code, which crystal_hf does not run; use --backend vllm.")
    if adapter not in BACKENDS.values():
        _check_adapter(adapter)
    return adapter


def _check_adapter(adapter: str) -> None:
    # Imported here: the harness takes seconds to load, and only an unusual choice needs its list.
    from lmms_eval.models import list_available_models

    known = list_available_models(include_aliases=True)
    if adapter not in known:
        near = nearest(adapter, [*BACKENDS, *known])
        meant = f"did you mean {near}? Leave" if near else "leave"
        raise CrystalError(
            f"--backend {adapter} is neither hf, vllm or api nor a model id of the harness; {meant} it out for the "
            "preset's own."
        )


def _plan(target: Target, adapter: str, wishes: Wishes, gpus: Sequence[Gpu]) -> _Plan:
    asked, preset = wishes.nproc, target.preset
    if asked is not None and asked < 1:
        raise CrystalError(f"--nproc {asked} must be 1 or more.")
    if adapter == BACKENDS["api"]:
        if (asked or 1) > 1:
            raise CrystalError("API models run in one process; set the calls under way at once with --batch-size.")
        return _Plan(1, 0, [f"{target.note}."] if target.note else [])
    each = max(1, preset.gpus_needed(min(gpu.total_gb for gpu in gpus) if gpus else None)) if preset else 1
    if gpus and each > len(gpus):
        assert preset is not None
        raise CrystalError(
            f"{preset.name} needs about {preset.gpu_memory_gb:.0f} GB of GPU memory, which is {each} GPUs like the "
            f"{len(gpus)} here; use a machine with more, or a smaller model."
        )
    if adapter == BACKENDS["vllm"]:
        # Attention heads are shared out among the GPUs, and their numbers are even.
        each = 1 << (each - 1).bit_length()
    elif each > 1 and (asked or 1) > 1:
        raise CrystalError(
            f"{target.name} takes {each} GPUs in one process (device_map=auto), so --nproc {asked} does not fit; leave "
            "it out, or use --backend vllm, whose copies may span GPUs."
        )
    spread_by_user = "device_map" in split_arguments(wishes.model_args, "--model-args")
    if spread_by_user and (asked or 1) > 1:
        raise CrystalError(
            f"device_map= spreads one copy over the GPUs of one process, so --nproc {asked} does not fit; leave one of "
            "them out."
        )
    spread = adapter == BACKENDS["vllm"] or each > 1 or spread_by_user
    processes = asked or (1 if spread else max(1, len(gpus)))
    _check_count(adapter, processes, each, gpus)
    notes = _notes(target, gpus)
    return _Plan(processes, each, [*notes, VLLM_NOTE] if adapter == BACKENDS["vllm"] else notes)


def _check_count(adapter: str, processes: int, each: int, gpus: Sequence[Gpu]) -> None:
    if adapter == BACKENDS["vllm"]:
        if processes > 1 and processes % each:
            raise CrystalError(f"One copy takes {each} GPUs, so --nproc must be a multiple of {each} with vLLM.")
        needed = max(processes, each)
    else:
        needed = processes * each
    if gpus and needed > len(gpus):
        raise CrystalError(
            f"This takes {needed} GPUs and {len(gpus)} can be seen; lower --nproc, or make more visible "
            "(CUDA_VISIBLE_DEVICES)."
        )


def _notes(target: Target, gpus: Sequence[Gpu]) -> list[str]:
    preset = target.preset
    notes = [f"{target.note}."] if target.note else []
    if preset is None:
        return notes
    if preset.notes:
        notes.append(f"{preset.name}: {preset.notes}.")
    if not gpus and (preset.params_b or 0) > CPU_PARAMS_B:
        notes.append(f"No GPU can be seen: on CPUs, {preset.params_b:g} billion weights take days.")
    if preset.trust_remote_code:
        notes.append(f"This runs code from the repository {preset.model}.")
    return notes


def _model_args(target: Target, adapter: str, plan: _Plan, wishes: Wishes) -> dict[str, str]:
    if adapter == BACKENDS["api"]:
        return _api_args(target, wishes)
    if adapter == BACKENDS["vllm"]:
        return _vllm_args(target, plan, wishes)
    arguments = {"pretrained": target.model}
    if adapter == BACKENDS["hf"]:
        if target.preset:
            arguments["preset"] = target.preset.name
        if plan.gpus_each > 1:
            arguments["device_map"] = "auto"
    return arguments


def _api_args(target: Target, wishes: Wishes) -> dict[str, str]:
    arguments = {"model_version": target.model}
    if target.preset and target.preset.provider == "gemini":
        arguments["base_url"] = GEMINI_URL
    return arguments | {
        "num_concurrent": str(wishes.batch_size or API_CALLS),
        "timeout": str(API_TIMEOUT_S),
        "retry_backoff_s": str(API_BACKOFF_S),
    }


def _context(target: Target, wishes: Wishes) -> int | None:
    """The window of a model without a preset, as far as its files are here; None leaves it to the engine."""
    folder = local_folder(target.model, split_arguments(wishes.model_args, "--model-args").get("revision"))
    length = context_length(folder) if folder else None
    return min(length, VLLM_CONTEXT) if length else None


def _vllm_args(target: Target, plan: _Plan, wishes: Wishes) -> dict[str, str]:
    preset = target.preset
    arguments = {"model": target.model, "tensor_parallel_size": str(plan.gpus_each)}
    if plan.processes > 1:
        arguments["data_parallel_size"] = str(plan.processes // plan.gpus_each)
    # The adapter takes the larger of this and the task's budget, and trusts remote code unless told otherwise.
    arguments |= {"max_new_tokens": "1", "trust_remote_code": "False"}
    context = VLLM_CONTEXT if preset else _context(target, wishes)
    if context:
        arguments["max_model_len"] = str(context)
    if preset is None:
        return arguments
    if preset.trust_remote_code:
        arguments["trust_remote_code"] = "True"
    if preset.dtype:
        arguments["dtype"] = preset.dtype
    if preset.revision and preset.revision != "main":
        arguments["revision"] = preset.revision
    # Image limits stay away: the presets' are the checkpoints' own, and vLLM names them differently by family.
    return arguments


def _batch_size(target: Target, adapter: str, wishes: Wishes) -> list[str]:
    if adapter == BACKENDS["api"]:
        return []
    default = {BACKENDS["hf"]: HF_BATCH_SIZE, BACKENDS["vllm"]: VLLM_BATCH_SIZE}.get(adapter, 1)
    return ["--batch_size", str(wishes.batch_size or default)]


def _gen_kwargs(target: Target, wishes: Wishes) -> str:
    tokens = target.preset.tokens if target.preset else TASK_TOKENS
    own = {} if tokens == TASK_TOKENS else {"max_new_tokens": str(tokens)}
    return join_arguments({**own, **split_arguments(wishes.gen_kwargs, "--gen-kwargs")})


def _extra(extra: Sequence[str]) -> list[str]:
    if extra and not extra[0].startswith("-"):
        raise CrystalError(f"What is {extra[0]!r}? Options for lmms-eval go after `--`, as in `-- --offset 100`.")
    for option in extra:
        # argparse takes the beginning of an option for the whole.
        name = option.split("=", 1)[0]
        if name.startswith("--") and len(name) > 2 and any(own.startswith(name) for own in OWN_OPTIONS):
            raise CrystalError(f"{option} is set by crystal-eval run itself; use its own options instead.")
        if holds_secret(option):
            # Not even its name is told: a value that stands alone is the secret.
            raise CrystalError(
                "A secret does not belong into a command, which every log shows; leave it out of the part after `--`."
            )
    return list(extra)


def _refuse_keys(arguments: Mapping[str, str], option: str) -> None:
    for name, value in arguments.items():
        if holds_secret(f"{name}={value}"):
            raise CrystalError(
                f"A secret does not belong into {option} ({name}), where every log shows it; set {KEY_VARIABLE} "
                "in the environment."
            )


def _refuse_other_model(arguments: Mapping[str, str], target: Target, adapter: str) -> None:
    name = "model" if adapter == BACKENDS["vllm"] else "pretrained"
    if adapter != BACKENDS["api"] and arguments.get(name, target.model) != target.model:
        raise CrystalError(
            f"{name}={arguments[name]} in --model-args is another model than {target.model}; give it in that one's "
            "place."
        )
