"""From responses to records, without a harness around it: the filter, the hooks, what a run observes."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
import synthetic
import yaml
from lmms_eval.api.instance import Instance, TokenCounts
from lmms_eval_crystal.crystal_task import aggregators, hooks, judge, observe, scoring
from lmms_eval_crystal.crystal_task.fields import pack_fields
from lmms_eval_crystal.crystal_task.plugin import TASKS
from lmms_eval_crystal.crystal_task.response import PLACEHOLDER_STEP
from lmms_eval_crystal.crystal_task.scoring import LOADED, NoteResponses
from lmms_eval_crystal.crystal_task.summary import differences_from_paper
from lmms_eval_crystal.metrics import EmbeddingTable, GenerationSignature, ScorerSignature
from lmms_eval_crystal.metrics.cache import PROBES

COUNT = 5


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """The task ``crystal`` on a synthetic dataset, as the harness holds it."""
    for name in ("CRYSTAL_TAU", "CRYSTAL_PROMPT_FILE", "CRYSTAL_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    made = synthetic.dataset(COUNT)
    made.to_parquet(tmp_path / "data.parquet")
    monkeypatch.setenv("CRYSTAL_DATASET", str(tmp_path / "data.parquet"))
    monkeypatch.setenv("CRYSTAL_ENCODER", "minilm")
    return hooks.prepare_crystal(made)


def perfect(doc) -> str:
    return json.dumps({"reasoning_steps": doc["reference_steps"], "answer": doc["answer"]})


def instance(index: int, text: str, tokens: int | None = None) -> Instance:
    made = Instance(
        "generate_until",
        ("prompt", None, {"max_new_tokens": 50, "temperature": 0.0}, index, "crystal", "test"),
        0,
        {"task": "crystal", "doc_id": index, "repeats": 1},
    )
    made.resps.append(text)
    made.token_counts.append(None if tokens is None else TokenCounts(output_tokens=tokens))
    return made


@pytest.fixture
def observed(monkeypatch):
    """Stands for the harness: ``observed(instances)`` makes them the requests of the run in progress."""

    def observe_run(instances, limit=None):
        task = SimpleNamespace(instances=instances, config=SimpleNamespace(generation_kwargs={"max_new_tokens": 50}))
        run = observe.Run(observe.Model(id="some/model"), {"group": {"crystal": task}}, limit, 0)
        monkeypatch.setattr(observe, "_current", run)
        return [made.resps for made in instances]

    return observe_run


def test_a_shard_is_scored_by_document_whatever_its_order_and_place(docs, observed):
    places = [3, 1]
    instances = [instance(index, perfect(docs[index]), tokens=20) for index in places]
    texts = NoteResponses().apply(observed(instances), docs)
    assert texts == [perfect(docs[index]) for index in places]
    for index, text in zip(places, texts, strict=True):
        record = hooks.process_results(docs[index], [text])
        assert record["match_f1"] == record["accuracy"] == record["accuracy_strict"] == 1
        assert record["crystal"]["model"] == "some/model"
        assert record["crystal"]["output_tokens"] == 20
        assert record["truncated"] == 0
        assert "|tokens:50|" in record["crystal"]["generation"]


def test_without_knowing_the_run_the_same_scores_are_made_on_demand(docs):
    texts = NoteResponses().apply([[perfect(docs[index])] for index in range(COUNT)], docs)
    with ThreadPoolExecutor(4) as pool:
        records = list(pool.map(lambda index: hooks.process_results(docs[index], [texts[index]]), range(COUNT)))
    assert [record["match_f1"] for record in records] == [1.0] * COUNT
    assert records[2]["crystal"]["generation"] == "unknown"


def test_a_document_asked_for_with_another_text_is_scored_anew(docs, observed):
    instances = [instance(0, perfect(docs[0]))]
    NoteResponses().apply(observed(instances), docs)
    assert hooks.process_results(docs[0], ["nothing here"])["match_f1"] == 0
    assert hooks.process_results(docs[0], [perfect(docs[0])])["match_f1"] == 1


def test_tokens_at_the_limit_are_a_truncation(docs, observed):
    instances = [instance(0, perfect(docs[0]), tokens=50)]
    [text] = NoteResponses().apply(observed(instances), docs)
    assert hooks.process_results(docs[0], [text])["truncated"] == 1


def test_lone_surrogates_never_reach_the_samples_file(docs, observed):
    bad = perfect(docs[0]).replace("green", "gr\ud83den \ud83d\ude00")
    packed = pack_fields(["a \ud800 step"], "\udfff")
    instances = [instance(0, bad), instance(1, packed)]
    texts = NoteResponses().apply(observed(instances), docs)
    for index, text in enumerate(texts):
        record = hooks.process_results(docs[index], [text])
        json.dumps([record, text, instances[index].resps], ensure_ascii=False).encode("utf-8")
        if index == 0:
            assert record["crystal"]["status"] == "recovered"
            assert "gr\ufffden \U0001f600" in text, "a pair of surrogates is a character"


def test_a_placeholder_counts_as_one_step_that_matches_nothing(docs):
    record = hooks.process_results(docs[0], ["I cannot help with that."])
    assert record["steps"] == record["lis"] == record["kendall_tau"] == 1
    assert record["match_f1"] == record["precision"] == record["accuracy"] == record["format_usable"] == 0
    assert record["crystal"]["predicted_steps"] == [PLACEHOLDER_STEP]
    assert "lis_multi" not in record


def test_fields_are_taken_as_they_are(docs):
    steps = ['1. He said "{"', "  ", "<think>no</think>"]
    record = hooks.process_results(docs[0], [pack_fields(steps, "\\boxed{B}")])
    assert record["crystal"]["predicted_steps"] == steps
    assert record["crystal"]["answer"] == "\\boxed{B}"
    assert record["crystal"]["status"] == "valid"
    assert json.loads(record["crystal"]["response"])["reasoning_steps"] == steps


def test_metrics_of_a_source_belong_to_its_items_only(docs):
    record = hooks.process_results(docs[0], [perfect(docs[0])])
    assert record["match_f1_mathvision"] == 1
    assert not [name for name in record if name.endswith(("_mmvp", "_plotqa"))]


def test_the_judge_decides_only_what_no_rule_settles(docs, observed, monkeypatch):
    asked = []

    class Judge:
        name = "openai:judge@0"

        def decide(self, cases):
            asked.extend(cases)
            return [True for _ in cases]

    task = LOADED["crystal"]
    monkeypatch.setattr(task, "judge", Judge())
    vague = json.dumps({"reasoning_steps": [], "answer": "a shade between yellow and blue"})
    instances = [instance(0, vague), instance(1, perfect(docs[1])), instance(2, "")]
    texts = NoteResponses().apply(observed(instances), docs)
    records = [hooks.process_results(docs[index], [texts[index]]) for index in range(3)]
    assert [case.answer for case in asked] == ["a shade between yellow and blue"]
    assert [record["accuracy_judged"] for record in records] == [1, 1, 0]
    assert records[0]["accuracy_strict"] == 0
    assert "|judge:openai:judge@0" in records[0]["crystal"]["scorer"]
    assert isinstance(asked[0], judge.JudgeCase)


def test_a_judge_that_cannot_work_stops_the_run_early(tmp_path, monkeypatch, docs):
    monkeypatch.setenv("CRYSTAL_JUDGE", "no_such_api:model")
    with pytest.raises(SystemExit, match=r"CRYSTAL: .*no_such_api"):
        hooks.prepare_crystal(synthetic.dataset(2))


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("CRYSTAL_TAU", "high", "must be a number from -1 to 1"),
        ("CRYSTAL_ALPHA", "2", "must be a number from 0 to 1"),
        ("CRYSTAL_ALPHA", "nan", "must be a number from 0 to 1"),
        ("CRYSTAL_ENCODER_DEVICE", "cuda:99", "CRYSTAL_ENCODER_DEVICE=cuda:99 cannot be used here"),
        ("CRYSTAL_ENCODER_DEVICE", "gpu", "CRYSTAL_ENCODER_DEVICE=gpu cannot be used here"),
        ("CRYSTAL_PROMPT_FILE", "/no/such/file", "prompt file /no/such/file cannot be read"),
    ],
)
def test_settings_out_of_range_stop_the_run(docs, monkeypatch, variable, value, says):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit, match=f"CRYSTAL: .*{says}"):
        hooks.prepare_crystal(synthetic.dataset(2))


def test_settings_show_in_the_signature(docs, monkeypatch):
    monkeypatch.setenv("CRYSTAL_TAU", "0.5")
    made = hooks.prepare_crystal(synthetic.dataset(COUNT))
    assert "|tau:0.5|" in hooks.process_results(made[0], ["x"])["crystal"]["scorer"]


def test_chat_and_simple_models_see_the_same_text_and_picture(docs):
    [turn] = hooks.doc_to_messages(docs[1])
    assert turn["content"][0]["text"] == hooks.doc_to_text(docs[1])
    assert "A) red\nB) green\nC) blue" in hooks.doc_to_text(docs[1])
    assert turn["content"][1]["url"].tobytes() == hooks.doc_to_visual(docs[1])[0].tobytes()
    assert hooks.doc_to_target(docs[1]) == "B"


@pytest.mark.parametrize(
    ("limit", "offset", "items"),
    [(None, 0, range(10)), (-1, 4, range(4, 10)), (3, 8, [8, 9]), (0.25, 0, [0, 1, 2]), (4, 20, [])],
)
def test_a_run_knows_which_items_it_covers(limit, offset, items):
    assert observe.Run(observe.Model(), {}, limit, offset).covered(list(range(10))) == list(items)


def test_the_signature_identifies_the_items_that_were_scored(docs):
    parts = [observe.Run(observe.Model(), {}, limit, offset) for limit, offset in ((2, 0), (2, 1), (None, 0))]
    signatures = [LOADED["crystal"].scorer_signature(part) for part in parts]
    assert len({signature.data for signature in signatures}) == 3
    assert [signature.items for signature in signatures] == [2, 2, COUNT]


def test_predictions_made_elsewhere_are_not_signed_with_our_prompt(docs):
    elsewhere = observe.generation_signature(observe.Model(id="mine", replayed=""), "0f0f0f0f", {"temperature": 0})
    assert (elsewhere.prompt, elsewhere.temperature, elsewhere.tokens) == ("unknown", "unknown", "unknown")
    assert differences_from_paper(LOADED["crystal"].scorer_signature(None), elsewhere, "/copy")[2].startswith(
        "predictions made elsewhere"
    )
    ours = "prompt:aa|system:none|model:m@r|adapter:a|dtype:d|tokens:9|temperature:0|pixels:p|scripted:yes"
    carried = observe.generation_signature(observe.Model(id="mine", replayed=ours), "0f0f0f0f", {})
    assert (carried.prompt, carried.tokens, carried.scripted) == ("aa", "9", True)
    assert carried.model == "mine@unknown"


def yaml_of(name):
    class Names(yaml.SafeLoader):
        """Reads ``!function`` as the name behind it."""

    Names.add_constructor("!function", lambda loader, node: node.value)
    return yaml.load((TASKS / name).read_text("utf-8"), Names)


def test_the_yaml_names_one_of_our_aggregators_for_every_metric():
    listed = yaml_of("_crystal_common")["metric_list"]
    assert [entry["metric"] for entry in listed] == [*aggregators.METRICS]
    for entry in listed:
        module, _, function = entry["aggregation"].rpartition(".")
        assert module == aggregators.__name__
        assert function == f"macro_{entry['metric']}"
        assert getattr(aggregators, function)([0.0, 1.0]) == 0.5


def test_the_version_in_the_signature_is_that_of_the_yaml(docs):
    version = yaml_of("crystal.yaml")["metadata"]["version"]
    assert hooks.process_results(docs[0], ["x"])["crystal"]["scorer"].startswith(f"crystal|v:{version}|")


def test_nothing_is_computed_before_it_is_asked_for(docs, observed, monkeypatch):
    """With ``--predict_only`` the harness asks for no record."""
    encoded = []
    monkeypatch.setattr(LOADED["crystal"].table, "add", encoded.extend)
    NoteResponses().apply(observed([instance(0, perfect(docs[0]))]), docs)
    assert not encoded


def covered(count: int, ranks: int, rank: int = 0) -> list[int]:
    """The documents of a rank of a run over the first ``count``, as the harness shares them out."""
    return list(range(rank, count, ranks))


@pytest.fixture
def encoded(docs, monkeypatch, tmp_path):
    """What the encoder is asked for, with a table and a cache of its own."""
    task = LOADED["crystal"]
    asked = []
    encode = task.encoder.encode
    monkeypatch.setattr(task.encoder, "encode", lambda texts: asked.extend(texts) or encode(texts))
    monkeypatch.setattr(task, "table", EmbeddingTable(task.encoder, tmp_path / "embeddings"))
    return asked


def records_of(docs, observe_run, indices, limit=None, text=perfect):
    instances = [instance(index, text(docs[index])) for index in indices]
    texts = NoteResponses().apply(observe_run(instances, limit), docs)
    return {index: hooks.process_results(docs[index], [said]) for index, said in zip(indices, texts, strict=True)}


def other_steps(doc) -> str:
    return json.dumps({"reasoning_steps": [f"{step} It is on page 3." for step in doc["reference_steps"]]})


def test_a_run_with_a_limit_embeds_the_references_of_its_items_only(docs, observed, encoded):
    records_of(docs, observed, covered(2, ranks=1), limit=2)
    steps = {step for index in range(2) for step in docs[index]["reference_steps"]}
    assert sorted(text for text in encoded if text not in PROBES) == sorted(steps)


def test_references_are_embedded_once_for_all_runs_models_and_thresholds(docs, observed, encoded, monkeypatch):
    task = LOADED["crystal"]
    records_of(docs, observed, range(COUNT), text=other_steps)
    encoded.clear()
    monkeypatch.setattr(task, "table", EmbeddingTable(task.encoder, task.table._cache_folder))
    monkeypatch.setattr(task, "settings", replace(task.settings, tau=0.6))
    records_of(docs, observed, range(COUNT), text=other_steps)
    references = {step for doc in docs for step in doc["reference_steps"]}
    assert len(encoded) > len(PROBES)
    assert not references & set(encoded)


def test_scores_are_the_same_from_a_cold_a_filled_and_no_cache(docs, observed, encoded, monkeypatch, tmp_path):
    task = LOADED["crystal"]
    runs = []
    for folder in (tmp_path / "new", tmp_path / "new", None):
        monkeypatch.setattr(task, "table", EmbeddingTable(task.encoder, folder))
        runs.append(records_of(docs, observed, range(COUNT), text=other_steps))
    assert runs[0] == runs[1] == runs[2]


def test_the_null_of_an_item_is_the_same_whatever_the_ranks(docs, observed):
    whole = records_of(docs, observed, covered(COUNT, ranks=1), text=other_steps)
    parts = [records_of(docs, observed, covered(COUNT, 3, rank), text=other_steps) for rank in range(3)]
    assert {index: record for part in parts for index, record in part.items()} == whole
    assert all(0 < record["null_f1"] <= 1 for record in whole.values())
    for record in whole.values():
        assert record["f1_above_null"] == record["match_f1"] - record["null_f1"]
        assert record["crystal"]["optimal_f1"] >= record["match_f1"] == record["crystal"]["first_f1"][-1]


def test_a_run_of_one_item_has_no_null(docs, observed):
    [record] = records_of(docs, observed, [0], limit=1).values()
    assert not {"null_f1", "f1_above_null"} & record.keys()
    [record] = records_of(docs, observed, [0], limit=2).values()
    assert {"null_f1", "f1_above_null"} <= record.keys()


def test_a_response_that_cannot_be_read_has_a_null_of_zero(docs):
    record = hooks.process_results(docs[0], ["I cannot help with that."])
    assert record["null_f1"] == record["f1_above_null"] == record["crystal"]["optimal_f1"] == 0
    assert record["crystal"]["first_f1"] == [0]


def test_pairs_that_disagree_are_marked_in_the_record(docs):
    """``conflicts`` points into ``pairs``."""
    steps = ["Its colour is not green, as on page 0.", "Picture 7 shows a single square."]
    record = hooks.process_results(docs[0], [pack_fields(steps, "green")])["crystal"]
    marked = [[record["pairs"][place][:2], kind] for place, kind in record["conflicts"]]
    assert marked == [[[1, 0], "number"], [[0, 2], "negation"]]


def test_the_items_are_hashed_once_for_all_signatures_of_a_run(docs, observed, monkeypatch):
    hashed = []
    monkeypatch.setattr(scoring, "data_hash", lambda items: hashed.append(len(list(items))) or "00000000")
    records_of(docs, observed, range(2), limit=2)
    task = LOADED["crystal"]
    for _ in range(3):
        task.scorer_signature(observe.current_run())
    assert hashed == [2]


def test_no_image_is_decoded_for_scoring(docs, observed, monkeypatch):
    plain = docs.remove_columns("image")
    monkeypatch.setattr("PIL.Image.open", lambda *arguments, **options: pytest.fail("an image was opened"))
    records_of(plain, observed, range(COUNT))


def test_aggregators_refuse_nan_by_name():
    with pytest.raises(SystemExit, match="recall is not a number for 1 of 2 items"):
        aggregators.macro_recall([1.0, float("nan")])
    with pytest.raises(AttributeError):
        _ = aggregators.macro_nothing


def test_what_differs_from_the_paper_is_listed():
    paper = ScorerSignature(1, "d", 6372, "released", "sentence-transformers/all-distilroberta-v1@main", 0.35, 0.3)
    generation = GenerationSignature("d54f151f", "none", "m@r", "a", "float16", "4096", "0", "u", False)
    assert differences_from_paper(paper, generation, "waybarrios/CRYSTAL") == []
    assert differences_from_paper(paper, generation, "/copy") == ["data from /copy instead of waybarrios/CRYSTAL"]
    short, warm = replace(paper, items=8, tau=0.5), replace(generation, temperature="0.7", scripted=True)
    assert differences_from_paper(short, warm, "/copy") == [
        "8 items instead of 6,372",
        "tau 0.5 and alpha 0.3 instead of 0.35 and 0.3",
        "temperature 0.7 instead of greedy decoding",
        "a scripted stand-in, not a model",
    ]


def test_what_a_model_tells_of_itself_is_read_before_it_is_cleaned_away():
    network = SimpleNamespace(dtype="torch.bfloat16", config=SimpleNamespace(_commit_hash="0123456789abcdef"))
    model = SimpleNamespace(
        _model=network, is_simple=False, system_prompt="You are kind.", min_pixels=3136, max_pixels=602112
    )
    arguments = SimpleNamespace(model_args="pretrained=Some/Model-7B,device=cuda")
    told = observe.describe_model(model, arguments, "ignored by chat models")
    assert (told.id, told.revision, told.dtype) == ("Some/Model-7B", "0123456789ab", "bfloat16")
    assert (told.pixels, told.adapter, told.scripted) == ("3136-602112", "SimpleNamespace/chat", False)
    assert told.system == observe.short_hash("You are kind.")
    simple = observe.describe_model(SimpleNamespace(is_simple=True), None, "Be brief.")
    assert (simple.system, simple.id) == (observe.short_hash("Be brief."), "SimpleNamespace")
