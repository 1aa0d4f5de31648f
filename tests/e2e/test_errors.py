"""What a user can get wrong ends a run in one sentence and exit code 1, before anything is generated."""

import pytest
import synthetic
from harness import run, scripted

pytestmark = pytest.mark.e2e


def broken_image(folder):
    images = [{"bytes": b"no image", "path": None}] * 6
    synthetic.dataset(6, image=images).to_parquet(folder / "data.parquet")


def no_steps_column(folder):
    synthetic.dataset().remove_columns("reference_steps").to_parquet(folder / "data.parquet")


def good_data(folder):
    synthetic.dataset().to_parquet(folder / "data.parquet")


def prompt_without_a_place(folder):
    good_data(folder)
    (folder / "prompt.txt").write_text("Describe the image.")


DATA = {"CRYSTAL_DATASET": "data.parquet", "CRYSTAL_ENCODER": "minilm"}
CASES = {
    "persona": (None, "crystal_mini", {}, "no persona nobody; choose persona= from oracle"),
    "encoder": (None, "crystal_mini", {"CRYSTAL_ENCODER": "minlm"}, "it is neither a preset (distilroberta, minilm"),
    "hub": (None, "crystal", {}, "accept its terms at https://huggingface.co/datasets/waybarrios/CRYSTAL"),
    "columns": (no_steps_column, "crystal", DATA, "no column reference_steps"),
    "image": (broken_image, "crystal", DATA, "The image of item 0 cannot be read"),
    "paper prompt": (good_data, "crystal_paper", DATA, "crystal-eval paper-prompt"),
    "prompt file": (prompt_without_a_place, "crystal", {**DATA, "CRYSTAL_PROMPT_FILE": "prompt.txt"}, "no place for"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_exit_code_1(case, tmp_path):
    prepare, task, variables, says = CASES[case]
    if prepare:
        prepare(tmp_path)
    persona = "nobody" if case == "persona" else "oracle"
    done = run(["lmms-eval", *scripted(persona, task)], tmp_path, XDG_DATA_HOME=str(tmp_path / "home"), **variables)
    assert done.returncode == 1, done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("CRYSTAL: ")
    assert says in last
    assert "Traceback" not in done.stdout
    assert "Running generate_until requests" not in done.stdout
    assert not (tmp_path / "out").exists()
