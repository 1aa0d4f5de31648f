"""When the harness has written the results of a run.

It writes them after its ``evaluate`` has returned, and only logs where that fails. A journal that was put
away earlier would lose the responses of a run that is killed in between.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmms_eval.loggers.evaluation_tracker import EvaluationTracker
from loguru import logger

from ..errors import CrystalError

_waiting: _Waiting | None = None


def when_saved(action: Callable[[], None], anything: bool = True) -> None:
    """Calls ``action`` once, after the files of the run in progress are written whole; never where they are not.

    ``anything`` is False where the harness was entered from Python and hands its results back instead.
    """
    global _waiting
    forget()
    if anything:
        _waiting = _Waiting(action)
    else:
        action()


def forget() -> None:
    """Drops what waits for the files of a run that broke down before it wrote them; the next run's are not its own."""
    global _waiting
    if _waiting is not None:
        _waiting.stop()
    _waiting = None


class _Waiting:
    """Watches the harness's tracker until it has written all files of one run."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self._whole = True
        self._expected: set[str] = set()
        self._methods = EvaluationTracker.save_results_aggregated, EvaluationTracker.save_results_samples
        save_results, save_samples = self._methods

        def results_saved(tracker: Any, results: dict[str, Any], samples: Any, datetime_str: str) -> None:
            save_results(tracker, results=results, samples=samples, datetime_str=datetime_str)
            self._expected = set() if samples is None else set(results["configs"])
            self._saved(tracker, "results.json", None)

        def samples_saved(tracker: Any, task_name: str, samples: Any) -> None:
            save_samples(tracker, task_name=task_name, samples=samples)
            self._expected.discard(task_name)
            self._saved(tracker, f"samples_{task_name}.jsonl", len(samples))

        EvaluationTracker.save_results_aggregated = results_saved
        EvaluationTracker.save_results_samples = samples_saved

    def stop(self) -> None:
        """Leaves the tracker as it was found."""
        EvaluationTracker.save_results_aggregated, EvaluationTracker.save_results_samples = self._methods

    def _saved(self, tracker: Any, name: str, lines: int | None) -> None:
        if tracker.output_path and not _is_whole(tracker, name, lines):
            self._whole = False
            logger.warning(
                f"The harness did not write {name} whole; the same command replays the journal and tries it."
            )
        if self._expected:
            return
        self.stop()
        if self._whole:
            try:
                self._action()
            except CrystalError as error:
                logger.warning(str(error))


def _is_whole(tracker: Any, name: str, lines: int | None) -> bool:
    folder = Path(tracker.output_path) / tracker.general_config_tracker.model_name_sanitized
    file = folder / f"{getattr(tracker, 'date_id', '')}_{name}"
    try:
        with file.open("rb") as opened:
            count = sum(1 for _ in opened)
    except OSError:
        return False
    return count > 0 if lines is None else count == lines
