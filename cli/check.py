"""``crystal-eval check``: what could end a run after hours of GPU time, asked in under two minutes before it starts."""

import io
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from loguru import logger

from ..crystal_task import paper_prompt, source
from ..crystal_task.settings import HUB_DATASET, Settings
from ..errors import CrystalError
from ..metrics import StepEncoder
from ..metrics.encoder import default_encoder
from ..model_adapters.commands import (
    BACKENDS,
    KEY_VARIABLE,
    Command,
    Target,
    Wishes,
    build_command,
    find_target,
)
from ..model_adapters.hardware import GIGABYTE, Gpu, visible_gpus
from .launch import masked, run_harness, secret_values
from .run import OUT, prepare

State = Literal["OK", "WARN", "FAIL"]
#: Results, samples and the journal of a run take less.
RESULTS_GB = 2.0
#: Seconds until the provider of an API counts as silent.
PING_TIMEOUT_S = 15
#: Seconds that the one item may take, so that all of it stays under two minutes.
ITEM_TIMEOUT_S = 75
#: Enough to show that text comes.
ITEM_TOKENS = 16
MINI = "crystal_mini"
#: One of these says that a folder holds weights.
WEIGHTS = ("*.safetensors", "*.bin")
#: One of these says that a folder holds an image processor.
PROCESSORS = ("preprocessor_config.json", "processor_config.json", "image_processor_config.json")


@dataclass(frozen=True)
class Check:
    """What one check found, and where it did not pass, what to do."""

    name: str
    state: State
    message: str


@dataclass(frozen=True)
class Subject:
    """What is checked: the model, the command that would run it, the tasks, and whether big downloads are fine."""

    target: Target
    wishes: Wishes
    gpus: Sequence[Gpu]
    full: bool

    @property
    def tasks(self) -> list[str]:
        return self.wishes.tasks.split(",")

    @property
    def command(self) -> Command:
        return build_command(self.target, self.wishes, self.gpus)

    @property
    def is_api(self) -> bool:
        return self.command.adapter == BACKENDS["api"]

    @property
    def is_local(self) -> bool:
        return Path(self.target.model).is_dir()


def run(
    name: Annotated[str, typer.Argument(metavar="PRESET|HUB_ID", help="A preset, a hub id or a local folder.")],
    tasks: Annotated[str, typer.Option(help="Tasks of the harness, separated by commas.")] = "crystal",
    nproc: Annotated[int | None, typer.Option(help="Processes; default: one a GPU.")] = None,
    backend: Annotated[
        str | None, typer.Option(metavar="hf|vllm|api", help="What runs the model; or a model id of the harness.")
    ] = None,
    model_args: Annotated[str, typer.Option(metavar="K=V,...", help="More arguments of the model.")] = "",
    out: Annotated[Path | None, typer.Option(help="Where results would go; default: out/NAME.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Fetch dataset and model too, however long it takes.")] = False,
) -> None:
    """Check what a run needs, before it takes hours.

    Looks at the dataset, the model, the encoder, the GPUs, the disk and the API key, and runs one item. A
    line a check; exits with 1 where one fails.

        crystal-eval check qwen2.5-vl-7b
    """
    target = find_target(name, backend)
    folder = out or OUT / target.name
    wishes = Wishes(
        tasks=tasks,
        nproc=nproc,
        backend=backend,
        model_args=model_args,
        out=folder,
        journal=str(folder / "journal"),
    )
    # Its remarks on the file system would stand between the lines.
    logger.disable("lmms_eval")
    subject = Subject(target, wishes, visible_gpus(), full)
    failed = False
    for check in checks(subject):
        failed |= check.state == "FAIL"
        print(f"{check.state:<4}  {check.name:<8}  {check.message}", flush=True)
    if failed:
        raise typer.Exit(1)


def checks(subject: Subject) -> Iterator[Check]:
    """All checks in turn; the last, one item end to end, only where the others let it."""
    parts: list[tuple[str, Callable[[Subject], Check]]] = [("command", _command), ("dataset", _dataset)]
    parts += [("api", _api)] if _is_api(subject) else [("model", _model), ("gpu", _gpu)]
    parts += [("encoder", _encoder), ("disk", _disk)]
    fit = True
    for name, part in parts:
        try:
            check = part(subject)
        except CrystalError as error:
            check = Check(name, "FAIL", str(error))
        fit &= check.state != "FAIL"
        yield check
    if fit:
        yield _one_item(subject)
    else:
        yield Check("one item", "WARN", "not run, since something above fails")


def _is_api(subject: Subject) -> bool:
    try:
        return subject.is_api
    except CrystalError:  # the check of the command says what is wrong with it
        return False


def _command(subject: Subject) -> Check:
    prepare(subject.target, subject.command)
    return Check("command", "OK", subject.command.text)


def _dataset(subject: Subject) -> Check:
    settings = Settings.from_environment()
    if "crystal_paper" in subject.tasks:
        paper_prompt.load()
    if not any(task in ("crystal", "crystal_paper") for task in subject.tasks):
        return Check("dataset", "OK", f"{subject.wishes.tasks} needs no CRYSTAL dataset from the hub")
    location = source.locate(settings.dataset, settings.revision)
    if location.is_local or subject.full or _offline():
        source.open_dataset(location, settings.dataset)
        return Check("dataset", "OK", f"{settings.dataset} opens")
    revision, problem = _hub_revision(settings.dataset, settings.revision or None, "dataset")
    if problem:
        return Check(
            "dataset",
            "FAIL",
            f"{settings.dataset}: {problem}. Accept its terms at https://huggingface.co/datasets/{HUB_DATASET} and log "
            "in with `hf auth login`, or set CRYSTAL_DATASET to a local copy.",
        )
    return Check("dataset", "OK", f"{settings.dataset} may be read; revision {revision}")


def _model(subject: Subject) -> Check:
    model = subject.target.model
    if subject.is_local:
        return _folder(Path(model))
    revision = subject.target.preset.revision if subject.target.preset else None
    cached = _cached(model, revision)
    if _offline():
        if cached:
            return Check("model", "OK", f"{model} is in the hub cache (offline: HF_HUB_OFFLINE is set)")
        return Check(
            "model", "FAIL", f"{model} is not in the hub cache and HF_HUB_OFFLINE is set; unset it, or fetch it first."
        )
    commit, problem = _hub_revision(model, revision, "model")
    if problem:
        return Check(
            "model",
            "FAIL",
            f"{model}: {problem}. Check the spelling; if it is gated, accept its terms at https://huggingface.co/"
            f"{model} and log in with `hf auth login`.",
        )
    return Check("model", "OK", f"{model} may be read; revision {commit}; {'cached' if cached else 'not fetched yet'}")


def _folder(folder: Path) -> Check:
    if not (folder / "config.json").is_file():
        return Check("model", "FAIL", f"{folder} holds no config.json; give a folder of save_pretrained.")
    if not any(list(folder.glob(pattern)) for pattern in WEIGHTS):
        return Check("model", "FAIL", f"{folder} holds no weights (*.safetensors); copy the whole model.")
    if not any((folder / name).is_file() for name in PROCESSORS):
        return Check("model", "FAIL", f"{folder} holds no processor; save the model's processor into it too.")
    return Check("model", "OK", f"{folder} holds configuration, weights and processor")


def _gpu(subject: Subject) -> Check:
    preset, gpus = subject.target.preset, subject.gpus
    if not gpus:
        return Check("gpu", "WARN", "no GPU can be seen; the run goes on CPUs, which is for tiny models")
    each = preset.gpus_needed(min(gpu.total_gb for gpu in gpus)) if preset else 1
    free = min(gpu.free_gb for gpu in gpus) * each
    found = f"{len(gpus)} x {gpus[0].name}, {min(gpu.free_gb for gpu in gpus):.0f} GB free on each"
    if preset is None:
        return Check("gpu", "OK", f"{found}; what the model needs is not known")
    if free < preset.weights_gb:
        return Check("gpu", "FAIL", f"{found}; the weights alone take {preset.weights_gb:.0f} GB: free the GPUs first")
    state: State = "OK" if free >= preset.gpu_memory_gb else "WARN"
    return Check("gpu", state, f"{found}; about {preset.gpu_memory_gb:.0f} GB are needed on {each}")


def _encoder(subject: Subject) -> Check:
    settings = Settings.from_environment()
    default = "minilm" if subject.tasks == [MINI] else default_encoder()
    name = settings.encoder or default
    StepEncoder(name).encode(["The sign is red."])
    return Check("encoder", "OK", f"{name} loads and embeds")


def _disk(subject: Subject) -> Check:
    from huggingface_hub.constants import HF_HUB_CACHE

    problems = []
    free = _free_gb(subject.wishes.out)
    if free < RESULTS_GB:
        problems.append(f"{free:.1f} GB free for results in {subject.wishes.out}; clear some, or set --out")
    preset = subject.target.preset
    if preset and not preset.is_api and not _cached(preset.model, preset.revision):
        space = _free_gb(Path(HF_HUB_CACHE))
        if space < preset.weights_gb:
            problems.append(
                f"{space:.0f} GB free for {preset.weights_gb:.0f} GB of weights in {HF_HUB_CACHE}; set HF_HOME to a "
                "larger disk"
            )
    return Check("disk", "FAIL" if problems else "OK", "; ".join(problems) or f"{free:.0f} GB free for results")


def _api(subject: Subject) -> Check:
    import openai

    command = subject.command
    arguments = command.arguments[command.arguments.index("--model_args") + 1]
    given = dict(part.split("=", 1) for part in arguments.split(",") if "=" in part)
    url = given.get("base_url") or os.environ.get("OPENAI_API_BASE")
    key = os.environ.get(command.key_variable or KEY_VARIABLE)
    if not key:
        return Check("api", "WARN", "not asked, since there is no key")
    client = openai.OpenAI(api_key=key, base_url=url, timeout=PING_TIMEOUT_S, max_retries=0)
    try:
        known = {model.id.removeprefix("models/") for model in client.models.list()}
    except openai.AuthenticationError:
        return Check("api", "FAIL", f"{client.base_url} refuses the key in {command.key_variable}; put in a valid one")
    except openai.NotFoundError:
        return Check("api", "WARN", f"{client.base_url} does not list its models, so the name is not checked")
    except openai.OpenAIError as error:
        reason = masked(str(error).encode(), secret_values(os.environ)).decode("utf-8", "replace")
        return Check("api", "FAIL", f"{client.base_url} does not answer ({reason}); check base_url and the network")
    name = given["model_version"]
    if name not in known:
        return Check("api", "WARN", f"{client.base_url} answers and does not list {name}; check the name")
    return Check("api", "OK", f"{client.base_url} answers and knows {name}")


def _one_item(subject: Subject) -> Check:
    if not (subject.is_local or subject.is_api or subject.full or _cached_target(subject.target)):
        return Check("one item", "WARN", "not run, since the model is not fetched yet; --full does both")
    tasks = subject.wishes.tasks
    if not subject.full and not _data_is_near(subject.tasks):
        tasks = MINI
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crystal-check-") as folder:
        wishes = replace(
            subject.wishes,
            tasks=tasks,
            out=Path(folder),
            journal="off",
            limit=1,
            nproc=1,
            # An API gets its whole budget: hidden reasoning would use up a small one and leave no text.
            gen_kwargs="" if subject.is_api else f"max_new_tokens={ITEM_TOKENS}",
        )
        command = build_command(subject.target, wishes, subject.gpus)
        log = io.BytesIO()
        try:
            run_harness(command, Path(folder), tasks.split(","), log, timeout=None if subject.full else ITEM_TIMEOUT_S)
        except TimeoutError:
            return Check(
                "one item",
                "WARN",
                f"{tasks}: not done after {ITEM_TIMEOUT_S} s, which loading a large model may take; --full waits",
            )
        except CrystalError as error:
            return Check("one item", "FAIL", f"{tasks}: {_reason(log.getvalue()) or error}")
    return Check("one item", "OK", f"{tasks}: generated and scored in {time.monotonic() - started:.0f} s")


def _reason(log: bytes) -> str:
    """The last line of a log that tells of an error; empty where none does."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", log.decode("utf-8", "replace")).splitlines()
    errors = [line.strip() for line in lines if re.match(r"\s*(CRYSTAL: |\w*(Error|Exception)\b)", line)]
    return errors[-1][:300] if errors else ""


def _data_is_near(tasks: Sequence[str]) -> bool:
    """Whether no task of CRYSTAL has to fetch the dataset first."""
    if not any(task in ("crystal", "crystal_paper") for task in tasks):
        return True
    settings = Settings.from_environment()
    return _offline() or source.locate(settings.dataset, settings.revision).is_local


def _hub_revision(repository: str, revision: str | None, kind: str) -> tuple[str, str]:
    """The commit that the hub has for a repository, and what is in the way of reading it."""
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        api.auth_check(repository, repo_type=kind)
        info: Any = api.repo_info(repository, revision=revision, repo_type=kind, timeout=PING_TIMEOUT_S)
    except Exception as error:  # the hub client and the net raise whatever they like
        lines = str(error).strip().splitlines()
        return "", f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
    return str(info.sha)[:12], ""


def _cached(model: str, revision: str | None) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(model, "config.json", revision=revision), str)


def _cached_target(target: Target) -> bool:
    return not Path(target.model).is_dir() and _cached(target.model, target.preset.revision if target.preset else None)


def _offline() -> bool:
    from huggingface_hub.constants import is_offline_mode

    return bool(is_offline_mode())


def _free_gb(path: Path) -> float:
    """Free space where a path is, or will be, in GB."""
    folder = path.expanduser().resolve()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free / GIGABYTE
