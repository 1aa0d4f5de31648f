"""The tasks are found, and score the same, whichever way the harness is entered."""

import pytest
from harness import environment, metrics, run, samples, scripted

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def one_process(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    done = run(["lmms-eval", *scripted("shuffled")], folder, cold=True)
    assert done.returncode == 0, done.stdout
    return folder


def assert_same_run(ours, theirs) -> None:
    assert metrics(ours) == pytest.approx(metrics(theirs), abs=1e-12)
    assert samples(ours) == samples(theirs)


def test_two_processes_give_the_figures_and_samples_of_one(one_process, tmp_path):
    command = ["torchrun", "--nproc_per_node", "2", "-m", "lmms_eval", *scripted("shuffled")]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout
    assert_same_run(tmp_path, one_process)


def test_more_processes_than_items_still_score_each_item_once(tmp_path):
    command = ["torchrun", "--nproc_per_node", "2", "-m", "lmms_eval", *scripted("oracle", limit="1", offset="4")]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout
    assert list(samples(tmp_path)) == [4]
    assert "|n:1|" in samples(tmp_path)[4]["crystal"]["scorer"]


@pytest.mark.parametrize("way", [["python", "-m", "lmms_eval"], ["accelerate", "launch", "-m", "lmms_eval"]])
def test_other_ways_to_start_the_harness(way, one_process, tmp_path):
    done = run([*way, *scripted("shuffled", limit="3")], tmp_path)
    assert done.returncode == 0, done.stdout
    first = {index: sample["match_f1"] for index, sample in samples(one_process).items() if index < 3}
    assert {index: sample["match_f1"] for index, sample in samples(tmp_path).items()} == first


def test_the_python_entry_gives_what_the_command_line_gives(one_process, monkeypatch):
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    from lmms_eval.evaluator import simple_evaluate

    given = simple_evaluate(
        model="crystal_scripted", model_args="persona=shuffled,model_name=shuffled", tasks=["crystal_mini"]
    )
    values = {key.partition(",")[0]: value for key, value in given["results"]["crystal_mini"].items()}
    expected = metrics(one_process)
    assert {name: values[name] for name in expected} == expected
    assert [sample["crystal"] for sample in given["samples"]["crystal_mini"]] == [
        sample["crystal"] for _, sample in sorted(samples(one_process).items())
    ]


def test_the_harness_lists_the_tasks(tmp_path):
    done = run(["lmms-eval", "--tasks", "list"], tmp_path)
    assert done.returncode == 0
    for task in ("crystal", "crystal_paper", "crystal_mini"):
        assert f"- {task}\n" in done.stdout
