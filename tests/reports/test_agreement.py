"""Pairs for people to label: how they are drawn, what their file may hold, and what labels say of the matcher."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from encoders import build_word_encoder
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.cli.main import main
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import StepEncoder
from lmms_eval_crystal.reports.agreement.draw import ACCEPTED, BAND, Draw, draw_pairs, populate, spread
from lmms_eval_crystal.reports.agreement.files import (
    LONGEST,
    Annotator,
    Key,
    cell,
    key_json,
    pairs_csv,
    read_key,
    read_labels,
    row_id,
)
from lmms_eval_crystal.reports.agreement.measures import kappa, measure, share
from lmms_eval_crystal.reports.agreement.tables import paper_study, sentences
from lmms_eval_crystal.reports.chains import cohorts, draw_items, read_chains
from lmms_eval_crystal.reports.study import load_study
from rescored import write_rescored
from sklearn.metrics import cohen_kappa_score
from studies import HOSTILE, WORDS

TAU = 0.35


@pytest.fixture(scope="module")
def words_folder(tmp_path_factory):
    return build_word_encoder(tmp_path_factory.mktemp("encoders") / "words", WORDS)


@pytest.fixture(scope="module")
def words(words_folder):
    return StepEncoder(str(words_folder))


@pytest.fixture(scope="module")
def folder(words, tmp_path_factory):
    return write_rescored(tmp_path_factory.mktemp("runs"), words, items=20, texts=HOSTILE)


@pytest.fixture(scope="module")
def cohort(folder):
    return cohorts(load_study([folder]))[0][0]


@pytest.fixture(scope="module")
def chains(cohort):
    return [read_chains(run, draw_items(cohort.known, None)) for run in cohort.runs]


@pytest.fixture(scope="module")
def population(chains, words):
    return populate(chains, words, TAU)


def drawn(cohort, chains, population, banded=60, accepted=30, seed=1):
    return draw_pairs(cohort, chains, population, banded, accepted, seed)


def key_of(draws, seed=1):
    return Key("crystal", "words@1", TAU, seed, 20, 20, ("scorer",), tuple((row_id(one, seed), one) for one in draws))


def made_up(similarity, accepted=False, kind=BAND, doc_id=0, weight=1.0):
    name = f"step {similarity} {doc_id} {kind}"
    return Draw(kind, "model", "mmvp", doc_id, "Which?", name, "reference", similarity, accepted, weight)


def test_a_third_of_the_pairs_lies_in_each_band_and_the_rest_was_accepted(cohort, chains, population):
    draws = drawn(cohort, chains, population)
    banded = [one.similarity for one in draws if one.kind == BAND]
    counts = np.histogram(banded, [-2, 0.2, 0.5, 2])[0].tolist()
    assert counts == [20, 20, 20]
    taken = [one for one in draws if one.kind == ACCEPTED]
    assert len(taken) == 30
    assert all(one.accepted and one.similarity > TAU for one in taken)


def test_each_model_and_source_gets_as_many_pairs_as_another(cohort, chains, population):
    # Three models and five sources: four to a cell.
    taken = [one for one in drawn(cohort, chains, population, accepted=60) if one.kind == ACCEPTED]
    cells = [(one.model, one.source) for one in taken]
    assert {cells.count(cell) for cell in cells} == {4}
    assert len(set(cells)) == 15


def test_pairs_are_of_one_item_and_of_its_own_steps(cohort, chains, population):
    by_item = {(run.label, one.doc_id): one for run, of_run in zip(cohort.runs, chains, strict=True) for one in of_run}
    for one in drawn(cohort, chains, population):
        chain = by_item[one.model, one.doc_id]
        assert one.predicted in chain.predicted
        assert one.reference in chain.reference
        assert chain.usable


def test_the_seed_decides_the_draw(cohort, chains, population):
    assert drawn(cohort, chains, population) == drawn(cohort, chains, population)
    assert drawn(cohort, chains, population) != drawn(cohort, chains, population, seed=2)


def test_weights_add_up_to_all_accepted_pairs_on_average(cohort, chains, population):
    """Twenty of fifteen cells: which five give two is chance, and the weights have to make up for it."""
    totals = []
    for seed in range(300):
        taken = [one for one in drawn(cohort, chains, population, 3, 20, seed) if one.kind == ACCEPTED]
        totals.append(sum(one.weight for one in taken))
    error = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - population.accepted.sum()) < 4 * error


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 40), st.integers(0, 5))
def test_cells_are_filled_evenly_and_never_beyond_their_size(sizes, total, seed):
    counts, expected = spread(sizes, total, np.random.default_rng(seed))
    assert sum(counts) == min(total, sum(sizes))
    assert sum(expected) == pytest.approx(sum(counts))
    assert all(count <= size for count, size in zip(counts, sizes, strict=True))
    unfilled = [count for count, size in zip(counts, sizes, strict=True) if count < size]
    assert not unfilled or max(counts) - min(unfilled) <= 1


def test_the_file_to_label_holds_texts_and_nothing_of_the_matcher(cohort, chains, population):
    key = key_of(drawn(cohort, chains, population))
    rows = list(csv.reader(io.StringIO(pairs_csv(key, 2).removeprefix("\ufeff"))))
    assert rows[0] == ["id", "question", "predicted", "reference", "annotator_1", "annotator_2"]
    assert sorted(row[0] for row in rows[1:]) == sorted(dict(key.draws))
    assert all(row[4:] == ["", ""] and row[0].startswith("p") for row in rows[1:])
    bands = [dict(key.draws)[row[0]].similarity >= 0.5 for row in rows[1:]]
    assert bands != sorted(bands)


def test_a_pair_that_is_drawn_twice_is_labelled_once():
    one = made_up(0.4)
    key = key_of([one, Draw(**{**one.__dict__, "model": "other", "kind": ACCEPTED, "accepted": True})])
    assert pairs_csv(key, 1).count("step 0.4") == 1
    found = measure(key, [Annotator("a", {key.draws[0][0]: True})]).matcher[0]
    assert (found.agreement.pairs, found.accepted_precision.pairs) == (1, 1)


@pytest.mark.parametrize(
    "text",
    ["=1+1", " =1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1", '"=1', "\x00=1", "＝1", "a; =1", 'a;"=1', "a;\n@x"],
)
def test_no_cell_begins_a_formula_whichever_way_a_spreadsheet_cuts_it(text):
    made = io.StringIO()
    csv.writer(made, quoting=csv.QUOTE_ALL).writerow([cell(text), ""])
    line = made.getvalue().strip()
    for part in (*next(csv.reader([line])), *next(csv.reader([line], delimiter=";")), *line.split(";")):
        assert not re.match(r"[\s\"]*[=+\-@＝＋－＠]", part)


def test_harmless_texts_stay_as_they_are():
    for text in ("Half of 96 is 48.", "x = 3; y = 4", "5 - 3", "东京, Größe", "'quoted'"):
        assert cell(text) == text


def test_hostile_steps_come_back_as_one_line_a_pair(cohort, chains, population):
    key = key_of(drawn(cohort, chains, population, banded=150))
    rows = list(csv.reader(io.StringIO(pairs_csv(key, 1).removeprefix("\ufeff"))))
    assert {len(row) for row in rows} == {5}
    assert max(len(text) for row in rows for text in row) < LONGEST + 20
    assert not any("\n" in text for row in rows for text in row)


def labelled(tmp_path, key, labels, name="pairs.csv", delimiter=",", encoding="utf-8-sig", annotators=1):
    rows = list(csv.reader(io.StringIO(pairs_csv(key, annotators).removeprefix("\ufeff"))))
    for row in rows[1:]:
        row[4 : 4 + annotators] = labels(row[0])
    made = io.StringIO()
    csv.writer(made, delimiter=delimiter).writerows(rows)
    path = tmp_path / name
    path.write_text(made.getvalue(), encoding)
    return path


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(",", "utf-8"), (";", "utf-8-sig"), ("\t", "utf-16"), (";", "cp1252")]
)
def test_labels_are_read_however_a_spreadsheet_saves_them(tmp_path, delimiter, encoding):
    key = key_of([made_up(0.1), made_up(0.4), made_up(0.6), made_up(0.8)])
    names = [name for name, _ in key.draws]
    words = dict(zip(names, ["Same", " 1 ", "n", ""], strict=True))
    path = labelled(tmp_path, key, lambda name: [words[name]], delimiter=delimiter, encoding=encoding)
    [annotator] = read_labels([path], dict(key.draws))
    assert annotator.labels == {names[0]: True, names[1]: True, names[2]: False}


@pytest.mark.parametrize("mark", ["\ufeff\ufeff", '"\ufeff""id"""', '"\ufeffid"', '\ufeff"id"', "ï»¿"])
def test_a_mark_of_utf_8_that_got_into_the_heading_is_no_part_of_it(tmp_path, mark):
    key = key_of([made_up(0.1), made_up(0.6)])
    path = labelled(tmp_path, key, lambda name: ["same"], encoding="utf-8")
    rest = path.read_text("utf-8").removeprefix("id")
    path.write_text((mark if "id" in mark else f"{mark}id") + rest, "utf-8")
    assert len(read_labels([path], dict(key.draws))[0].labels) == 2


@pytest.mark.parametrize("above", ["sep=;\r\n", '"sep=;"\n', "\ufeffsep=;\n", "\r\n\r\n"])
def test_what_a_spreadsheet_puts_above_the_heading_is_passed_over(tmp_path, above):
    key = key_of([made_up(0.1), made_up(0.6)])
    path = labelled(tmp_path, key, lambda name: ["same"], delimiter=";", encoding="utf-8")
    path.write_text(above + path.read_text("utf-8"), "utf-8")
    assert len(read_labels([path], dict(key.draws))[0].labels) == 2


def test_a_file_that_is_given_twice_is_not_two_people(tmp_path):
    key = key_of([made_up(0.1), made_up(0.6)])
    path = labelled(tmp_path, key, lambda name: ["same"])
    with pytest.raises(CrystalError, match="given twice"):
        read_labels([path, tmp_path / ".." / tmp_path.name / path.name], dict(key.draws))


def test_two_people_may_fill_two_columns_or_two_files(tmp_path):
    key = key_of([made_up(0.1), made_up(0.6)])
    both = labelled(tmp_path, key, lambda name: ["same", "no"], annotators=2)
    one = labelled(tmp_path, key, lambda name: ["same", ""], name="anna.csv", annotators=2)
    other = labelled(tmp_path, key, lambda name: ["no", ""], name="ben.csv", annotators=2)
    assert [a.name for a in read_labels([both], dict(key.draws))] == ["annotator_1", "annotator_2"]
    assert [a.name for a in read_labels([one, other], dict(key.draws))] == ["anna/annotator_1", "ben/annotator_1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("same", "maybe", 1), r"row 2, annotator_1: 'maybe' is no label; write same"),
        (lambda text: text + text.split("\n")[1], r"row 4: id p\w+ comes twice"),
        (lambda text: text + "p000,q,a,b,same\n", r"row 4: id 'p000' is not in the key"),
        (lambda text: text.replace("annotator_1", "label"), r"has no column annotator_1 \(it has: id, .*, label\);"),
        (lambda text: text.replace("same", ""), r"Nothing is labelled in"),
        (lambda text: "", r"has no column id"),
        (lambda text: text.replace("question", "Annotator_1", 1), r"has several columns 'annotator_1'"),
    ],
)
def test_what_is_wrong_with_labels_is_one_sentence(tmp_path, change, message):
    key = key_of([made_up(0.1), made_up(0.6)])
    path = labelled(tmp_path, key, lambda name: ["same"], encoding="utf-8")
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    with pytest.raises(CrystalError, match=message):
        read_labels([path], dict(key.draws))


def test_a_key_comes_back_as_it_was_without_the_texts(tmp_path, cohort, chains, population):
    key = key_of(drawn(cohort, chains, population))
    path = tmp_path / "pairs.key.json"
    path.write_text(key_json(key), "utf-8")
    again = read_key(path)
    assert [(name, one.similarity, one.weight) for name, one in again.draws] == [
        (name, one.similarity, one.weight) for name, one in key.draws
    ]
    assert (again.tau, again.encoder) == (key.tau, key.encoder)
    for text in ("", "[]", "{}", '{"crystal_agreement": 1, "draws": [{}]}', "[" * 100_000):
        path.write_text(text, "utf-8")
        with pytest.raises(CrystalError, match="is no key"):
            read_key(path)
    for name, value in (
        ("similarity", "x"),
        ("similarity", float("nan")),
        ("weight", 0),
        ("kind", "bands"),
        ("weight", "1"),
        ("doc_id", []),
    ):
        written = json.loads(key_json(key))
        written["draws"][0][name] = value
        path.write_text(json.dumps(written), "utf-8")
        with pytest.raises(CrystalError, match="is no key"):
            read_key(path)
    path.write_text(key_json(key).replace('"tau": ', '"tau": "high", "was": '), "utf-8")
    with pytest.raises(CrystalError, match="is no key"):
        read_key(path)
    path.write_text(json.dumps({**json.loads(key_json(key)), "tau": "high"}), "utf-8")
    with pytest.raises(CrystalError, match="is no key"):
        read_key(path)
    path.write_text(key_json(key).replace('"crystal_agreement": 1', '"crystal_agreement": 2'), "utf-8")
    with pytest.raises(CrystalError, match="another version"):
        read_key(path)


def test_the_papers_counts_give_another_kappa_than_it_prints():
    paper = paper_study()
    assert (paper["pairs"], paper["false_positives"], paper["false_negatives"]) == (100, 16, 0)
    assert round(paper["kappa"], 3) == 0.685
    key = key_of([made_up(0.1)])
    annotator = Annotator("a", {key.draws[0][0]: False})
    said = " ".join(sentences(key, [annotator], measure(key, [annotator])))
    assert "kappa 0.685, not the 0.534 that it prints" in said


def said_of(key):
    annotator = Annotator("a", {key.draws[0][0]: False})
    return " ".join(sentences(key, [annotator], measure(key, [annotator])))


def test_what_flatters_the_matcher_is_said():
    plain = key_of([made_up(0.6, True, ACCEPTED), made_up(0.1)])
    assert "stand-in" not in said_of(plain)
    assert "cannot tell apart" not in said_of(plain)
    copied = key_of([made_up(1.0, True, ACCEPTED), made_up(0.6, True, ACCEPTED), made_up(1.0)])
    assert "1 of the 2 accepted pairs are two sentences that the encoder cannot tell apart" in said_of(copied)
    assert "1 of the 1 models" in said_of(replace(copied, scripted=("model", "never drawn")))


def test_another_matcher_than_the_papers_is_named_beside_its_study():
    other = said_of(replace(key_of([made_up(0.1)]), tau=0.4))
    assert "Not comparable with it: encoder words and threshold 0.4 instead of the paper's." in other
    same = replace(key_of([made_up(0.1)]), encoder="sentence-transformers/all-distilroberta-v1@abc")
    assert "Not comparable" not in said_of(same)


def test_a_key_of_before_says_nothing_of_stand_ins_and_is_read(tmp_path):
    file = tmp_path / "old.key.json"
    stated = json.loads(key_json(key_of([made_up(0.1)])))
    del stated["scripted"]
    file.write_text(json.dumps(stated), "utf-8")
    assert read_key(file).scripted == ()


def test_labels_of_the_papers_table_give_its_agreement():
    counts = [(0.1, False, 33), (0.3, False, 14), (0.4, True, 13), (0.4, False, 6), (0.6, True, 16), (0.6, False, 9)]
    counts += [(0.8, True, 8), (0.8, False, 1)]
    made = [
        (made_up(similarity, doc_id=100 * place + n), label)
        for place, (similarity, label, count) in enumerate(counts)
        for n in range(count)
    ]
    key = key_of([draw for draw, _ in made])
    labels = {name: label for (name, _), (_, label) in zip(key.draws, made, strict=True)}
    [found] = measure(key, [Annotator("a", labels)]).matcher
    assert [round(band.agreement.mean, 3) for band in found.bands] == [1, 1, 0.684, 0.64, 0.889]
    assert found.agreement.mean == 0.84
    assert found.precision.mean == pytest.approx(37 / 53)
    assert found.recall.mean == 1
    assert found.kappa.value == pytest.approx(paper_study()["kappa"])
    assert found.kappa.low < found.kappa.value < found.kappa.high


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=4, max_size=40))
def test_kappa_is_what_a_well_known_library_computes(pairs):
    first, second = map(list, zip(*pairs, strict=True))
    found = kappa(first, second, range(len(pairs)))
    if len(set(first)) == 1 or len(set(second)) == 1:
        # One label throughout has chance for its only judge: 0, whatever the labels.
        assert (found.value, found.low, found.high, found.pairs) == (None, None, None, len(pairs))
    else:
        assert found.value == pytest.approx(cohen_kappa_score(first, second))


def test_items_with_many_pairs_make_the_interval_wider():
    """Ten items of ten equal pairs tell as much as ten pairs."""
    first, second = [True, False] * 5, [True, True, False, False, True, False, True, False, True, False]
    first, second = ([label for label in labels for _ in range(10)] for labels in (first, second))
    alone = kappa(first, second, range(100))
    together = kappa(first, second, [place // 10 for place in range(100)])
    assert alone.value == together.value
    assert together.high - together.low > alone.high - alone.low


def test_precision_of_accepted_pairs_is_weighted():
    key = key_of([made_up(0.4, True, ACCEPTED, 1, weight=30.0), made_up(0.6, True, ACCEPTED, 2, weight=10.0)])
    labels = dict(zip((name for name, _ in key.draws), (False, True), strict=True))
    [found] = measure(key, [Annotator("a", labels)]).matcher
    assert found.accepted_precision.mean == 0.25
    assert found.agreement.pairs == 0


def test_equal_weights_are_no_weights_and_uneven_ones_widen_the_interval():
    values = [True] * 6 + [False] * 4
    assert share(values, [7.0] * 10) == share(values)
    uneven = share(values, [9.0, 1, 1, 1, 1, 1, 9, 1, 1, 1])
    assert uneven.high - uneven.low > share(values).high - share(values).low


def test_the_commands_draw_label_and_score(folder, words_folder, tmp_path, capsys):
    pairs = tmp_path / "labels" / "pairs.csv"
    arguments = ["agreement", "sample", str(folder), "-n", "30", "--accepted", "10", "--encoder", str(words_folder)]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "-o", str(pairs)])
    assert ended.value.code == 0
    assert "Drew 30 pairs by band and 10 accepted ones" in capsys.readouterr().out
    instructions = pairs.with_suffix(".txt").read_text("utf-8")
    assert "annotator_1, annotator_2" in instructions
    assert "pairs.key.json" in instructions
    with pytest.raises(SystemExit, match="is there already and may hold labels"):
        main([*arguments, "-o", str(pairs)])

    key = read_key(pairs.with_suffix(".key.json"))
    above = {name: draw.similarity > key.tau for name, draw in key.draws}
    labelled(pairs.parent, replace_texts(key, pairs), lambda name: ["same" if above[name] else "no", ""], annotators=2)
    with pytest.raises(SystemExit) as ended:
        main(["agreement", "score", str(pairs)])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "One annotator: how far people agree with each other is not known." in printed
    found = json.loads((pairs.parent / "agreement.json").read_text("utf-8"))
    assert found["matcher"][0]["kappa"]["value"] == 1
    assert found["matcher"][0]["accepted_precision"]["mean"] == 1
    assert "| Cohen's kappa | 1.000 |" in (pairs.parent / "agreement.md").read_text("utf-8")


def replace_texts(key, pairs):
    """The key with the ids that the file has; its texts do not matter to labels."""
    rows = list(csv.reader(io.StringIO(pairs.read_text("utf-8-sig"))))
    assert {row[0] for row in rows[1:]} == set(dict(key.draws))
    return key
