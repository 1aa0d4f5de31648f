"""Embeddings on disk: found again, never wrong, and never a reason for a run to stop."""

import logging
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import EmbeddingTable
from lmms_eval_crystal.metrics.cache import EDITION, PROBES, EmbeddingCache
from lmms_eval_crystal.metrics.embeddings import PORTION

WIDTH = 8
TEXTS = [f"Step {number} of a chain" for number in range(300)]
NOBODY = 65534


class SeededEncoder:
    """Vectors that hang on the text alone, and a list of what was asked for."""

    cache_key = "some/encoder@1-cpu-float32"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.asked: list[str] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.asked += [text for text in texts if text not in PROBES]
        return np.stack([self.row(text) for text in texts])

    def row(self, text: str) -> np.ndarray:
        row = np.random.default_rng([self.seed, *text.encode("utf-8", "surrogatepass")]).standard_normal(WIDTH)
        return (row / np.linalg.norm(row)).astype(np.float32)


def embed(folder: Path, texts: list[str] = TEXTS, encoder: SeededEncoder | None = None) -> list[str]:
    """Embeds texts to be kept, as a run does, and checks every vector; what the encoder was asked for."""
    encoder = encoder or SeededEncoder()
    table = EmbeddingTable(encoder, folder)
    table.add(texts, keep=True)
    assert np.array_equal(table.rows(texts), np.stack([encoder.row(text) for text in texts]))
    return encoder.asked


def file_in(folder: Path) -> Path:
    [file] = folder.glob("*.sqlite")
    return file


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    assert sorted(embed(tmp_path)) == sorted(TEXTS)
    return tmp_path


@contextmanager
def warned(caplog: pytest.LogCaptureFixture, *parts: str) -> Iterator[None]:
    """One line for the user, with these parts."""
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        yield
    lines = [record.getMessage() for record in caplog.records if record.name.endswith("metrics.cache")]
    assert len(lines) == 1, lines
    assert "\n" not in lines[0]
    assert all(part in lines[0] for part in parts), lines


def test_what_was_embedded_once_is_not_embedded_by_a_later_run(filled):
    assert embed(filled) == []
    assert embed(filled, [*TEXTS, "A new step"]) == ["A new step"]
    assert embed(filled, ["A new step"]) == []


def test_texts_that_are_not_to_be_kept_are_neither_written_nor_looked_up(filled):
    encoder = SeededEncoder()
    table = EmbeddingTable(encoder, filled)
    table.add([TEXTS[0], "A predicted step"])
    assert len(encoder.asked) == 2
    assert embed(filled, ["A predicted step"]) == ["A predicted step"]


def test_steps_of_one_model_are_forgotten_and_references_are_not(tmp_path):
    encoder = SeededEncoder()
    table = EmbeddingTable(encoder, tmp_path)
    table.add(["a reference"], keep=True)
    table.add(["a reference", "a predicted step"])
    table.forget_passing()
    table.rows(["a reference", "a predicted step"])
    assert encoder.asked == ["a reference", "a predicted step", "a predicted step"]


@pytest.mark.parametrize("key", ["some/encoder@2-cpu-float32", "some/encoder@1-cuda-float32", "x/y@1-cpu-float16"])
def test_another_revision_device_or_precision_has_a_file_of_its_own(filled, key):
    other = SeededEncoder(seed=1)
    other.cache_key = key
    assert len(embed(filled, encoder=other)) == len(TEXTS)
    assert embed(filled) == []
    assert len(list(filled.glob("*.sqlite"))) == 2


def test_an_encoder_without_a_key_and_a_table_without_a_folder_keep_nothing(tmp_path):
    encoder = SeededEncoder()
    encoder.cache_key = ""
    EmbeddingTable(encoder, tmp_path).add(TEXTS, keep=True)
    EmbeddingTable(SeededEncoder()).add(TEXTS, keep=True)
    assert not list(tmp_path.iterdir())


def test_other_weights_under_the_same_name_are_noticed_and_the_file_is_made_anew(filled, caplog):
    with warned(caplog, "made anew", "an encoder that gives other"):
        assert len(embed(filled, encoder=SeededEncoder(seed=1))) == len(TEXTS)
    assert embed(filled, encoder=SeededEncoder(seed=1)) == []


def test_vectors_that_differ_by_rounding_are_the_same_encoder_s(filled):
    class Rounding(SeededEncoder):
        def encode(self, texts: list[str]) -> np.ndarray:
            return super().encode(texts) + np.float32(1e-7)

    encoder = Rounding()
    EmbeddingTable(encoder, filled).add(TEXTS, keep=True)
    assert encoder.asked == []


@pytest.mark.parametrize("content", [b"no database at all", b"SQLite format 3\0" + b"\xff" * 5000, b"\0" * 4096])
def test_a_file_that_is_no_database_is_made_anew(filled, caplog, content):
    file_in(filled).write_bytes(content)
    with warned(caplog, "made anew"):
        assert len(embed(filled)) == len(TEXTS)
    assert embed(filled) == []


def test_an_empty_file_is_filled(filled):
    file_in(filled).write_bytes(b"")
    assert len(embed(filled)) == len(TEXTS)
    assert embed(filled) == []


def test_a_file_of_another_version_or_of_another_program_is_made_anew(filled, caplog):
    for statement in (f"PRAGMA user_version = {EDITION + 1}", "PRAGMA application_id = 7"):
        with sqlite3.connect(file_in(filled)) as database:
            database.execute(statement)
        with warned(caplog, "made anew", "another version"):
            assert len(embed(filled)) == len(TEXTS)
        assert embed(filled) == []


ENDLESS = "SELECT * FROM (WITH RECURSIVE n(key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM n) SELECT key FROM n)"


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE embeddings", f"CREATE VIEW embeddings AS SELECT key, key vector, 1 checksum FROM ({ENDLESS})"],
        ["CREATE TRIGGER t AFTER INSERT ON embeddings BEGIN DELETE FROM embeddings; END"],
        ["ALTER TABLE embeddings RENAME COLUMN checksum TO other"],
    ],
    ids=["a view without an end", "a trigger", "another column"],
)
def test_a_file_that_declares_anything_else_is_made_anew_and_nothing_of_it_is_run(filled, caplog, statements):
    with sqlite3.connect(file_in(filled)) as database:
        for statement in statements:
            database.execute(statement)
    with warned(caplog, "made anew", "other tables"):
        assert len(embed(filled, [*TEXTS, "A new step"])) == len(TEXTS) + 1
    assert embed(filled) == []


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_file_that_is_cut_off_gives_no_wrong_vector_and_is_whole_again_after_a_run(filled, share):
    content = file_in(filled).read_bytes()
    file_in(filled).write_bytes(content[: int(len(content) * share)])
    embed(filled)
    assert embed(filled) == []


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_give_no_wrong_vector(filled, seed):
    """Anywhere: in the header, in a page's structure, in a vector."""
    rng = np.random.default_rng(seed)
    content = bytearray(file_in(filled).read_bytes())
    for place in rng.integers(len(content), size=rng.integers(1, 200)):
        content[place] ^= 1 << rng.integers(8)
    file_in(filled).write_bytes(content)
    embed(filled)
    embed(filled)


def test_a_vector_that_was_changed_in_place_is_embedded_and_written_again(filled):
    with sqlite3.connect(file_in(filled)) as database:
        database.execute("UPDATE embeddings SET vector = zeroblob(32) WHERE rowid = 100")
        database.execute("UPDATE embeddings SET vector = 'text' WHERE rowid = 101")
        database.execute("UPDATE embeddings SET vector = NULL WHERE rowid = 102")
    assert len(embed(filled)) == 3
    assert embed(filled) == []


def test_vectors_swapped_between_texts_are_noticed(filled):
    with sqlite3.connect(file_in(filled)) as database:
        rows = database.execute("SELECT rowid, vector, checksum FROM embeddings WHERE rowid IN (100, 101)").fetchall()
        for rowid, (_, vector, checksum) in zip((101, 100), rows, strict=True):
            update = "UPDATE embeddings SET vector = ?, checksum = ? WHERE rowid = ?"
            database.execute(update, (vector, checksum, rowid))
    assert len(embed(filled)) == 2


def test_what_a_killed_process_left_half_written_is_rolled_back(filled):
    """A process that dies inside a transaction leaves its journal; a reader puts the file back."""
    die = (
        "import os, sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('PRAGMA cache_size = 1')\n"
        "database.execute('BEGIN IMMEDIATE')\n"
        "database.execute('UPDATE embeddings SET vector = zeroblob(2000)')\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", die, str(file_in(filled))], check=False)
    assert done.returncode == 9
    assert file_in(filled).with_name(file_in(filled).name + "-journal").exists()
    assert embed(filled) == []


WRITER = """
import sys
from pathlib import Path
import numpy as np
from lmms_eval_crystal.metrics.cache import PROBES, EmbeddingCache
cache = EmbeddingCache(Path(sys.argv[1]), "e@1", np.eye(len(PROBES), dtype=np.float32))
for start in range(0, 2000, 50):
    cache.save({f"{sys.argv[2]} {n}": np.full(len(PROBES), n, np.float32) for n in range(start, start + 50)})
    cache.save({f"both {n}": np.full(len(PROBES), n, np.float32) for n in range(start, start + 50)})
"""


def test_processes_that_write_at_once_lose_nothing(tmp_path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], stderr=subprocess.PIPE, text=True)
        for name in ("one", "other")
    ]
    assert [writer.communicate()[1] for writer in writers] == ["", ""]
    cache = EmbeddingCache(tmp_path, "e@1", np.eye(len(PROBES), dtype=np.float32))
    texts = [f"{name} {number}" for name in ("one", "other", "both") for number in range(2000)]
    found = cache.load(texts)
    assert all(found[text][0] == float(text.split()[1]) for text in texts)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of somebody who has rights like anybody, which root has not."""
    folder = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield folder
    if is_root:
        os.seteuid(0)
    os.chmod(folder, 0o700)
    shutil.rmtree(folder)


def test_a_read_only_folder_is_read_and_said_once(unprivileged, caplog):
    embed(unprivileged)
    os.chmod(file_in(unprivileged), 0o400)
    os.chmod(unprivileged, 0o500)
    assert embed(unprivileged) == []
    with warned(caplog, "cannot be written", str(unprivileged), "goes on without it"):
        assert len(embed(unprivileged, [*TEXTS, *map(str, range(3 * PORTION))])) == 3 * PORTION


def test_a_read_only_folder_without_a_file_is_said_once(unprivileged, caplog):
    os.chmod(unprivileged, 0o500)
    with warned(caplog, "cannot be used", "goes on without it"):
        assert len(embed(unprivileged, list(map(str, range(3 * PORTION))))) == 3 * PORTION


def test_a_folder_that_cannot_be_made_is_said_once(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    with warned(caplog, "cannot be used"):
        assert len(embed(tmp_path / "file" / "embeddings")) == len(TEXTS)


def test_a_full_disk_is_said_once_and_what_was_written_stays(tmp_path, caplog):
    embed(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Writes beyond the limit fail, as those to a full disk do.
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_in(tmp_path).stat().st_size, limits[1]))
    try:
        with warned(caplog, "cannot be written", "goes on without it"):
            assert len(embed(tmp_path, [*TEXTS, *map(str, range(3 * PORTION))])) == 3 * PORTION
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert embed(tmp_path) == []


def test_a_folder_that_vanishes_in_mid_run_is_said_once(tmp_path, caplog):
    class Vandal(SeededEncoder):
        def encode(self, texts: list[str]) -> np.ndarray:
            if len(self.asked) >= PORTION:
                shutil.rmtree(tmp_path / "cache", ignore_errors=True)
            return super().encode(texts)

    encoder = Vandal()
    table = EmbeddingTable(encoder, tmp_path / "cache")
    with warned(caplog, "cannot be written", "goes on without it"):
        table.add(map(str, range(4 * PORTION)), keep=True)
        table.add(["another", "0"], keep=True)
    assert len(encoder.asked) == 4 * PORTION + 1


def test_a_lock_that_nobody_gives_back_does_not_hold_up_the_run(filled, caplog, monkeypatch):
    monkeypatch.setattr("lmms_eval_crystal.metrics.cache._TIMEOUT_S", 0.05)
    other = sqlite3.connect(file_in(filled), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with warned(caplog, "locked", "goes on without it"):
        assert len(embed(filled)) == len(TEXTS)
    other.close()
    assert embed(filled) == []


class Broken(SeededEncoder):
    """Gives something else once it comes to a certain text."""

    def __init__(self, answer) -> None:
        super().__init__()
        self.answer = answer

    def encode(self, texts: list[str]) -> np.ndarray:
        rows = super().encode(texts)
        return self.answer(rows) if "broken" in texts else rows


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda rows: rows * np.nan, "no usable direction"),
        (lambda rows: rows * 0, "no usable direction"),
        (lambda rows: rows * np.inf, "no usable direction"),
        (lambda rows: rows[:-1], "shape"),
        (lambda rows: rows[:, :-1], "numbers a text after"),
        (lambda rows: rows[0], "shape"),
    ],
)
def test_an_encoder_that_returns_nonsense_stops_the_run_before_anything_is_written(filled, answer, says):
    before = file_in(filled).read_bytes()
    table = EmbeddingTable(Broken(answer), filled)
    with pytest.raises(CrystalError, match=rf"{says}.*CRYSTAL_ENCODER"):
        table.add([*TEXTS, "broken", "another"], keep=True)
    assert file_in(filled).read_bytes() == before


def test_an_encoder_that_is_broken_from_the_start_makes_no_file(tmp_path):
    class Nan(SeededEncoder):
        def encode(self, texts: list[str]) -> np.ndarray:
            return super().encode(texts) * np.nan

    with pytest.raises(CrystalError, match="no usable direction"):
        EmbeddingTable(Nan(), tmp_path).add(TEXTS, keep=True)
    assert not list(tmp_path.iterdir())


def test_an_encoder_that_knows_no_word_of_a_probe_is_used_and_its_user_is_told_of_own_texts_only(tmp_path):
    class FewWords(SeededEncoder):
        id = "few-words"

        def row(self, text: str) -> np.ndarray:
            return super().row(text) * (text not in (PROBES[2], "Unheard of"))

    assert embed(tmp_path, encoder=FewWords()) == sorted(TEXTS, key=len, reverse=True)
    assert embed(tmp_path, encoder=FewWords()) == []
    with pytest.raises(CrystalError, match=r"few-words returned no usable direction .* 1 of 1 texts.*'Unheard of'"):
        EmbeddingTable(FewWords(), tmp_path).add(["Unheard of"], keep=True)


def test_the_bar_says_how_much_came_from_the_cache(filled, capsys):
    table = EmbeddingTable(SeededEncoder(), filled)
    table.progress = True
    table.add(TEXTS, keep=True)
    table.add(["A step that is new"])
    assert f"{len(TEXTS)} from the cache" in capsys.readouterr().err


def test_an_encoder_that_changes_its_device_in_mid_run_writes_to_the_file_of_that_device(tmp_path):
    """A full GPU sends the encoder to the CPU."""

    class Moving(SeededEncoder):
        def encode(self, texts: list[str]) -> np.ndarray:
            if len(self.asked) >= PORTION:
                self.cache_key = SeededEncoder.cache_key
            return super().encode(texts)

    encoder = Moving()
    encoder.cache_key = "some/encoder@1-cuda-float32"
    texts = list(map(str, range(2 * PORTION)))
    embed(tmp_path, texts, encoder)
    assert len(embed(tmp_path, texts)) == PORTION


def test_texts_with_lone_surrogates_and_nul_are_texts_like_others(tmp_path):
    odd = ["\ud800", "a\0b", "", "a" * 100_000, "\u202eabc"]
    assert sorted(embed(tmp_path, odd)) == sorted(odd)
    assert embed(tmp_path, odd) == []


def test_vectors_of_the_real_encoder_come_back_bit_by_bit(minilm, tmp_path):
    texts = ["A dog sits.", "Two cars."]
    first, again = EmbeddingTable(minilm, tmp_path), EmbeddingTable(minilm, tmp_path)
    first.add(texts, keep=True)
    again.add(texts, keep=True)
    assert np.array_equal(first.rows(texts), again.rows(texts))
    assert file_in(tmp_path).name.startswith("all-MiniLM-L6-v2-0.1.0-cpu-torch.float32")
