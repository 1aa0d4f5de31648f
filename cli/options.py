"""The arguments that ``run`` and ``check`` share, and the wishes that they make."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ..model_adapters.commands import Wishes
from ..model_adapters.targets import Target, find_target

OUT = Path("out")

Name = Annotated[str, typer.Argument(metavar="PRESET|HUB_ID", help="A preset, a hub id or a local folder.")]
Tasks = Annotated[str, typer.Option(help="Tasks of the harness, separated by commas.")]
Processes = Annotated[int | None, typer.Option(help="Processes; default: one a GPU.")]
Backend = Annotated[
    str | None,
    typer.Option(metavar="hf|vllm|api", help="What runs the model; or a model id of the harness, as qwen2_5_vl."),
]
ModelArguments = Annotated[
    str, typer.Option(metavar="K=V,...", help="More arguments of the model, as dtype=float16,revision=main.")
]
Out = Annotated[Path | None, typer.Option(help="Where results go; default: out/NAME.")]


def read_wishes(
    name: str, backend: str | None, out: Path | None, journal: Path | str | None = None, **more: Any
) -> tuple[Target, Wishes]:
    """The model of a name, and the wishes with their defaults filled in; ``more`` are fields of ``Wishes``.

    Raises ``CrystalError`` for a name that means no model.
    """
    target = find_target(name, backend)
    folder = out or OUT / target.name
    kept = journal or os.environ.get("CRYSTAL_JOURNAL", "").strip() or folder / "journal"
    return target, Wishes(backend=backend, out=folder, journal=str(kept), **more)
