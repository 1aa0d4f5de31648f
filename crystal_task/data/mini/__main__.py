"""``python -m lmms_eval_crystal.crystal_task.data.mini``: writes the shipped data set anew."""

from argparse import ArgumentParser
from pathlib import Path

from .. import MINI_FILE
from .make import write, write_pictures


def main() -> None:
    """Reads the command line and writes the data set, or only its pictures."""
    parser = ArgumentParser(prog="python -m lmms_eval_crystal.crystal_task.data.mini", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=MINI_FILE, help="the parquet file to write (default: the shipped one)"
    )
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="write the pictures only, as PNG files")
    arguments = parser.parse_args()
    if arguments.pictures:
        write_pictures(arguments.pictures)
        print(f"pictures: {arguments.pictures}")
    else:
        count = write(arguments.out)
        print(f"{count} items, {arguments.out.stat().st_size / 1e6:.2f} MB: {arguments.out}")


if __name__ == "__main__":
    main()
