"""Files that are whole or not there: written aside, then renamed."""

import os
from pathlib import Path

from ..errors import CrystalError


def write_whole(path: Path, content: str | bytes) -> Path:
    """Writes a file, UTF-8 where it is text, in the place of one that is there; returns its path.

    Raises ``CrystalError`` where the folder cannot be made or written.
    """
    make_folder(path.parent)
    # Two processes may write the same report.
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        aside.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)
        aside.replace(path)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        aside.unlink(missing_ok=True)
    return path


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it. Raises ``CrystalError`` where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error


def not_written(path: Path, error: OSError) -> CrystalError:
    """What is said where a file or folder cannot be written."""
    return CrystalError(f"{path} cannot be written ({error.strerror or error}); name another place with -o.")
