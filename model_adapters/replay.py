"""``crystal_replay``: scores predictions that were made elsewhere, as if a model had just given them."""

from collections.abc import Mapping
from pathlib import Path

from datasets import Dataset
from loguru import logger as eval_logger

from ..crystal_task.prediction import Prediction, common_generation
from ..errors import CrystalError, first_few, stop_the_run
from .base import OfflineModel, refuse_unknown
from .predictions import read_predictions


class CrystalReplay(OfflineModel):
    """``--model crystal_replay --model_args predictions=PATH[,model_name=NAME]``.

    PATH is anything that ``read_predictions`` reads. It is read before the dataset is loaded, so a torn
    file stops the run at once. An item without a prediction is answered by nothing, a complete miss.
    The harness's ``--use_cache`` knows a file by its path only and serves what an older one said.
    """

    model_id = "crystal_replay"
    elsewhere = ""
    # How the predictions were made, as a generation signature; empty where their files do not say.
    replayed_generation: str

    @stop_the_run
    def __init__(self, predictions: object = None, model_name: object = None, **other: object):
        refuse_unknown(self.model_id, ("predictions", "model_name"), other)
        if predictions is None:
            raise CrystalError("crystal_replay needs --model_args predictions=PATH, a file or folder to score.")
        super().__init__(model_name or f"{self.model_id}-{Path(str(predictions)).stem}")
        self.source = str(predictions)
        self.predictions = read_predictions(self.source, progress=self.rank == 0)
        self.replayed_generation = common_generation(self.predictions.values())
        if self.rank == 0:
            eval_logger.info(f"crystal_replay read {len(self.predictions)} predictions from {self.source}.")

    @stop_the_run
    def begin(self, task: str, rows: Dataset, indices: set[int]) -> None:
        """Stop at a prediction for no item of ``rows``; count the items out loud that have none."""
        check_indices(self.predictions, len(rows), f"the dataset of {task}")
        missing = sorted(indices - self.predictions.keys())
        if missing:
            share = f" (rank {self.rank} of {self.world_size}, its share)" if self.world_size > 1 else ""
            eval_logger.warning(
                f"{task}: {len(missing)} of {len(indices)} items have no prediction in {self.source}"
                f"{share} and count as complete misses: {first_few(missing)}."
            )

    def respond(self, rows: Dataset, index: int) -> str:
        """The prediction for the item at ``index``, or an empty text."""
        prediction = self.predictions.get(index)
        return "" if prediction is None else prediction.response


class CrystalReplaySimple(CrystalReplay):
    """The same for ``--force_simple``."""

    is_simple = True


def check_indices(predictions: Mapping[int, Prediction], items: int, dataset: str) -> None:
    """Raise ``CrystalError`` if a prediction is for an item that a dataset of so many ``items`` does not have."""
    strays = sorted(index for index in predictions if index >= items)
    if strays:
        first = predictions[strays[0]]
        raise CrystalError(
            f"{first.where} is a prediction for item {strays[0]}, which {dataset} does not have: its {items} items "
            f"are 0 to {items - 1}. {len(strays)} of {len(predictions)} predictions are out of range; "
            "check that the file was made from this dataset."
        )
