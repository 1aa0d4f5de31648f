"""``crystal-eval agreement``: do people agree with the matcher? Pairs to label, and what the labels say."""

from pathlib import Path
from typing import Annotated

import typer

from ..crystal_task.settings import embeddings_folder
from ..errors import CrystalError
from ..metrics import TAU
from ..metrics.aggregate import SEED
from ..reports.agreement.draw import ACCEPTED, BAND, draw_pairs, populate
from ..reports.agreement.files import (
    INSTRUCTIONS,
    KEY_ENDING,
    TEXT_ENDING,
    Key,
    annotator_columns,
    find_key,
    key_json,
    pairs_csv,
    read_key,
    read_labels,
    row_id,
)
from ..reports.agreement.measures import measure
from ..reports.agreement.tables import grids, sentences, to_json, to_markdown
from ..reports.chains import Cohort, cohorts, draw_items, read_cohort, signed_number
from ..reports.encoders import common_encoder, open_encoders, own_encoder
from ..reports.load import find_results
from ..reports.writing import write_whole
from .console import quiet_libraries
from .reading import encoder_device, read_study, show

app = typer.Typer(no_args_is_help=True, help="Label pairs of steps by hand, and measure the matcher by the labels.")


@app.command()
def sample(
    paths: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Output folders of lmms-eval, with --log_samples.")
    ],
    number: Annotated[int, typer.Option("--number", "-n", min=3, help="Pairs, a third for each band.")] = 100,
    accepted: Annotated[int, typer.Option(min=0, help="Further pairs, among those that the matcher accepted.")] = 50,
    output: Annotated[Path, typer.Option("--output", "-o", help="The CSV to label.")] = Path("pairs.csv"),
    encoder: Annotated[str, typer.Option(help="Preset, hub id or folder; without it the one the runs used.")] = "",
    tau: Annotated[
        float | None, typer.Option(min=-1, max=1, help="Threshold; without it the one the runs used.")
    ] = None,
    annotators: Annotated[int, typer.Option(min=1, max=9, help="Columns to label, one a person.")] = 2,
    items: Annotated[int, typer.Option(min=1, help="Draw from so many items at most, the same for all runs.")] = 300,
    seed: Annotated[int, typer.Option(help="Another seed draws other pairs.")] = SEED,
    device: Annotated[str, typer.Option(help="Device of the encoder; without it a GPU where there is one.")] = "",
    download: Annotated[bool, typer.Option("--download", help="Fetch an encoder that is not on this machine.")] = False,
) -> None:
    """Draw pairs of a predicted and a reference step of the same item, for people to label.

    A third of -n has a similarity below 0.20, a third from 0.20 to 0.50, a third above, as in the
    paper's study; --accepted more are drawn among the matcher's own pairs, with weights, to estimate
    its precision over all of them. Both are spread over models and sources. Writes the CSV without
    any score, instructions beside it (.txt), and the key with the scores (.key.json):

        crystal-eval agreement sample out -n 100 -o labels/pairs.csv
    """
    output = output if output.suffix == ".csv" else Path(f"{output}.csv")
    key_file = output.with_suffix(KEY_ENDING)
    text_file = output.with_suffix(TEXT_ENDING)
    for file in (output, key_file, text_file):
        if file.exists():
            raise CrystalError(f"{file} is there already and may hold labels or notes; name another file with -o.")
    quiet_libraries()
    names = [encoder] if encoder else common_encoder(find_results(paths).results)
    named = open_encoders(names, encoder_device(device), download, "--encoder") if names else []
    study = read_study(paths)
    found, notes = cohorts(study)
    cohort = found[0]
    [opened] = named or open_encoders([own_encoder(cohort)], encoder_device(device), download, "--encoder")
    threshold = _own_tau(cohort) if tau is None else tau
    doc_ids = draw_items(cohort.known, items, seed)
    chains = read_cohort(cohort, doc_ids, progress=True)
    population = populate(chains, opened, threshold, embeddings_folder(), progress=True)
    draws = draw_pairs(cohort, chains, population, number, accepted, seed)
    if not draws:
        raise CrystalError("None of the runs has a step that could be paired; give runs with usable responses.")
    key = Key(
        task=cohort.task,
        encoder=opened.signature,
        tau=threshold,
        seed=seed,
        items=len(doc_ids),
        of=cohort.of,
        scorers=tuple(dict.fromkeys(run.result.scorer for run in cohort.runs)),
        draws=tuple((row_id(draw, seed), draw) for draw in draws),
        scripted=tuple(run.label for run in cohort.runs if run.result.scripted),
    )
    columns = ", ".join(annotator_columns(annotators))
    text = INSTRUCTIONS.format(file=output.name, columns=columns, key=key_file.name)
    written = [
        write_whole(output, pairs_csv(key, annotators)),
        write_whole(text_file, text),
        write_whole(key_file, key_json(key)),
    ]
    show([], [*_drawn(key, number, accepted), *_left_out(found, notes), *study.notes, _files(written)])


@app.command()
def score(
    paths: Annotated[list[Path], typer.Argument(metavar="LABELS...", help="The labelled CSV, or one of each person.")],
    key_file: Annotated[
        Path | None, typer.Option("--key", help="The key; without it the one beside the labels.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where tables go; without it beside the labels.")
    ] = None,
) -> None:
    """Measure the matcher by people's labels, and people by each other.

    Prints agreement by band, precision, recall and Cohen's kappa with intervals, and writes them as
    agreement.json and agreement.md:

        crystal-eval agreement score labels/pairs.csv

        crystal-eval agreement score labels/anna.csv labels/ben.csv --key labels/pairs.key.json
    """
    for path in paths:
        if not path.is_file():
            raise CrystalError(f"{path} is no file; give the CSV that was labelled.")
    key = read_key(key_file or find_key(paths))
    annotators = read_labels(paths, dict(key.draws))
    agreement = measure(key, annotators)
    target = folder or paths[0].parent
    written = [
        write_whole(target / "agreement.json", to_json(key, annotators, agreement)),
        write_whole(target / "agreement.md", to_markdown(key, annotators, agreement)),
    ]
    show(grids(agreement), [*sentences(key, annotators, agreement), _files(written)])


def _own_tau(cohort: Cohort) -> float:
    """The threshold that most of the runs were scored with."""
    taus = [signed_number(run, "tau", TAU) for run in cohort.runs]
    return max(taus, key=taus.count)


def _drawn(key: Key, number: int, accepted: int) -> list[str]:
    kinds = [draw.kind for _, draw in key.draws]
    rows = len(dict(key.draws))
    said = [
        f"Drew {kinds.count(BAND)} pairs by band and {kinds.count(ACCEPTED)} accepted ones, in {rows} rows (equal "
        f"pairs of one question share a row), from {key.items:,} items of {key.task}."
    ]
    if kinds.count(BAND) < number or kinds.count(ACCEPTED) < accepted:
        said.append("There were no more pairs of some bands: the runs are few, small, or copy the reference.")
    return said


def _left_out(found: list[Cohort], notes: list[str]) -> list[str]:
    others = [f"{cohort.task} ({len(cohort.runs)} runs)" for cohort in found[1:]]
    return [*notes, *([f"Only one set of items is drawn from; left out: {', '.join(others)}."] if others else [])]


def _files(written: list[Path]) -> str:
    return "Written: " + ", ".join(map(str, written))
