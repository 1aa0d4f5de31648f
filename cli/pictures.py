"""The images behind a report's items, from data that is at hand: nothing is downloaded for a thumbnail.

Set ``HF_HUB_OFFLINE`` before this module is imported: the hub clients read it then.
"""

import hashlib
from collections.abc import Mapping
from functools import cached_property

from ..crystal_task.checks import RawImages, with_images
from ..crystal_task.data import MINI_FILE
from ..crystal_task.plugin import MINI, TASK_NAMES
from ..crystal_task.settings import HUB_DATASET, Settings
from ..crystal_task.source import SPLIT, Location, locate
from ..errors import CrystalError, first_line
from ..reports.pictures import Pictures


class DatasetPictures:
    """Image files of a dataset by row, or by SHA-256 where the row holds another image than the record says."""

    def __init__(self, images: RawImages) -> None:
        self._images = images

    def __call__(self, doc_id: int, sha256: str) -> bytes | None:
        """The image file of an item; None where the dataset does not have it."""
        data = self._read(doc_id)
        if data is not None and hashlib.sha256(data).hexdigest() == sha256:
            return data
        return self._read(self._rows.get(sha256, -1))

    def _read(self, row: int) -> bytes | None:
        if not 0 <= row < len(self._images):
            return None
        try:
            return self._images.data(row)
        except (OSError, ValueError):
            return None

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        """Every row by the hash of its image: a pass over the data, made only where rows and records part."""
        return {self._images.sha256(row): row for row in range(len(self._images))}


def find_pictures(tasks: set[str], dataset: str) -> tuple[dict[str, Pictures], list[str]]:
    """The pictures of each task, and a sentence for each that has none.

    ``dataset`` is what a user named, else empty: then ``CRYSTAL_DATASET`` or the hub dataset in the cache is
    taken. Raises ``CrystalError`` where the named one cannot be opened.
    """
    found: dict[str, Pictures] = {}
    notes = []
    settings = Settings.from_environment()
    for task in sorted(tasks):
        name = dataset or (str(MINI_FILE) if task == MINI else settings.dataset)
        # Own items are not in the benchmark, so that it is no use to have it.
        if name == HUB_DATASET and not dataset and task not in TASK_NAMES:
            notes.append(f"No thumbnails for {task}: name the data that has its pictures with --dataset.")
            continue
        try:
            found[task] = DatasetPictures(_open(locate(name, settings.revision), name))
        except CrystalError as error:
            if dataset:
                # What it says of the variable holds for the option.
                raise CrystalError(str(error).replace("CRYSTAL_DATASET", "--dataset")) from error
            notes.append(f"No thumbnails for {task}: {error}")
    return found, notes


def _open(location: Location, name: str) -> RawImages:
    import datasets

    datasets.disable_progress_bars()
    try:
        if location.kwargs.get("load_from_disk"):
            splits = datasets.load_from_disk(location.path)
        else:
            splits = datasets.load_dataset(location.path, **location.kwargs)
        data = splits.get(SPLIT, splits) if isinstance(splits, dict) else splits
        if "image" not in data.features:
            raise CrystalError(
                f"{name} has no column image, so no thumbnails can be made of it; name with --dataset the data that "
                "the runs were made on."
            )
        return RawImages(with_images(data, location.folder))
    except CrystalError:
        raise
    except Exception as error:  # builders and hub clients raise whatever they like
        raise CrystalError(
            f"the dataset {name} is not at hand without the hub ({first_line(error)}); name a copy with --dataset."
        ) from error
