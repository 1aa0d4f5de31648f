"""What our models share: what they refuse; and for those without weights also ranks and rows without images."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch
from accelerate import Accelerator
from datasets import Dataset, Image
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from loguru import logger as eval_logger

from .. import ranks
from ..errors import CrystalError, stop_the_run

# What the harness passes to every model, beside --model_args; nothing here depends on them.
HARNESS_ARGUMENTS = ("batch_size", "max_batch_size", "device")
# The column that tells an item of CRYSTAL from another benchmark's row.
STEPS_COLUMN = "reference_steps"


def refuse_unknown(model_id: str, known: Iterable[str], arguments: Mapping[str, object]) -> None:
    """Raise ``CrystalError`` if ``arguments`` holds a name that is neither known nor the harness's own.

    >>> refuse_unknown("crystal_replay", ["predictions"], {"batch_size": 1})
    """
    unknown = sorted(set(arguments) - set(known) - set(HARNESS_ARGUMENTS))
    if unknown:
        names = ", ".join(sorted(known))
        raise CrystalError(f"{model_id} has no argument {', '.join(unknown)} in --model_args; it knows {names}.")


def without_images(dataset: Dataset) -> Dataset:
    """The same rows without their images, since reading a row decodes every image in it."""
    return dataset.remove_columns([name for name, kind in dataset.features.items() if isinstance(kind, Image)])


class TextModel(lmms):
    """A model of the harness that writes one text per item and has nothing for the other kinds of requests.

    A subclass gives ``model_id``, the harness's id of it.
    """

    model_id: ClassVar[str]
    # Whether its runs keep a journal of responses though the user named no folder for it.
    keeps_journal: ClassVar[bool]

    @stop_the_run
    def loglikelihood(self, requests: list[Instance]) -> Any:
        """Stops the run: there are no likelihoods here."""
        raise self._no("likelihoods")

    @stop_the_run
    def generate_until_multi_round(self, requests: list[Instance]) -> Any:
        """Stops the run: there is no conversation here."""
        raise self._no("several rounds")

    def _no(self, what: str) -> CrystalError:
        return CrystalError(f"{self.model_id} writes one text per item; leave out the tasks that ask for {what}.")


class OfflineModel(TextModel):
    """A model that computes nothing: its answers come from the dataset or from a file.

    A subclass gives ``elsewhere`` and ``respond`` too. It runs in one process and, sharded by the harness,
    in several, on CPUs too.
    """

    is_simple = False
    # What is read or made up costs nothing to make again, and the file may have changed; so not when asked, either.
    keeps_journal = False
    # True for a stand-in whose answers are no model's; the generation signature says so.
    scripted = False
    # The answer to a row of another benchmark, which may be part of the same run.
    elsewhere: str

    def __init__(self, model_name: object) -> None:
        super().__init__()
        self.model_name = str(model_name)
        self.accelerator = Accelerator()
        self.device: torch.device = self.accelerator.device
        # As the harness counts ranks: without a GPU the accelerator takes each process of torchrun for the only one.
        self._rank = ranks.rank()
        self._world_size = ranks.world_size()

    @abstractmethod
    def respond(self, rows: Dataset, index: int) -> str:
        """The response to the item at ``index`` of ``rows``, the whole dataset without its images."""

    def begin(self, task: str, rows: Dataset, indices: set[int]) -> None:
        """Called once per task of CRYSTAL with the indices that this rank is asked for, before any response."""

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """One response per request, in order; chat and simple requests alike end in index, task and split."""
        indices: dict[tuple[str, str], set[int]] = {}
        for request in requests:
            index, task, split = request.args[-3:]
            asked = indices.setdefault((task, split), set())
            # Repeated only to keep all ranks equally busy; it never reaches scoring.
            if not request.metadata.get("__padding_only__"):
                asked.add(index)
        rows = {key: self._open(*key, asked) for key, asked in indices.items()}
        responses = []
        for request in requests:
            index, task, split = request.args[-3:]
            dataset = rows[task, split]
            responses.append(self.elsewhere if dataset is None else self.respond(dataset, index))
        return responses

    def _open(self, task: str, split: str, indices: set[int]) -> Dataset | None:
        dataset = self.task_dict[task][split]
        if STEPS_COLUMN not in dataset.column_names:
            eval_logger.warning(f"{self.model_id}: task {task} has no reference steps and gets no real answers.")
            return None
        rows = without_images(dataset)
        self.begin(task, rows, indices)
        return rows
