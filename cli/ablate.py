"""``crystal-eval ablate``: do the models keep their places with another encoder, another threshold, another prompt?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..crystal_task.settings import embeddings_folder
from ..errors import CrystalError
from ..metrics.sweep import PAPER_TAUS
from ..reports.chains import cohorts
from ..reports.encoders import common_encoder, open_encoders, own_encoder
from ..reports.load import find_results
from ..reports.writing import write_whole
from .console import quiet_libraries
from .reading import encoder_device, read_study, show

if TYPE_CHECKING:
    from ..reports.ablation.measure import Ablation


def run(
    paths: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Output folders of lmms-eval, with --log_samples.")
    ],
    encoders: Annotated[
        str,
        typer.Option(help="Presets, hub ids or folders, separated by commas; without it the one the runs used."),
    ] = "",
    tau: Annotated[str, typer.Option(help="Thresholds, separated by commas.")] = ",".join(map(str, PAPER_TAUS)),
    folder: Annotated[Path, typer.Option("--output", "-o", help="Where tables and figures go.")] = Path("out/ablation"),
    limit: Annotated[
        int | None, typer.Option(min=1, help="Score so many items only, drawn at random, the same for all runs.")
    ] = None,
    device: Annotated[str, typer.Option(help="Device of the encoders; without it a GPU where there is one.")] = "",
    download: Annotated[bool, typer.Option("--download", help="Fetch encoders that are not on this machine.")] = False,
) -> None:
    """Score runs again with other encoders and thresholds, and see whether the ranking holds.

    Each encoder embeds each different step once, and all thresholds come from one matching. Writes
    ablation.csv, ablation.md and a figure (SVG and PNG) for each task:

        crystal-eval ablate out --encoders distilroberta,minilm,mpnet

        crystal-eval ablate out --tau 0.30,0.35,0.40 --limit 500

    Give runs of one model with several prompts (CRYSTAL_PROMPT_FILE) to see what the wording does.
    """
    quiet_libraries()
    # Here, since scipy and matplotlib would slow down all commands.
    from ..reports.ablation.measure import ablate
    from ..reports.ablation.tables import grids, sentences

    taus = thresholds(tau)
    names = list(dict.fromkeys(name.strip() for name in encoders.split(",") if name.strip()))
    # First of all, since reading a full run takes longer than finding out that an encoder is missing.
    names = names or common_encoder(find_results(paths).results)
    opened = open_encoders(names, encoder_device(device), download) if names else []
    study = read_study(paths)
    found, left_out = cohorts(study)
    opened = opened or open_encoders([own_encoder(found[0])], encoder_device(device), download)
    made = [ablate(cohort, opened, taus, limit, embeddings_folder(), progress=True) for cohort in found]
    written = _write(folder, made)
    for ablation in made:
        show(grids(ablation), sentences(ablation))
    show([], [*left_out, *study.notes, "Written: " + ", ".join(map(str, written))])


def thresholds(text: str) -> list[float]:
    """Thresholds from a list with commas, the lowest first. Raises ``CrystalError`` for what is none."""
    try:
        taus = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        taus = []
    if not taus or not all(-1 <= tau < 1 for tau in taus):
        raise CrystalError(
            f"--tau {text!r} is no list of thresholds: give numbers from -1 to below 1, such as 0.30,0.35,0.40."
        )
    return taus


def _write(folder: Path, made: list[Ablation]) -> list[Path]:
    from ..reports.ablation.figure import caption, draw
    from ..reports.ablation.tables import FIGURE, to_csv, to_markdown
    from ..reports.figures.render import to_png, to_svg

    names = ["ablation" if len(made) == 1 else f"ablation-{place + 1}" for place in range(len(made))]
    files = [write_whole(folder / "ablation.csv", to_csv(made))]
    sections = []
    for name, ablation in zip(names, made, strict=True):
        figure = draw(ablation)
        files.append(write_whole(folder / f"{name}.svg", to_svg(figure, FIGURE)))
        files.append(write_whole(folder / f"{name}.png", to_png(figure)))
        sections.append(to_markdown(ablation, f"{name}.svg", caption(ablation)))
    text = "# Ablation\n\n" + "\n".join(sections)
    return [write_whole(folder / "ablation.md", text), *files]
