"""A synthetic dataset with the columns of the hub's, in any size."""

import io

import datasets
from PIL import Image

SOURCES = ("MathVision", "ScienceQA-IMG", "RealWorldQA", "MMVP", "PlotQA")


def rows(count: int) -> list[dict]:
    """Rows of the hub's schema; every third has ``choices``, every third ``options``."""
    made = []
    for index in range(count):
        letters = ["red", "green", "blue"]
        made.append(
            {
                "image": {"bytes": picture(index), "path": None},
                "question": f"What colour is square number {index}?",
                "answer": "B" if index % 3 else "green",
                "reference_steps": [
                    f"Picture {index} shows a single square.",
                    "The square fills the middle of the picture.",
                    f"Its colour is green, as on page {index}.",
                ],
                "choices": letters if index % 3 == 1 else [],
                "options": letters if index % 3 == 2 else [],
                "source": SOURCES[index % len(SOURCES)],
            }
        )
    return made


def picture(index: int) -> bytes:
    """A small PNG."""
    buffer = io.BytesIO()
    Image.new("RGB", (32, 32), (index % 256, 160, 90)).save(buffer, "PNG")
    return buffer.getvalue()


def dataset(count: int = 6, **columns: list) -> datasets.Dataset:
    """The rows as a dataset; ``columns`` replaces whole columns."""
    table = {name: [row[name] for row in rows(count)] for name in rows(1)[0]} | columns
    made = datasets.Dataset.from_dict(table)
    return made.cast_column("image", datasets.Image())
