"""``crystal-eval train``: a model trained on its reasoning, from a configuration to a chosen checkpoint."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from .. import ranks
from ..errors import CrystalError
from .console import quiet_libraries

if TYPE_CHECKING:
    from ..training.checks import Ready
    from ..training.config import TrainConfig

SHIPPED = Path(__file__).parent.parent / "configs" / "training"
#: Of the files there, those that configure the launcher.
LAUNCHER = "accelerate_"
#: What the extra brings, by the names that are imported.
EXTRA = ("trl", "peft")


def _copy_configs(folder: Path | None) -> None:
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(SHIPPED.glob("*.yaml")):
            if (folder / file.name).exists():
                raise CrystalError(f"{folder / file.name} is there already; name another folder, or move it away.")
        for file in sorted(SHIPPED.glob("*.yaml")):
            print(f"Copied {shutil.copyfile(file, folder / file.name)}")
    except OSError as error:
        raise CrystalError(
            f"The configurations cannot go to {folder} ({error.strerror}); name another folder."
        ) from error
    raise typer.Exit


def run(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A YAML file, or one that ships: qwen2_5_vl_3b, internvl3_5_4b.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another value of a key, as phases.0.steps=50; repeatable."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Check everything, say what would run, and stop.")] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume/--fresh", help="Go on from the last checkpoint in the output folder, or start anew."),
    ] = True,
    copy_configs: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Copy the configurations that ship to FOLDER, to be edited, and stop.",
            callback=_copy_configs,
            is_eager=True,
        ),
    ] = None,
) -> None:
    """Train a vision-language model with GRPO on its answers and its reasoning steps.

    The reward counts the final answer and how well the steps match reference steps (CPR), at once or after a phase on
    answers alone (CPR-Curriculum). Needs the extra, `pip install 'lmms-eval-crystal[train]'`, and items with
    reference steps that are not CRYSTAL's own. Copy a configuration, edit its model, data and output, and check it,
    which takes seconds and loads no model:

        crystal-eval train --copy-configs configs
        crystal-eval train configs/qwen2_5_vl_3b.yaml --check
        crystal-eval train configs/qwen2_5_vl_3b.yaml

    One process uses one GPU. On several GPUs (gradient surgery needs plain data parallelism, as in accelerate_ddp.yaml;
    accelerate_zero3.yaml is for `gradient_surgery: false`):

        accelerate launch --config_file configs/accelerate_ddp.yaml -m lmms_eval_crystal train CONFIG
        torchrun --nproc-per-node 4 -m lmms_eval_crystal train CONFIG

    Started again after it was killed, the same command goes on from the last checkpoint. Then, before and after beside
    each other, on the held-out items and as figures:

        crystal-eval report out/qwen2_5_vl_3b
    """
    _need_extra()
    # torch reads it as it is imported; its remarks are on settings that trl makes.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    quiet_libraries()
    # Here, since the evaluation installs nothing that training needs.
    from ..training.checks import prepare, said_once
    from ..training.config import read_config

    with said_once():
        wanted = read_config(_find(config), settings or ())
        if check:
            _say_ready(wanted, prepare(wanted, resume))
            return
        from ..training.run import train

        try:
            folder = train(wanted, resume=resume)
        except KeyboardInterrupt:
            raise CrystalError(
                "You stopped the training; the same command, without --fresh, goes on from the last checkpoint."
            ) from None
    if ranks.is_main():
        print(f"Trained: {folder}; `crystal-eval report {folder}` shows before and after.")


def _need_extra() -> None:
    missing = [name for name in EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise CrystalError(
            f"Training needs {' and '.join(missing)}, not installed here; `pip install 'lmms-eval-crystal[train]'`."
        )


def _find(name: str) -> Path:
    """The configuration of that name: a file, or one that ships."""
    shipped = SHIPPED / f"{name.removesuffix('.yaml')}.yaml"
    is_shipped = "/" not in name and shipped.is_file() and not name.startswith(LAUNCHER)
    return shipped if is_shipped and not Path(name).exists() else Path(name)


def _say_ready(config: TrainConfig, ready: Ready) -> None:
    """What was checked, a line a thing."""
    if not ranks.is_main():
        return
    data, processes = ready.data, ranks.world_size()
    lora = "LoRA" if config.lora is not None else "all weights"
    surgery = "gradient surgery" if config.surgery else "no gradient surgery"
    lines = [
        ("method", f"{config.method}, {lora}, {surgery}, {config.dtype}"),
        ("model", config.model),
        ("data", f"{data.name}: {len(data.train)} items to train on, {len(data.validation)} held out"),
        ("steps", _lengths(ready)),
        ("validation", f"{len(data.validated)} items, every {config.validate_every} steps, encoder {ready.encoder}"),
    ]
    on = f"on {processes} process{'es' * (processes > 1)}"
    for number, phase in enumerate(config.phases, 1):
        prompts = phase.prompts_per_step(processes)
        passes = phase.steps * prompts / len(data.train)
        shown = f"{phase.steps} steps of {prompts} prompt{'s' * (prompts > 1)} x {phase.candidates} candidates {on}"
        lines.append((f"phase {number}", f"{shown}; {passes:.1f} passes over the items"))
    lines.append(("output", config.output))
    for name, line in lines:
        print(f"OK    {name:<10}  {line}")
    print("Not checked: whether model and batches fit into memory.")


def _lengths(ready: Ready) -> str:
    counts = [len(item.reference_steps) for item in ready.data.train]
    return f"{min(counts)} to {max(counts)} reference steps an item, median {median(counts):g}"
