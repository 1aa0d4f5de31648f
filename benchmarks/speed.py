"""How fast scoring is beside crystal-metrics, in one run on one machine with one encoder; prints tables.

python -m lmms_eval_crystal.benchmarks.speed --items 1000
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import psutil
import torch
import typer
from rich.console import Console
from rich.table import Table

from ..metrics.sweep import PAPER_TAUS
from .contestants import ForwardClock, Ours, Theirs, Timed, differing, timed, warm_up
from .items import SyntheticItem, make_items

#: Sizes at which growth is measured; the last is the benchmark's.
SIZES = (100, 1000, 6372)
console = Console()


@dataclass(frozen=True)
class Line:
    """One measured way of scoring: so many items, in the best of the rounds."""

    name: str
    items: int
    best: Timed

    @property
    def rate(self) -> float:
        """Items per second."""
        return self.items / self.best.seconds


class Stopwatch:
    """Times ways of scoring in rounds; of each way the best round counts, as what else the machine does only adds."""

    def __init__(self, count: int) -> None:
        self.lines: dict[str, Line] = {}
        self._count = count

    def time(self, name: str, action: Callable[[], Any], clock: ForwardClock) -> Any:
        """What the action returns; how long it took is kept under the name."""
        result, taken = timed(action, clock)
        before = self.lines.get(name)
        if before is None or taken.seconds < before.best.seconds:
            self.lines[name] = Line(name, self._count, taken)
        console.print(f"  {name}: {taken.seconds:.1f} s", style="dim")
        return result

    def ratio(self, fast: str, slow: str) -> float:
        """How many times as fast one way is as another."""
        return self.lines[slow].best.seconds / self.lines[fast].best.seconds


def side_by_side(ours: Ours, theirs: Theirs, items: Sequence[SyntheticItem], rounds: int) -> tuple[Stopwatch, int]:
    """All ways of scoring once, the same items; and how many items differ by rounding alone."""
    watch, different = Stopwatch(len(items)), 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            rows = watch.time("crystal-metrics", partial(theirs.dataset, items), theirs.clock)
            for name, action in {
                "score_items": partial(ours.items, items),
                "table, empty cache": partial(ours.table, items, Path(one)),
                "table, cached references": partial(ours.table, items, Path(one)),
            }.items():
                scores = watch.time(name, action, ours.clock)
                different = max(different, differing(scores, rows, ours.encoder, items))
            watch.time("whole run, empty cache", partial(ours.run, items, Path(other)), ours.clock)
            watch.time("whole run, cached references", partial(ours.run, items, Path(other)), ours.clock)
    return watch, different


def sweeps(ours: Ours, theirs: Theirs, items: Sequence[SyntheticItem]) -> Stopwatch:
    """Five thresholds: five runs of theirs, one pass of ours, with an empty cache and with cached references."""
    watch = Stopwatch(len(items))
    runs = watch.time(
        "crystal-metrics, five runs", lambda: [theirs.dataset(items, tau) for tau in PAPER_TAUS], theirs.clock
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in ("sweep, empty cache", "sweep, cached references"):
            scores = watch.time(name, partial(ours.sweep, items, Path(folder), PAPER_TAUS), ours.clock)
            for place, rows in enumerate(runs):
                differing([each[place] for each in scores], rows, ours.encoder, items)
    return watch


def growth(ours: Ours, sizes: Sequence[int], rounds: int) -> list[Line]:
    """Whole runs with an empty cache, by number of items; nothing is stubbed."""
    lines: list[Line] = []
    for size in sizes:
        watch, items = Stopwatch(size), make_items(size)
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                watch.time(f"{size:,} items", partial(ours.run, items, Path(folder)), ours.clock)
        lines += watch.lines.values()
    return lines


def table_of(title: str, lines: Sequence[Line], against: Line) -> Table:
    """The lines as a table, with how many times as fast as ``against`` each is, on the clock and in processor time.

    The last columns are the time beside the encoder's forward passes: its share, and milliseconds an item.
    """
    table = Table(title=title, title_justify="left")
    for heading in ("", "seconds", "items/s", "times as fast", "processor s", "times", "beside forward", "ms/item"):
        table.add_column(heading, justify="right" if heading else "left")
    for line in lines:
        beside = line.best.seconds - line.best.forward
        table.add_row(
            line.name,
            f"{line.best.seconds:.2f}",
            f"{line.rate:.1f}",
            f"{line.rate / against.rate:.2f}",
            f"{line.best.processor:.2f}",
            f"{against.best.processor / against.items / (line.best.processor / line.items):.2f}",
            f"{line.best.share_beside:.1%}",
            f"{1000 * beside / line.items:.2f}",
        )
    return table


def machine(device: str) -> str:
    """What the figures were measured on."""
    gpu = torch.cuda.get_device_name() if device.startswith("cuda") else "no GPU used"
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    packages = ("torch", "transformers", "sentence-transformers", "crystal-metrics")
    return (
        f"{_processor()}, {psutil.cpu_count()} cores, {torch.get_num_threads()} threads, {gpu}, load {load}; "
        f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in packages)
    )


def _processor() -> str:
    try:
        names = [
            line.partition(":")[2] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
        ]
    except OSError:
        names = []
    return names[0].strip() if names else platform.processor() or platform.machine()


def main(
    count: Annotated[int, typer.Option("--items", min=2, help="Number of synthetic items.")] = 1000,
    encoder: Annotated[str, typer.Option(help="Preset, hub id or folder, for both sides.")] = "minilm",
    device: Annotated[str, typer.Option(help="Torch device; the GPU where there is one.")] = "",
    rounds: Annotated[int, typer.Option(min=1, help="Times that each is measured; the best counts.")] = 1,
    with_sweep: Annotated[bool, typer.Option("--sweep/--no-sweep", help="The sweep over five thresholds.")] = True,
    with_growth: Annotated[bool, typer.Option("--growth/--no-growth", help="100, 1,000 and 6,372 items.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the figures to this JSON file.")] = None,
) -> None:
    """Measures ours and crystal-metrics side by side."""
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    items, described = make_items(count), machine(device)
    ours, theirs = Ours(encoder, device), Theirs(encoder, device)
    warm_up(ours, theirs, items)
    watch, different = side_by_side(ours, theirs, items, rounds)
    measured = {"scoring": list(watch.lines.values())}
    against = {"scoring": watch.lines["crystal-metrics"]}
    if with_sweep:
        swept = sweeps(ours, theirs, items)
        measured["five thresholds"] = list(swept.lines.values())
        against["five thresholds"] = swept.lines["crystal-metrics, five runs"]
    if with_growth:
        measured["growth, whole run with an empty cache"] = growth(ours, SIZES, rounds)
        against["growth, whole run with an empty cache"] = measured["growth, whole run with an empty cache"][1]
    steps = [sum(len(getattr(item, side)) for item in items) / count for side in ("reference", "predicted")]
    console.print(f"\n{described}")
    console.print(
        f"Encoder {ours.encoder.signature}; {count:,} items of {steps[0]:.1f} reference and {steps[1]:.1f} predicted "
        f"steps; scores equal to 1e-6, but for {different} items in which rounding decides."
    )
    for title, lines in measured.items():
        console.print(table_of(title, lines, against[title]))
    if output:
        content = {
            "machine": described,
            "encoder": ours.encoder.signature,
            "lines": {title: [_plain(line) for line in lines] for title, lines in measured.items()},
        }
        output.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def _plain(line: Line) -> dict[str, Any]:
    return {
        "name": line.name,
        "items": line.items,
        "seconds": round(line.best.seconds, 3),
        "forward_seconds": round(line.best.forward, 3),
        "processor_seconds": round(line.best.processor, 3),
        "items_per_second": round(line.rate, 2),
    }


if __name__ == "__main__":
    typer.run(main)
