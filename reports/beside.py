"""Items beside the page (``--items all``): scripts with their bodies, since a page from disk may load nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .inline import inline_json
from .pictures import Pictures, thumbnails
from .viewer import ItemReader, Shown, known_items
from .writing import write_whole

FOLDER = "items"
#: Items in one file: about a megabyte, which loads at once.
A_FILE = 100


def write_beside(
    reader: ItemReader, shown: Shown, place: int, folder: Path, at_hand: Pictures | None
) -> tuple[Shown, list[Path]]:
    """Rows of all items of the board at ``place``, and files with the bodies that the page does not carry.

    Rows stand in the order of the files, ``A_FILE`` in each, so that the page knows where a body is.
    """
    doc_ids = [int(doc_id) for doc_id in known_items(reader.board).index]
    rows, names, written = [], [], []
    for number, start in enumerate(range(0, len(doc_ids), A_FILE)):
        bodies = {}
        for doc_id in doc_ids[start : start + A_FILE]:
            rows.append(reader.row(doc_id))
            if doc_id not in shown.bodies:
                bodies[doc_id] = reader.body(doc_id)
        pictures = thumbnails([(doc_id, body["image"]) for doc_id, body in bodies.items()], at_hand) if at_hand else {}
        names.append(f"{FOLDER}/{place}-{number:03d}.js")
        script = f"crystalItems({inline_json(names[-1])},{inline_json(bodies)},{inline_json(pictures)});\n"
        written.append(write_whole(folder / names[-1], script))
    return replace(shown, rows=rows, files=tuple(names), a_file=A_FILE, left_out=0), written
