"""Files that are whole or not there: written aside, then renamed."""

import os
import tempfile
from pathlib import Path

from ..errors import CrystalError


def write_whole(path: Path, content: str | bytes) -> Path:
    """Writes a file, UTF-8 where it is text, in the place of one that is there; returns its path.

    Raises ``CrystalError`` where the folder cannot be made or written.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            # Files made aside are private to their user; these are results.
            os.chmod(aside, 0o666 & ~_umask())
            os.replace(aside, path)
        except BaseException:
            os.unlink(aside)
            raise
    except OSError as error:
        raise CrystalError(
            f"{path} cannot be written ({error.strerror or error}); name another place with -o."
        ) from error
    return path


def _umask() -> int:
    """What the user's new files are not to allow; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
