"""Training items: split, ordered, handed to trl, and refused where they are wrong or CRYSTAL's own."""

import io
from collections import Counter
from dataclasses import replace

import datasets
import pytest
import synthetic
from lmms_eval_crystal.crystal_task.data import MINI_FILE
from lmms_eval_crystal.crystal_task.item import Item
from lmms_eval_crystal.crystal_task.prompt import Prompt
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.data import load_items, to_dataset
from PIL import Image

from .conftest import with_data

PROMPT = Prompt("Solve: {question}")


def indices(items) -> list[int]:
    return [item.index for item in items]


def steps_of(*counts: int) -> list[Item]:
    return [Item(place, f"Question {place}?", "x", ("step",) * count) for place, count in enumerate(counts)]


def png(image: Image.Image, **options) -> dict:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", **options)
    return {"bytes": buffer.getvalue(), "path": None}


class TestSplit:
    def test_every_item_is_on_one_side_and_the_share_is_as_asked(self, config):
        data = load_items(config)
        assert len(data.validation) == 6  # 15 % of 40
        assert sorted(indices(data.train) + indices(data.validation)) == list(range(40))

    def test_the_seed_decides_it_and_nothing_else(self, config, items_file):
        first = load_items(config)
        assert load_items(config).validation == first.validation
        other = load_items(with_data(config, validation=0.4))
        assert set(first.validation) < set(other.validation)
        assert load_items(replace(config, seed=1)).validation != first.validation

    def test_more_data_moves_the_limit_between_the_sides_and_mixes_nothing(self, config, tmp_path):
        synthetic.dataset(80).to_parquet(tmp_path / "more.parquet")
        few, many = load_items(config), load_items(with_data(config, path=str(tmp_path / "more.parquet")))
        before, after = ({item.question for item in data.validation} for data in (few, many))
        known = {item.question for item in (*few.train, *few.validation)}
        assert before <= after or after & known <= before

    def test_one_question_and_picture_is_on_one_side(self, config, tmp_path):
        doubled = datasets.concatenate_datasets([synthetic.dataset(20)] * 3)
        doubled.to_parquet(tmp_path / "doubled.parquet")
        data = load_items(with_data(config, path=str(tmp_path / "doubled.parquet"), validation=0.3))
        assert not {item.question for item in data.train} & {item.question for item in data.validation}
        assert set(Counter(item.question for item in data.validation).values()) == {3}

    def test_only_so_many_of_the_held_out_items_are_generated_for(self, config):
        data = load_items(with_data(config, validation=0.5, validation_items=4))
        assert len(data.validated) == 4
        assert set(data.validated) < set(data.validation)
        assert indices(data.validated) == sorted(indices(data.validated))
        assert load_items(config).validated == load_items(config).validation

    def test_a_saved_dataset_has_its_splits_and_a_folder_of_files_its_own(self, config, tmp_path):
        datasets.DatasetDict({"train": synthetic.dataset(20), "test": synthetic.dataset(4)}).save_to_disk(
            tmp_path / "saved"
        )
        data = load_items(with_data(config, path=str(tmp_path / "saved")))
        assert len(data.train) + len(data.validation) == 20
        (tmp_path / "files").mkdir()
        synthetic.dataset(9).to_parquet(tmp_path / "files" / "train.parquet")
        synthetic.dataset(4).to_parquet(tmp_path / "files" / "test.parquet")
        data = load_items(with_data(config, path=str(tmp_path / "files")))
        assert len(data.train) + len(data.validation) == 9


def no_steps(folder):
    synthetic.dataset(9).remove_columns("reference_steps").to_parquet(folder / "data.parquet")


def steps_as_text(folder):
    synthetic.dataset(9, reference_steps=["Look. Think."] * 9).to_parquet(folder / "data.parquet")


def item_without_steps(folder):
    synthetic.dataset(3, reference_steps=[["a"], [], ["b"]]).to_parquet(folder / "data.parquet")


def unreadable_image(folder):
    images = [{"bytes": synthetic.picture(index)[: -20 if index == 2 else None], "path": None} for index in range(9)]
    synthetic.dataset(9, image=images).to_parquet(folder / "data.parquet")


def empty_file(folder):
    synthetic.dataset(9).select([]).to_parquet(folder / "data.parquet")


def empty_split(folder):
    datasets.DatasetDict({"train": synthetic.dataset(9).select([])}).save_to_disk(folder / "data.parquet")


def other_splits(folder):
    datasets.DatasetDict({"dev": synthetic.dataset(3), "test": synthetic.dataset(3)}).save_to_disk(
        folder / "data.parquet"
    )


def three_items(folder):
    synthetic.dataset(3).to_parquet(folder / "data.parquet")


def one_item_thrice(folder):
    datasets.concatenate_datasets([synthetic.dataset(1)] * 3).to_parquet(folder / "data.parquet")


def torn(folder):
    three_items(folder)
    file = folder / "data.parquet"
    file.write_bytes(file.read_bytes()[:-100])


FAULTS = {
    "a missing column": (no_steps, r"no column reference_steps \(it has image, question"),
    "a column of another type": (steps_as_text, r"column reference_steps holds .*store a list of texts"),
    "an item without steps": (item_without_steps, r"Item 1 of the dataset has no reference steps"),
    "an image that breaks off": (unreadable_image, r"The image of item 2 cannot be read"),
    "no items": (empty_file, r"data.parquet: reading it failed: it has no items\..*as path: below data:"),
    "no items in a split": (empty_split, r"data.parquet: reading it failed: it has no items\..*as path: below data:"),
    "no split of that name": (other_splits, r"splits are dev, test, none named 'train'.*as path: below data:"),
    "too few to hold out": (three_items, r"data.validation 0.15 of the 3 items .* leaves none for validation"),
    "none left to train on": (one_item_thrice, r"\(1 different\) leaves none for"),
    "a torn file": (torn, r"data.parquet: reading it failed"),
    "no file": (lambda folder: None, r"data.parquet: there is no such file or folder.*as path: below data:"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_data_that_cannot_be_trained_on_is_one_sentence(fault, config, tmp_path):
    make, sentence = FAULTS[fault]
    make(tmp_path)
    share = 0.5 if fault == "none left to train on" else 0.15
    with pytest.raises(CrystalError, match=sentence) as error:
        load_items(with_data(config, path=str(tmp_path / "data.parquet"), validation=share))
    assert "\n" not in str(error.value)


def test_a_hub_that_does_not_answer_says_how_to_log_in_and_what_to_use_instead(config):
    with pytest.raises(
        CrystalError, match=r"owner/name could not be fetched.*hf auth login.*a local copy as path: below"
    ):
        load_items(with_data(config, path="owner/name"))


class TestLeakage:
    @pytest.fixture
    def training(self, config, tmp_path):
        """Writes training items around one of the benchmark's, and returns the configuration that reads them."""

        def write(image, question="How far?"):
            images = [{"bytes": synthetic.picture(100 + index), "path": None} for index in range(19)] + [image]
            questions = [f"What is in picture {index}?" for index in range(19)] + [question]
            blank = [[] for _ in range(20)]
            made = synthetic.dataset(20, image=images, question=questions, choices=blank, options=blank)
            made.cast(synthetic.dataset(2).features).to_parquet(tmp_path / "training.parquet")
            return with_data(config, path=str(tmp_path / "training.parquet"))

        return write

    @pytest.fixture
    def tested(self, benchmark) -> Image.Image:
        return Image.open(io.BytesIO(synthetic.picture(1)))

    def test_an_item_of_the_benchmark_is_named(self, training, benchmark):
        config = training({"bytes": synthetic.picture(1), "path": None})
        with pytest.raises(
            CrystalError, match=rf"1 of the training items \(19\).*item 19 is item 1 of {benchmark}.*allow_t"
        ):
            load_items(config)
        assert len(load_items(with_data(config, allow_test_items=True)).train) == 17

    def test_spelling_and_file_format_do_not_hide_it(self, training, tested):
        grey = Image.merge("RGBA", (*tested.split(), Image.new("L", tested.size, 255)))
        for image in (png(tested, compress_level=0), png(grey)):
            with pytest.raises(CrystalError, match="item 19 is item 1"):
                load_items(training(image, "  how  FAR"))

    def test_options_written_into_the_question_do_not_hide_it(self, training, benchmark, tested):
        synthetic.dataset(3, question=["Which way?", "How far?", "How long?"]).to_parquet(benchmark)
        with pytest.raises(CrystalError, match="item 19 is item 1"):
            load_items(training(png(tested), "How far?\nA) red\nB) green\nC) blue"))

    def test_the_same_question_on_another_picture_is_no_test_item(self, training):
        assert load_items(training({"bytes": synthetic.picture(2), "path": None})).train

    def test_another_question_on_the_same_picture_is_no_test_item(self, training, tested):
        assert load_items(training(png(tested), "How near?")).train

    def test_items_of_the_shipped_set_are_test_items(self, config, tmp_path):
        datasets.Dataset.from_parquet(str(MINI_FILE)).select(range(10)).to_parquet(tmp_path / "mini.parquet")
        with pytest.raises(CrystalError, match=r"10 of the training items.*is item 0 of crystal_mini"):
            load_items(with_data(config, path=str(tmp_path / "mini.parquet")))

    @pytest.mark.parametrize("name", ["waybarrios/CRYSTAL", "waybarrios/crystal", "crystal_mini", "benchmark.parquet"])
    def test_a_test_set_is_known_by_its_name(self, name, config, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(CrystalError, match=f"The training data {name} is a test set of CRYSTAL"):
            load_items(with_data(config, path=name, split="test"))

    def test_the_shipped_set_may_serve_for_a_trial(self, config):
        data = load_items(with_data(config, path="crystal_mini", allow_test_items=True))
        assert len(data.train) + len(data.validation) == 50

    def test_a_benchmark_that_cannot_be_read_is_asked_for(self, config, monkeypatch):
        monkeypatch.delenv("CRYSTAL_DATASET")
        with pytest.raises(
            CrystalError, match=r"cannot be told.*waybarrios/CRYSTAL cannot be read.*set CRYSTAL_DATASET"
        ):
            load_items(config)
        assert load_items(with_data(config, allow_test_items=True)).train

    @pytest.mark.parametrize("column", ["image", "question"])
    def test_a_copy_of_the_benchmark_that_lacks_what_is_compared_is_no_copy(self, config, benchmark, column):
        synthetic.dataset(3).remove_columns(column).to_parquet(benchmark)
        with pytest.raises(CrystalError, match="cannot be told"):
            load_items(config)


class TestDataset:
    def test_rows_are_what_trl_and_the_rewards_take(self, config):
        data = load_items(config)
        row = to_dataset(data.train, data, PROMPT)[1]
        item = data.train[1]
        assert row["prompt"] == [
            {"role": "user", "content": [{"type": "text", "text": PROMPT.fill(item)}, {"type": "image"}]}
        ]
        assert (row["solution"], row["question"]) == (item.answer, item.question)
        assert (row["reference_steps"], row["options"]) == (list(item.reference_steps), list(item.options))
        [image] = row["images"]
        assert (image.mode, image.size) == ("RGB", (32, 32))

    def test_trls_sampler_keeps_groups_together_and_the_order(self, config):
        from torch.utils.data import DataLoader
        from trl.trainer.utils import RepeatSampler, identity

        data = load_items(config)
        items = steps_of(*range(2, 10))
        dataset = to_dataset(items, data, PROMPT)
        sampler = RepeatSampler(dataset, mini_repeat_count=5, batch_size=2, repeat_count=1, shuffle=False)
        batches = list(DataLoader(dataset, batch_size=10, sampler=sampler, collate_fn=identity))
        assert [[len(row["reference_steps"]) for row in batch] for batch in batches] == [
            [count] * 5 + [count + 1] * 5 for count in (2, 4, 6, 8)
        ]

    def test_trl_puts_the_picture_behind_the_text(self, config):
        from trl.data_utils import prepare_multimodal_messages

        data = load_items(config)
        row = to_dataset(data.train, data, PROMPT)[0]
        [turn] = prepare_multimodal_messages(row["prompt"], images=row["images"])
        assert [part["type"] for part in turn["content"]] == ["text", "image"]
        assert turn["content"][1]["image"] is row["images"][0]

    def test_pictures_and_texts_go_through_what_the_model_needs_and_each_picture_once_a_batch(self, config):
        data = load_items(config)
        seen = []

        def small(image):
            seen.append(image)
            return image.resize((8, 8))

        made = to_dataset(data.train, data, PROMPT, clean=str.upper, prepare=small)
        rows = made.__getitems__([0, 0, 0, 1])
        assert len(seen) == 2
        assert rows[0]["images"][0].size == (8, 8)
        assert rows[0]["prompt"][0]["content"][0]["text"].startswith("SOLVE: ")

    def test_a_picture_that_went_away_is_named(self, config, tmp_path):
        (tmp_path / "one.png").write_bytes(synthetic.picture(1))
        rows = [{**row, "image": "one.png"} for row in synthetic.rows(9)]
        datasets.Dataset.from_list(rows).to_json(tmp_path / "rows.jsonl")
        data = load_items(with_data(config, path=str(tmp_path / "rows.jsonl")))
        (tmp_path / "one.png").unlink()
        with pytest.raises(CrystalError, match=r"The image of item \d of .*rows.jsonl cannot be decoded"):
            data.open_image(data.train[0])
