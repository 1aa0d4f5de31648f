"""Nothing that is read is run, and the limits of the libraries behind parser and answer rules hold in threads too."""

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmms_eval_crystal
import pytest
import yaml
from lmms_eval_crystal.crystal_task.plugin import _PlainLoader
from lmms_eval_crystal.crystal_task.response import parse_response
from lmms_eval_crystal.metrics import judge_answer

ROOT = Path(lmms_eval_crystal.__path__[0])
SHIPPED = [
    file
    for folder in ("cli", "configs", "crystal_task", "metrics", "model_adapters", "reports")
    for file in sorted((ROOT / folder).rglob("*.py"))
] + sorted(ROOT.glob("*.py"))
#: Modules that make objects of bytes, and functions that make code of text.
UNPICKLERS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
RUNNERS = {"eval", "exec", "compile", "__import__"}
#: Loaders that can do so unless they are told not to, by the last two parts of their name.
LOADERS = {"torch.load", "yaml.unsafe_load", "yaml.full_load", "pd.read_pickle", "pandas.read_pickle", "os.system"}
#: Of YAML: the safe one, and those derived from it that take less.
SAFE_LOADERS = {"yaml.SafeLoader", "_PlainLoader", "_WithoutAliases"}


def faults_of(source: str) -> list[str]:
    """What a file does that could run what it reads."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in UNPICKLERS]
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] in UNPICKLERS:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in RUNNERS or ".".join(name.split(".")[-2:]) in LOADERS:
                found.append(name)
            if name == "yaml.load" and ast.unparse(node.args[1]) not in SAFE_LOADERS:
                found.append(name)
            for keyword in node.keywords:
                if keyword.arg in ("allow_pickle", "shell") and getattr(keyword.value, "value", True):
                    found.append(f"{name}({keyword.arg})")
    return found


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: str(file.relative_to(ROOT)))
def test_nothing_that_is_read_is_unpickled_or_evaluated(file):
    assert faults_of(file.read_text("utf-8")) == []


def test_the_search_finds_what_it_looks_for():
    code = (
        "import pickle\nfrom joblib import load\neval(x)\ntorch.load(f)\nnp.load(f, allow_pickle=True)\nyaml.load(f, L)"
    )
    assert len(faults_of(code)) == 6
    assert faults_of("network.eval()\nre.compile(x)\nyaml.load(f, yaml.SafeLoader)\nrun(x, shell=False)") == []


def test_the_loader_of_task_files_is_a_safe_one():
    assert issubclass(_PlainLoader, yaml.SafeLoader)


RESPONSES = {
    "inner quotes": '{"reasoning_steps": ["' + 'a "b" ' * 16_000 + '"], "answer": "B"}',
    "brackets": "[" * 100_000,
    "braces": '{"steps":' * 11_000,
    "cut off": '{"reasoning_steps": ["' + 'The bar shows 20", "' * 5_000,
}
ANSWERS = {
    "tower of powers": "9^9^9^9^9",
    "powers of sums": "(x+y+z+w)^{12}(1+x)^{12}",
    "nested functions": r"\exp(\exp(\exp(\exp(9))))",
    "factorials": "(9999999!)!",
    "formula": r"\frac{\sqrt{8}}{2}",
    "digits": "9" * 10_000,
}


def in_threads(function, arguments):
    """Results of a function in four threads that are not the main one."""
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda argument: (function(argument), threading.current_thread()), arguments))
    assert all(thread is not threading.main_thread() for _, thread in results)
    return [result for result, _ in results]


def test_the_gates_of_the_parser_hold_in_threads():
    texts = list(RESPONSES.values())
    assert in_threads(parse_response, texts) == [parse_response(text) for text in texts]


def test_the_gates_of_the_algebra_hold_in_threads():
    def judged(answer: str) -> tuple[bool, bool]:
        verdict = judge_answer(answer, r"\sqrt{2}")
        return verdict.paper, verdict.strict

    answers = [*ANSWERS.values()] * 4
    verdicts = in_threads(judged, answers)
    assert verdicts == [judged(answer) for answer in answers]
    assert [strict for _, strict in verdicts[: len(ANSWERS)]] == [name == "formula" for name in ANSWERS]
