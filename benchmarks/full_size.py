"""A synthetic dataset of the benchmark's size through the real ``lmms-eval`` command: its time, memory and embeddings.

    python -m lmms_eval_crystal.benchmarks.full_size

Runs it twice, with an empty cache and with cached references, from parquet and from a ``save_to_disk`` folder in turn.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import datasets
import typer
from PIL import Image
from rich.console import Console
from rich.table import Table

from ..crystal_task.item import SOURCES
from .items import SyntheticItem, make_items

ITEMS = 6372
#: A picture of this many pixels a side is as small as a dataset's thumbnail.
SIDE = 32
FORMS = ("parquet", "folder")
_BAR = re.compile(r"Embedding: 100%\|[^|]*\| (\d+)/\1 \[(?:(\d+):)?(\d+):(\d+)<")
console = Console()


@dataclass(frozen=True)
class FullRun:
    """What one run of the command took: seconds, bytes at the peak, and how many texts it embedded in what time."""

    exit_code: int
    output: str
    seconds: float
    processor_seconds: float
    peak_bytes: int
    embedded: int
    embedding_seconds: float

    @property
    def seconds_beside(self) -> float:
        """Seconds on the clock that were not embedding."""
        return self.seconds - self.embedding_seconds


def write_data(folder: Path, items: Sequence[SyntheticItem], form: str) -> Path:
    """The dataset in one of ``FORMS``, and beside it ``predictions.jsonl``; the path for ``CRYSTAL_DATASET``."""
    table = {
        "image": [{"bytes": _picture(index), "path": None} for index in range(len(items))],
        "question": [f"Which option is right in picture {index}?" for index in range(len(items))],
        "answer": ["B"] * len(items),
        "reference_steps": [item.reference for item in items],
        "choices": [["red", "green", "blue"]] * len(items),
        "source": [SOURCES[index % len(SOURCES)] for index in range(len(items))],
    }
    made = datasets.Dataset.from_dict(table).cast_column("image", datasets.Image())
    lines = [
        json.dumps({"doc_id": index, "response": json.dumps({"reasoning_steps": item.predicted, "answer": "B"})})
        for index, item in enumerate(items)
    ]
    (folder / "predictions.jsonl").write_text("\n".join(lines), "utf-8")
    if form == "parquet":
        made.to_parquet(folder / "data.parquet")
        return folder / "data.parquet"
    made.save_to_disk(folder / "data")
    return folder / "data"


def _picture(index: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (SIDE, SIDE), (index % 256, index // 256, 90)).save(buffer, "PNG")
    return buffer.getvalue()


def run_command(folder: Path, data: Path, encoder: str) -> FullRun:
    """The task ``crystal`` with ``crystal_replay`` over the data, its results and its cache in ``folder``."""
    command = [str(Path(sys.executable).with_name("lmms-eval")), "--tasks", "crystal", "--model", "crystal_replay"]
    command += ["--model_args", f"predictions={folder / 'predictions.jsonl'},model_name=synthetic"]
    command += ["--log_samples", "--output_path", str(folder / "out")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CRYSTAL_")}
    ours = {"CRYSTAL_DATASET": str(data), "CRYSTAL_ENCODER": encoder, "CRYSTAL_CACHE_DIR": str(folder / "cache")}
    # Copies of the data that the datasets library makes belong to this run too.
    private = {"HF_DATASETS_CACHE": str(folder / "datasets"), "HF_HUB_OFFLINE": "1"}
    with (folder / "log.txt").open("w+", encoding="utf-8", errors="replace") as log:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env={**kept, **private, **ours}, stdout=log, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        output = log.read()
    texts, embedding_seconds = _embedded(output)
    return FullRun(
        exit_code=process.returncode,
        output=output,
        seconds=seconds,
        processor_seconds=usage.ru_utime + usage.ru_stime,
        # Linux counts in kilobytes.
        peak_bytes=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        embedded=texts,
        embedding_seconds=embedding_seconds,
    )


def _embedded(output: str) -> tuple[int, float]:
    """How many texts a run embedded, and in how many seconds, by its progress bars; their end is drawn twice."""
    bars: list[tuple[int, float]] = []
    for texts, hours, minutes, seconds in _BAR.findall(output):
        bar = (int(texts), 3600.0 * int(hours or 0) + 60 * int(minutes) + int(seconds))
        if bars and bars[-1][0] == bar[0]:
            bars.pop()
        bars.append(bar)
    return sum(texts for texts, _ in bars), sum(seconds for _, seconds in bars)


def main(
    count: Annotated[int, typer.Option("--items", min=2, help="Number of synthetic items.")] = ITEMS,
    encoder: Annotated[str, typer.Option(help="Preset, hub id or folder.")] = "minilm",
) -> None:
    """Runs the benchmark's size through lmms-eval, twice for each form of the data."""
    items = make_items(count)
    table = Table(title=f"lmms-eval --tasks crystal --model crystal_replay, {count:,} items", title_justify="left")
    for heading in ("data", "cache", "seconds", "beside embedding", "processor s", "peak GB", "texts embedded"):
        table.add_column(heading, justify="left" if heading in ("data", "cache") else "right")
    with tempfile.TemporaryDirectory() as name:
        for form in FORMS:
            folder = Path(name) / form
            folder.mkdir()
            data = write_data(folder, items, form)
            for cache in ("empty", "cached references"):
                done = run_command(folder, data, encoder)
                if done.exit_code or "Traceback" in done.output:
                    console.print(done.output)
                    raise typer.Exit(1)
                figures = [f"{done.seconds:.0f}", f"{done.seconds_beside:.0f}", f"{done.processor_seconds:.0f}"]
                table.add_row(form, cache, *figures, f"{done.peak_bytes / 1e9:.2f}", f"{done.embedded:,}")
                console.print(f"  {form}, {cache}: {done.seconds:.0f} s", style="dim")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
