"""``crystal_scripted``: a stand-in with a named behaviour, for demos and for checking the scorer. It is no model."""

from datasets import Dataset
from loguru import logger as eval_logger

from ..crystal_task.item import Item
from ..errors import CrystalError, stop_the_run
from .base import STEPS_COLUMN, OfflineModel, refuse_unknown
from .personas import PERSONAS, write

# The seed that the paper's evaluation states, as everywhere in this package.
SEED = 42


class CrystalScripted(OfflineModel):
    """``--model crystal_scripted --model_args persona=oracle[,model_name=NAME][,seed=42]``.

    It reads the reference steps and the right answer from the dataset and makes its persona's response
    from them, so its scores say something about the scorer and nothing about any model.
    """

    model_id = "crystal_scripted"
    scripted = True
    elsewhere = "This text was written by crystal_scripted, a scripted stand-in that is no model."

    @stop_the_run
    def __init__(self, persona: object = None, model_name: object = None, seed: object = SEED, **other: object):
        refuse_unknown(self.model_id, ("persona", "model_name", "seed"), other)
        self.persona = _known_persona(persona)
        self.seed = _whole_number(seed)
        # The dataset that was asked for last, and all reference steps in it.
        self._rows: Dataset | None = None
        self._steps: list[str] = []
        super().__init__(model_name or f"{self.model_id}-{self.persona}")
        if self.rank == 0:
            eval_logger.warning(
                f"crystal_scripted is a scripted stand-in and no model: persona {self.persona} reads the references, "
                "so these scores check the scorer and say nothing about any model."
            )

    def respond(self, rows: Dataset, index: int) -> str:
        """The persona's response to the item at ``index``."""
        if rows is not self._rows:
            self._rows = rows
            self._steps = [
                step for steps in rows.select_columns([STEPS_COLUMN]).to_dict()[STEPS_COLUMN] for step in steps or ()
            ]
        return write(self.persona, Item.from_row(rows[index], index), self.seed, self._steps)


class CrystalScriptedSimple(CrystalScripted):
    """The same for ``--force_simple``."""

    is_simple = True


def _known_persona(name: object) -> str:
    if str(name) not in PERSONAS:
        known = ", ".join(PERSONAS)
        if name is None:
            raise CrystalError(f"crystal_scripted needs --model_args persona=NAME; choose from {known}.")
        raise CrystalError(f"crystal_scripted has no persona {name}; choose persona= from {', '.join(PERSONAS)}.")
    return str(name)


def _whole_number(seed: object) -> int:
    # The harness turns true and false in --model_args into booleans, which are integers to Python.
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise CrystalError(f"crystal_scripted takes a whole number as seed=, not {seed}.")
    return seed
