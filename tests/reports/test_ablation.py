"""Runs scored again: the same numbers where nothing changed, and what becomes of the ranking."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from encoders import build_tiny_bert, build_word_encoder
from lmms_eval_crystal.cli.main import main
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import EmbeddingTable, StepEncoder, score_items
from lmms_eval_crystal.metrics.validity import null_partners
from lmms_eval_crystal.reports.ablation.measure import ablate
from lmms_eval_crystal.reports.ablation.rankings import over_prompts, over_settings
from lmms_eval_crystal.reports.ablation.stability import in_words, rank_stability
from lmms_eval_crystal.reports.ablation.tables import grids, sentences
from lmms_eval_crystal.reports.chains import cohorts, draw_items, read_chains
from lmms_eval_crystal.reports.encoders import common_encoder, open_encoders, own_encoder
from lmms_eval_crystal.reports.load import find_results
from lmms_eval_crystal.reports.study import load_study
from rescored import chain, write_rescored
from studies import TALKERS, WORDS, write_study

TAUS = (0.2, 0.35, 0.6)


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """Most of the vocabulary is known to it; steps of random words are similar by chance, as real ones are."""
    return StepEncoder(str(build_word_encoder(tmp_path_factory.mktemp("encoders") / "words", WORDS[:15])))


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return StepEncoder(str(build_tiny_bert(tmp_path_factory.mktemp("encoders") / "bert")))


@pytest.fixture(scope="module")
def folder(words, tmp_path_factory):
    return write_rescored(tmp_path_factory.mktemp("runs"), words, items=20)


@pytest.fixture(scope="module")
def cohort(folder):
    return cohorts(load_study([folder]))[0][0]


@pytest.fixture(scope="module")
def ablation(cohort, words, bert):
    return ablate(cohort, [words, bert], TAUS)


def samples(run):
    return [json.loads(line) for line in run.samples.file.read_text("utf-8").splitlines()]


def test_with_its_own_encoder_and_threshold_a_run_has_the_numbers_of_its_results_file(ablation, cohort):
    rows = ablation.at_reference
    assert rows["own"].all()
    for run in cohort.runs:
        for name in ("match_f1", "precision", "recall", "ordered_f1"):
            assert rows.loc[run.label, name] == pytest.approx(run.result.metrics[name].mean, abs=1e-9)
    [verdict] = ablation.checks
    assert verdict.startswith("Checked: with their own encoder and threshold 3 runs have the scores that they wrote")


def test_a_run_whose_numbers_do_not_come_out_again_is_named(folder, words, tmp_path):
    copied = tmp_path / "copied"
    for file in folder.rglob("*.json*"):
        target = copied / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.read_text("utf-8"), "utf-8")
    file = next(copied.rglob("org__Guesser-8B/*.jsonl"))
    first, *others = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([json.dumps({**json.loads(first), "match_f1": 0.9999}), *others]), "utf-8")
    [cohort], _ = cohorts(load_study([copied]))
    [verdict] = ablate(cohort, [words], TAUS).checks
    assert verdict.startswith("org/Guesser-8B: with its own encoder and threshold 1 of 20 values differ")


def test_an_encoder_that_is_given_by_two_names_counts_once(cohort, words, ablation):
    twice = ablate(cohort, [words, words], TAUS)
    assert twice.encoders == [words.signature]
    assert over_settings(twice).stability.settings == len(TAUS)


def test_every_setting_is_what_scoring_at_that_setting_gives(ablation, cohort, bert):
    run = cohort.runs[0]
    usable = [sample for sample in samples(run) if sample["crystal"]["status"] == "valid"]
    assert len(usable) == run.result.items
    table = EmbeddingTable(bert)
    once = SimpleNamespace(encode=table.rows)
    for tau in TAUS:
        scores = score_items([chain(sample) for sample in usable], once, tau)
        expected = np.mean([one.match_f1 for one in scores])
        assert ablation.by_setting("match_f1").loc[run.label, (bert.signature, tau)] == pytest.approx(expected)
        ordered = [one.kendall_tau for one in scores if len(one.pairs) > 1]
        found = ablation.by_setting("kendall_multi").loc[run.label, (bert.signature, tau)]
        assert found == pytest.approx(np.mean(ordered))


def test_an_unreadable_response_matches_nothing_whatever_the_encoder(ablation, cohort, bert):
    """The random BERT finds all texts alike, so everything that is encoded matches."""
    run = next(run for run in cohort.runs if run.result.model == "other/Talker-3B")
    statuses = [sample["crystal"]["status"] for sample in samples(run)]
    assert 0 < statuses.count("malformed") < len(statuses)
    found = ablation.by_setting("recall").loc[run.label, (bert.signature, 0.2)]
    assert 0 < found <= statuses.count("valid") / len(statuses)


def test_an_encoder_embeds_each_different_text_once_for_all_runs_and_thresholds(cohort, words):
    class Counting:
        id, signature, seen = words.id, words.signature, []

        def encode(self, texts):
            self.seen.extend(texts)
            return words.encode(texts)

    ablate(cohort, [Counting()], TAUS)
    texts = {text for run in cohort.runs for sample in samples(run) for side in chain(sample) for text in side}
    assert sorted(Counting.seen) == sorted(texts - {"(no step could be read)"})


def test_a_limit_draws_the_same_items_for_all_runs_from_all_over_the_data(cohort):
    drawn = draw_items(cohort.known, 10)
    assert len(set(drawn)) == 10
    assert drawn != list(range(10))
    assert all([one.doc_id for one in read_chains(run, drawn)] == drawn for run in cohort.runs)
    assert draw_items(cohort.known, 10) == drawn
    assert set(draw_items(cohort.known, 5)) < set(drawn)


def test_few_models_get_no_rank_correlation_and_are_told_why(ablation):
    ranking = over_settings(ablation)
    assert ranking.stability.concordance is None
    assert any("3 models are too few for a rank correlation" in said for said in ranking.sentences)
    assert any("1 of 6 cases" in said for said in ranking.sentences)


def test_a_ranking_that_turns_round_is_counted_by_hand():
    values = pd.DataFrame(
        {"one": [6, 5, 4, 3, 2, 1], "two": [6, 5, 4, 3, 1, 2], "three": [5, 6, 4, 3, 1, 2]}, index=list("abcdef")
    )
    stability = rank_stability(values, "one")
    assert stability.ranks.loc["a"].tolist() == [1, 1, 2, pytest.approx(2 / 3)]
    assert stability.ranks["kept"].tolist() == pytest.approx([2 / 3, 2 / 3, 1, 1, 1 / 3, 1 / 3])
    assert [(swap.first, swap.second, swap.settings) for swap in stability.swaps] == [("a", "b", 1), ("e", "f", 2)]
    assert stability.pairs == 15
    # Each swap of neighbours takes 2 of 15 pairs.
    assert stability.least == pytest.approx(1 - 4 / 15)
    assert stability.mean == pytest.approx(1 - 3 / 15)
    sums = values.rank(ascending=False).sum(axis=1)
    assert stability.concordance == pytest.approx(12 * ((sums - sums.mean()) ** 2).sum() / (3**2 * (6**3 - 6)))
    assert "Pairs that turn round: a and b (in 1), e and f (in 2)." in in_words(stability, "3 settings")


def test_models_that_tie_share_a_rank_and_do_not_turn_round():
    stability = rank_stability(pd.DataFrame({"x": [1.0, 1.0, 0.5], "y": [1.0, 0.9, 0.5]}, index=list("abc")), "x")
    assert stability.ranks["reference"].tolist() == [1, 1, 3]
    assert (stability.pairs, stability.swaps) == (2, ())


def test_one_model_or_one_setting_has_no_ranking():
    assert rank_stability(pd.DataFrame({"x": [1.0], "y": [0.5]}), "x") is None
    assert rank_stability(pd.DataFrame({"x": [1.0, 0.5]}), "x") is None


def with_second_prompt(folder: Path) -> Path:
    """A second run of two of the models with another prompt, in which they change places."""
    other = folder / "other prompt"
    swapped = [
        replace(TALKERS[0], recall=0.2, shuffled=0.5, right=0.2, malformed=0.0),
        replace(TALKERS[1], recall=0.9),
    ]
    write_study(other, items=20, talkers=swapped)
    for file in other.rglob("*.json*"):
        file.write_text(file.read_text("utf-8").replace("prompt:66854a62", "prompt:0badf00d"), "utf-8")
    return folder


def test_runs_of_a_model_with_several_prompts_show_what_the_wording_does(words, tmp_path):
    write_study(tmp_path, items=20)
    [cohort], _ = cohorts(load_study([with_second_prompt(tmp_path)]))
    ablation = ablate(cohort, [words], TAUS)
    wordings = over_prompts(ablation)
    assert set(wordings.values.index) == {"org/Reasoner-7B", "org/Guesser-8B"}
    assert set(wordings.values.columns) == {"66854a62", "0badf00d"}
    assert [swap.settings for swap in wordings.ranking.stability.swaps] == [1]
    ranking = over_settings(ablation)
    assert ranking.stability.models == 3
    assert any(said.startswith("2 runs are not ranked") for said in ranking.sentences)


def test_it_is_said_which_row_had_which_wording(words, tmp_path):
    [cohort], _ = cohorts(load_study([with_second_prompt(write_rescored(tmp_path / "runs", words, items=12))]))
    ablation = ablate(cohort, [words], TAUS)
    said = [sentence for sentence in sentences(ablation) if sentence.startswith("Prompt ")]
    rows = ablation.at_reference
    assert len(said) == rows["prompt"].nunique() == 2
    for label, prompt in rows.loc[rows["model"].duplicated(keep=False), "prompt"].items():
        assert any(prompt in sentence and str(label) in sentence for sentence in said)


def test_without_a_second_prompt_nothing_is_said_of_wordings(ablation):
    assert over_prompts(ablation) is None


def test_the_same_responses_scored_twice_are_one_run(folder, words, bert, tmp_path):
    write_study(tmp_path, items=20, encoder=words.signature)
    write_study(tmp_path / "again", items=20, encoder=bert.signature)
    found, notes = cohorts(load_study([tmp_path]))
    assert [len(cohort.runs) for cohort in found] == [3]
    assert len(notes) == 3
    assert "holds the same responses" in notes[0]


def test_runs_without_samples_cannot_be_scored_again(tmp_path):
    write_study(tmp_path, items=5)
    for file in tmp_path.rglob("*.jsonl"):
        file.unlink()
    with pytest.raises(CrystalError, match="--log_samples"):
        cohorts(load_study([tmp_path]))


def test_an_encoder_is_never_downloaded_unasked():
    for name in ("distilroberta", "mpnet", "owner/never-heard-of"):
        with pytest.raises(CrystalError, match=r"not on this machine.*hf download .*--download.*--encoders"):
            open_encoders([name])


def test_the_runs_own_encoder_is_found_by_its_signature(cohort, tmp_path):
    with pytest.raises(CrystalError, match="a folder"):
        own_encoder(cohort)
    for encoder, name in (("all-MiniLM-L6-v2@0.1.0", "minilm"), ("all-distilroberta-v1@main", "distilroberta")):
        write_study(tmp_path / name, items=3, encoder=f"sentence-transformers/{encoder}")
        assert own_encoder(cohorts(load_study([tmp_path / name]))[0][0]) == name
        assert common_encoder(find_results([tmp_path / name]).results) == [name]
    assert common_encoder(find_results([tmp_path]).results) == []


@pytest.mark.parametrize("tau", ["", "0.3;0.4", "1", "nan", "high"])
def test_thresholds_that_are_none_are_refused_before_any_work(tau, folder):
    with pytest.raises(SystemExit, match=r"--tau .* is no list of thresholds"):
        main(["ablate", str(folder), "--tau", tau])


def test_the_command_prints_and_writes_tables_and_figure(folder, tmp_path, capsys):
    places = [build_word_encoder(tmp_path / "words", WORDS[:15]), build_tiny_bert(tmp_path / "bert")]
    out = tmp_path / "out"
    arguments = ["ablate", str(folder), "--encoders", ",".join(map(str, places)), "--tau", "0.2,0.35,0.6"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "-o", str(out)])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "Match F1 by encoder and threshold" in printed
    assert "Checked: with their own encoder and threshold 3 runs" in printed
    table = pd.read_csv(out / "ablation.csv")
    assert len(table) == 3 * 2 * 3
    assert table["reference"].sum() == table["own"].sum() == 3
    assert set(table["tau"]) == {0.2, 0.35, 0.6}
    page = (out / "ablation.md").read_text("utf-8")
    assert "](ablation.svg)" in page
    assert "| mean of models | words |" in page
    assert "org/Reasoner-7B" in page
    drawing = (out / "ablation.svg").read_text("utf-8")
    assert all(text in drawing for text in ("Reasoner-7B", "Precision", "words", "bert", "0.35"))
    assert (out / "ablation.png").read_bytes().startswith(b"\x89PNG")


def copied(folder, target, change):
    """The study with the lines of Guesser's samples as ``change`` gives them."""
    shutil.copytree(folder, target)
    file = next(target.rglob("org__Guesser-8B/*.jsonl"))
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in change(lines)), "utf-8")
    return cohorts(load_study([target]))[0][0]


def test_runs_are_ranked_over_the_items_that_all_of_them_have(folder, words, tmp_path):
    few = ablate(copied(folder, tmp_path / "few", lambda lines: lines[5:12]), [words], TAUS)
    assert few.items == 7
    assert set(few.table["items"]) == {7}
    assert "Only the 7 items that all runs have are taken" in " ".join(sentences(few))
    apart = copied(folder, tmp_path / "none", lambda lines: [{**line, "doc_id": line["doc_id"] + 99} for line in lines])
    with pytest.raises(CrystalError, match="share no item"):
        ablate(apart, [words], TAUS)


def test_steps_that_are_no_texts_or_cannot_be_encoded_end_nothing(folder, words, tmp_path):
    def odd(lines):
        lines[0]["crystal"]["predicted_steps"] = ["a", None, 3, ["x"], "\ud800"]
        lines[1]["crystal"]["predicted_steps"] = None
        lines[2]["crystal"]["predicted_steps"] = "abc"
        return lines

    found = ablate(copied(folder, tmp_path / "odd", odd), [words], TAUS)
    assert found.items == 19


@pytest.mark.parametrize(("name", "value"), [("alpha", "x"), ("tau", "y"), ("alpha", "nan")])
def test_a_signature_whose_number_is_none_is_refused(folder, words, tmp_path, name, value):
    cohort = copied(folder, tmp_path / "copy", lambda lines: lines)
    run = cohort.runs[0]
    scorer = re.sub(rf"{name}:[^|]*", f"{name}:{value}", run.result.scorer)
    broken = replace(run, result=replace(run.result, scorer=scorer))
    with pytest.raises(CrystalError, match=f"states {name} as '{value}'.*no number"):
        ablate(replace(cohort, runs=(broken, *cohort.runs[1:])), [words], TAUS)


def test_above_the_null_a_lenient_setting_has_little_left(folder, cohort, ablation, words, bert):
    lenient, strict = (ablation.by_setting("f1_above_null")[words.signature][tau] for tau in (0.2, 0.6))
    match_f1 = ablation.by_setting("match_f1")[words.signature]
    assert (match_f1[0.2] > match_f1[0.6]).all()
    assert not lenient.equals(strict)
    # By hand, for one run: the same steps against the reference steps of each item's partner.
    run = cohort.runs[0]
    chains = read_chains(run, cohort.shared)
    places = null_partners((one.source, one.question, one.reference) for one in chains)
    pairs = [(one.predicted, chains[place].reference) for one, place in zip(chains, places, strict=True)]
    null = np.mean([one.match_f1 for one in score_items(pairs, bert, 0.35)])
    found = ablation.by_setting("f1_above_null").loc[run.label, (bert.signature, 0.35)]
    assert found == pytest.approx(ablation.by_setting("match_f1").loc[run.label, (bert.signature, 0.35)] - null)
    assert any("by Match F1 above null," in sentence for sentence in sentences(ablation))


def test_one_item_has_no_null_and_nothing_is_said_of_it(cohort, words):
    alone = ablate(cohort, [words], TAUS, limit=1)
    assert alone.table["f1_above_null"].isna().all()
    assert not any("null" in sentence for sentence in sentences(alone))
    assert not any("null" in grid.title for grid in grids(alone))
