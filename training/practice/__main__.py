"""``python -m lmms_eval_crystal.training.practice OUT``: makes a practice folder."""

import argparse
from pathlib import Path

from ..quiet import quiet_libraries
from .making import SEED, make


def main() -> None:
    """The command line: a folder."""
    parser = argparse.ArgumentParser(
        description="Make picture questions and a tiny taught model to practise training on."
    )
    parser.add_argument("folder", type=Path, help="the folder to write")
    parser.add_argument("--seed", type=int, default=SEED, help="of the questions and the model")
    arguments = parser.parse_args()
    quiet_libraries()
    print(f"Made; next: OMP_NUM_THREADS=1 crystal-eval train {make(arguments.folder, arguments.seed)}")


if __name__ == "__main__":
    main()
