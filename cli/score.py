"""``crystal-eval score``: predictions that exist already, scored without the harness."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..reports.load import load_results
from ..reports.plain import printable
from .console import quiet_libraries
from .table import show


class Parser(str, Enum):
    """Whose parser reads the texts."""

    ours = "ours"
    released = "released"


def run(
    predictions: Annotated[
        list[Path],
        typer.Argument(
            metavar="PREDICTIONS",
            help="Files or folders, one a model: INDEX.json files, a JSON object keyed by id, JSON Lines, samples or "
            "whole output folders of lmms-eval.",
        ),
    ],
    references: Annotated[
        str,
        typer.Option(
            metavar="DATA",
            help="A hub id, a save_to_disk folder, parquet or JSONL, `crystal_mini`, `crystal` (the benchmark), or a "
            "JSON object of references by id. Samples of this package carry their own.",
        ),
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the model, if it is one; default: that of its file.")] = "",
    encoder: Annotated[str, typer.Option(help="Preset (distilroberta, minilm), hub id or folder.")] = "",
    tau: Annotated[float | None, typer.Option(help="Threshold of similarity; default 0.35.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Weight of order in ordered_f1; default 0.3.")] = None,
    parse: Annotated[
        Parser | None, typer.Option(help="How texts are read; `released` as the authors' script does. Default: ours.")
    ] = None,
    out: Annotated[Path, typer.Option("--output", "-o", help="Where results and samples go.")] = Path("out/scored"),
) -> None:
    """Score predictions that exist already, without a model and without the harness.

    Writes the samples and results that lmms-eval would have written, and ends with their table. Steps and answer
    that come as fields are taken as they are, texts are parsed. A question is used for answers where the references
    or else the predictions supply it; each record says which. An item without a prediction is a complete miss.

        crystal-eval score predictions/my-model --references waybarrios/CRYSTAL

        crystal-eval score my-model.json --references references.json

    Runs are scored anew without a new generation, each with its own name and signature. What is not given stays as
    it was:

        crystal-eval score out --encoder distilroberta --tau 0.4 -o out/rescored
    """
    quiet_libraries()
    # Here, since it loads the datasets library, which other commands need not wait for.
    from ..crystal_task.offline import Job, Overrides, notes_on, score_all
    from ..crystal_task.references import load_references
    from ..crystal_task.result_files import check_folder
    from ..crystal_task.settings import Settings
    from ..metrics.encoder import check_encoder
    from ..model_adapters.prediction_sets import find_sets

    named = encoder or Settings.from_environment().encoder
    if named:
        check_encoder(named)
    overrides = Overrides(encoder, tau, alpha, parse.value if parse else "")
    check_folder(out)
    given = load_references(references) if references else None
    jobs = []
    for predicted in find_sets(predictions, given, name, apart=out):
        against = given or predicted.references
        assert against, "predictions that carry no references are refused where they are read"
        jobs.append(Job.plan(predicted, against, overrides))
        if jobs[-1].rules.encoder != named:
            named = jobs[-1].rules.encoder
            check_encoder(named)
        for note in notes_on(predicted, jobs[-1].references):
            print(printable(f"Note: {note}"), flush=True)
    results = score_all(jobs, out)
    show(load_results(results))
    print(printable(f"Results and samples: {', '.join(dict.fromkeys(str(file.parent) for file in results))}"))
