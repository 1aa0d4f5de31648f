"""Sentences on the input of a report that name files: whole for its owner, without folders and contents in public."""

from __future__ import annotations

from pathlib import Path

#: Letters of a fault that a sentence shows; some quote what they could not read.
WHY_LENGTH = 120


class Note(str):
    """A sentence with whole paths; ``public`` is the same with the names of files only and without their contents.

    It is made of parts: words, files, and faults, whose texts may quote what could not be read.

    >>> note = Note(Path("/home/me/out/a_results.json"), " cannot be read", ValueError("what is red?"), ".")
    >>> print(note)
    /home/me/out/a_results.json cannot be read (ValueError: what is red?).
    >>> note.public
    'a_results.json cannot be read.'
    """

    public: str

    def __new__(cls, *parts: str | Path | Exception) -> Note:
        """Joins the parts, each in its two forms."""
        note = super().__new__(cls, "".join(map(_whole, parts)))
        note.public = "".join(map(_public, parts))
        return note


def public_text(note: str) -> str:
    """A note as everyone may read it."""
    return note.public if isinstance(note, Note) else note


def _whole(part: str | Path | Exception) -> str:
    if not isinstance(part, Exception):
        return str(part)
    words = f"{type(part).__name__}: {part}"
    return f" ({words if len(words) <= WHY_LENGTH else f'{words[:WHY_LENGTH]}...'})"


def _public(part: str | Path | Exception) -> str:
    if isinstance(part, Path):
        return part.name
    return "" if isinstance(part, Exception) else part
