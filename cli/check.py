"""``crystal-eval check``: what could end a run after hours of GPU time, asked in under two minutes before it starts."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from loguru import logger

from ..crystal_task import paper_prompt, source
from ..crystal_task.encoder import encoder_of
from ..crystal_task.plugin import PAPER, TASK_NAMES
from ..crystal_task.settings import HUB_DATASET, Settings
from ..errors import CrystalError
from ..metrics import StepEncoder
from ..model_adapters.commands import KEY_VARIABLE
from ..model_adapters.hardware import GIGABYTE, visible_gpus
from ..redaction import shown
from .check_item import NAME, check_one_item
from .check_model import check_model
from .check_subject import FROM_THE_HUB, PING_TIMEOUT_S, Check, State, Subject, hub_revision, offline
from .options import Backend, ModelArguments, Name, Out, Processes, Tasks, read_wishes
from .run import prepare

#: Results, samples and the journal of a run take less.
RESULTS_GB = 2.0


def run(
    name: Name,
    tasks: Tasks = "crystal",
    nproc: Processes = None,
    backend: Backend = None,
    model_args: ModelArguments = "",
    out: Out = None,
    full: Annotated[bool, typer.Option("--full", help="Fetch dataset and model too, however long it takes.")] = False,
) -> None:
    """Check what a run needs, before it takes hours.

    Looks at the dataset, the model, the encoder, the GPUs, the disk and the API key, and runs one item. A line a
    check: OK, WARN (the run may still be fine) or FAIL, with what to do; exits with 1 where one fails. Takes the
    options of the run that you mean to start; under two minutes without --full.

        crystal-eval check qwen2.5-vl-7b
        crystal-eval check runs/mine/checkpoint-500 --tasks crystal_mini --model-args dtype=bfloat16
    """
    target, wishes = read_wishes(name, backend, out, tasks=tasks, nproc=nproc, model_args=model_args)
    # Its remarks on the file system would stand between the lines.
    logger.disable("lmms_eval")
    subject = Subject(target, wishes, visible_gpus(), full)
    if target.note:
        print(f"Note: {target.note}.")
    failed = False
    for check in checks(subject):
        failed |= check.state == "FAIL"
        print(f"{check.state:<4}  {check.name:<8}  {check.message}", flush=True)
    if failed:
        raise typer.Exit(1)


def checks(subject: Subject) -> Iterator[Check]:
    """All checks in turn; the last, one item end to end, only where the others let it."""
    parts: list[tuple[str, Callable[[Subject], Check]]] = [("command", _command), ("dataset", _dataset)]
    parts += [("api", _api)] if _is_api(subject) else [("model", check_model), ("gpu", _gpu)]
    parts += [("encoder", _encoder), ("disk", _disk)]
    fit = True
    for name, part in parts:
        check = outcome(name, part, subject)
        fit &= check.state != "FAIL"
        yield check
    if fit:
        yield check_one_item(subject)
    else:
        yield Check(NAME, "WARN", "not run, since something above fails")


def outcome(name: str, part: Callable[[Subject], Check], subject: Subject) -> Check:
    """What a check finds; one that stops with a sentence has failed."""
    try:
        return part(subject)
    except CrystalError as error:
        return Check(name, "FAIL", str(error))


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
    if PAPER in subject.tasks:
        paper_prompt.load()
    if not any(task in FROM_THE_HUB for task in subject.tasks):
        return Check("dataset", "OK", f"{subject.wishes.tasks} needs no CRYSTAL dataset from the hub")
    location = source.locate(settings.dataset, settings.revision)
    if location.is_local or subject.full or offline():
        source.open_dataset(location, settings.dataset)
        return Check("dataset", "OK", f"{settings.dataset} opens")
    revision, problem = hub_revision(settings.dataset, settings.revision or None, "dataset")
    if problem:
        return Check(
            "dataset",
            "FAIL",
            f"{settings.dataset}: {problem}. Accept its terms at https://huggingface.co/datasets/{HUB_DATASET} and log "
            "in with `hf auth login`, or set CRYSTAL_DATASET to a local copy.",
        )
    return Check("dataset", "OK", f"{settings.dataset} may be read; revision {revision}")


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
    from transformers.utils.logging import disable_progress_bar

    wanted = Settings.from_environment().encoder
    names = dict.fromkeys(wanted or encoder_of(task) for task in subject.tasks if task in TASK_NAMES)
    if not names:
        return Check("encoder", "OK", f"{subject.wishes.tasks} needs none")
    # Its bar would stand between the lines.
    disable_progress_bar()
    for name in names:
        StepEncoder(name).encode(["The sign is red."])
    return Check("encoder", "OK", "; ".join(f"{name} loads and embeds" for name in names))


def _disk(subject: Subject) -> Check:
    from huggingface_hub.constants import HF_HUB_CACHE

    problems = []
    free = _free_gb(subject.wishes.out)
    if free < RESULTS_GB:
        problems.append(f"{free:.1f} GB free for results in {subject.wishes.out}; clear some, or set --out")
    preset = subject.target.preset
    if preset and not preset.is_api and not subject.weights.complete:
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
    given = command.model_args
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
        reason = shown(str(error))
        return Check("api", "FAIL", f"{client.base_url} does not answer ({reason}); check base_url and the network")
    name = given["model_version"]
    if name not in known:
        return Check("api", "WARN", f"{client.base_url} answers and does not list {name}; check the name")
    return Check("api", "OK", f"{client.base_url} answers and knows {name}")


def _free_gb(path: Path) -> float:
    """Free space where a path is, or will be, in GB."""
    folder = path.expanduser().resolve()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free / GIGABYTE
