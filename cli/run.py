"""``crystal-eval run``: a model by its name, evaluated by a command of the harness that is printed before it runs."""

import importlib.util
import os
from pathlib import Path
from typing import Annotated

import typer

from ..crystal_task.plugin import TASK_NAMES
from ..errors import CrystalError
from ..model_adapters.commands import BACKENDS, Command, build_command
from ..model_adapters.hardware import visible_gpus
from ..model_adapters.targets import Target
from ..reports.load import load_results
from .launch import run_harness
from .options import Backend, ModelArguments, Name, Out, Processes, Tasks, read_wishes
from .table import show


def run(
    context: typer.Context,
    name: Name,
    tasks: Tasks = "crystal",
    nproc: Processes = None,
    backend: Backend = None,
    limit: Annotated[float | None, typer.Option(help="Items a task, or a share below 1.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Items a batch; of an API, calls at once.")] = None,
    out: Out = None,
    model_args: ModelArguments = "",
    gen_kwargs: Annotated[
        str, typer.Option(metavar="K=V,...", help="More settings of generation, as max_new_tokens=8192.")
    ] = "",
    journal: Annotated[
        Path | None, typer.Option(help="Where responses are kept as they come; default: OUT/journal.")
    ] = None,
    no_journal: Annotated[bool, typer.Option("--no-journal", help="Keep none; a killed run starts anew.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command and stop.")] = False,
) -> None:
    """Evaluate a model: print the harness's command, run it, and end with the table of its results.

    Takes a preset (see `crystal-eval models`), a hub id or a local folder. Exits with 1 where the run failed.
    Started again after it was killed, the same command goes on where it stopped. Further options of
    lmms-eval go after `--`. A first try, a checkpoint of your own, a large model, and a server of your own:

        crystal-eval run qwen2.5-vl-7b --limit 100 -- --offset 200
        crystal-eval run runs/mine/checkpoint-500 --tasks crystal,mmmu_val --nproc 4
        crystal-eval run qwen3-vl-32b --backend vllm --dry-run
        crystal-eval run NAME --backend api --model-args base_url=http://localhost:8000/v1
    """
    target, wishes = read_wishes(
        name,
        backend,
        out,
        "off" if no_journal else journal,
        tasks=tasks,
        nproc=nproc,
        limit=limit,
        batch_size=batch_size,
        model_args=model_args,
        gen_kwargs=gen_kwargs,
        extra=context.args,
    )
    folder = wishes.out
    # Asking for the GPUs takes seconds, and an API model needs none.
    gpus = () if target.preset and target.preset.is_api else visible_gpus()
    command = build_command(target, wishes, gpus)
    for note in command.notes:
        print(f"Note: {note}")
    print(command.text, flush=True)
    if dry_run:
        return
    prepare(target, command)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CrystalError(
            f"The results cannot go to {folder} ({error.strerror}); choose another place by --out."
        ) from error
    # Patterns, tags and files of tasks go by other names in the results, which the harness writes for all or for none.
    wanted = [task for task in tasks.split(",") if task in TASK_NAMES]
    try:
        results = run_harness(command, folder, wanted)
    except KeyboardInterrupt:
        kept = "; the same command goes on where it stopped" if command.resumes else ""
        raise CrystalError(f"You stopped the run{kept}.") from None
    if wanted:
        show(load_results(results))
    print(f"Results and samples: {', '.join(sorted({str(file.parent) for file in results}))}")


def prepare(target: Target, command: Command) -> None:
    """Raises ``CrystalError`` where the run could only fail: vLLM or the API key is missing."""
    if command.adapter == BACKENDS["vllm"] and importlib.util.find_spec("vllm") is None:
        only = target.preset and target.preset.adapter == command.adapter
        instead = "no other adapter here runs this model" if only else "or leave out --backend vllm"
        raise CrystalError(f"vLLM is not installed here; `pip install vllm`, {instead}.")
    if command.key_variable and not os.environ.get(command.key_variable):
        raise CrystalError(
            f"{target.name} is called over an API and {command.key_variable} is not set; put your key there (any text "
            "for a local server that asks for none)."
        )
