"""What happens around the steps of a phase: validations and checkpoints in their time, the log, and the bar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accelerate import PartialState
from tqdm import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .keeping import PREFIX, keep_last, mark_whole
from .records import Records
from .validation import Metrics

#: Of the log, what the bar shows.
SHOWN = ("reward", "kl")
#: Share of responses that are cut off above which a user should hear of it before training.
CUT = 0.1


class Bar:
    """The one bar of a run, over the steps of all its phases; shown by the main process."""

    def __init__(self, total: int) -> None:
        self._bar = tqdm(
            total=total, unit="step", dynamic_ncols=True, smoothing=0, disable=not PartialState().is_main_process
        )

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def at(self, steps: int, doing: str) -> None:
        """So many steps of all phases are done, and this is what comes now."""
        self._bar.set_description_str(doing, refresh=False)
        self._bar.set_postfix_str("", refresh=False)
        # Those of an earlier start took none of this one's time, which says how long the rest takes.
        self._bar.initial += steps - self._bar.n
        self._bar.n = steps
        self._bar.refresh()

    def advance(self, numbers: str) -> None:
        """One step more, with its numbers."""
        self._bar.set_postfix_str(numbers, refresh=False)
        self._bar.update()

    def note(self, text: str) -> None:
        """What is being done at this step."""
        self._bar.set_postfix_str(text)

    def say(self, sentence: str) -> None:
        """A line above the bar."""
        if not self._bar.disable:
            self._bar.write(sentence)


class PhaseCallback(TrainerCallback):
    """Has a phase validated and saved every ``every`` steps and at its end, and writes its log."""

    def __init__(self, records: Records, phase: int, every: int, keep: int, bar: Bar) -> None:
        self._records = records
        self._phase = phase
        self._every = every
        self._keep = keep
        self._bar = bar

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Validation comes before the checkpoint, which then knows whether it is the best so far."""
        if state.global_step % self._every == 0 or state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True
        return control

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """One line a step; what is logged of validations and of the whole has no loss, and goes elsewhere."""
        if not logs or "loss" not in logs:
            return
        shown = [f"{name} {logs[name]:.3g}" for name in SHOWN if isinstance(logs.get(name), float)]
        self._bar.advance(" ".join(shown))
        if state.is_world_process_zero:
            self._records.log({"phase": self._phase, "step": state.global_step, **logs})

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """The checkpoint counts once every process has written its part; only then older ones may go."""
        processes = PartialState()
        processes.wait_for_everyone()
        if processes.is_main_process:
            folder = Path(str(args.output_dir))
            mark_whole(folder / f"{PREFIX}{state.global_step}", processes.num_processes)
            keep_last(folder, self._keep, state.best_global_step)


def sentence(where: str, metrics: Metrics, items: int, seconds: float) -> str:
    """A validation as a line of the terminal."""
    return (
        f"{where}: accuracy {metrics['accuracy_strict']:.3f} strict ({metrics['accuracy']:.3f}), "
        f"Match F1 {metrics['match_f1']:.3f}, recall {metrics['recall']:.3f}, steps {metrics['steps']:.1f}, "
        f"format {metrics['format_valid']:.2f}, reward {metrics['reward']:.3f} ({items} items, {seconds:.0f} s)"
    )


def hints(metrics: Metrics, max_completion_length: int) -> list[str]:
    """What the model before training makes likely to come to nothing, with what to do about it."""
    said = []
    cut = metrics["truncated"] or 0.0
    if cut > CUT:
        said.append(
            f"Note: {cut:.0%} of these responses are cut off at max_completion_length {max_completion_length}, which "
            "loses their answers; raise it, unless the model never stops."
        )
    if not metrics["reward"]:
        said.append(
            "Note: none of these responses earns any reward, and GRPO strengthens only what some candidates do "
            "already; where that stays so, teach the model the JSON form first, or take one that follows instructions."
        )
    return said
