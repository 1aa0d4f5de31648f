"""The strict rule on formulas, tuples, sets and intervals, and the gate and the process behind it."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lmms_eval_crystal.metrics import algebra, algebra_worker
from lmms_eval_crystal.metrics.algebra import Algebra
from lmms_eval_crystal.metrics.math_gate import to_latex
from lmms_eval_crystal.metrics.strict_rule import strict_verdict

RIGHT = [
    (r"\frac{\pi}{2}", r"\pi/2"),
    ("π/2", r"\frac{\pi}{2}"),
    ("2*sqrt(2)", r"\sqrt{8}"),
    ("2√2", r"2\sqrt{2}"),
    (r"\sqrt{2}", "1.41"),
    (r"\sqrt{16}", "4"),
    ("2^3", "8"),
    (r"6\sqrt{2} cm", r"6\sqrt{2}"),
    (r"36\pi", "36π cm^2"),
    ("x+1", "1+x"),
    ("(x+1)^2", "x^2+2x+1"),
    ("y = 2x + 1", "2x+1"),
    ("(2, 3)", "(2,3)"),
    ("(2.0, 3)", "(2,3)"),
    ("{2,1}", r"\{1,2\}"),
    ("[0, 1)", "[0,1)"),
    ("$(2,3)$", "(2, 3)"),
    (r"(\frac{1}{2}, 3)", "(0.5, 3)"),
    ("2, 3", "2,3"),
    (r"\frac{3}{4}\pi", r"0.75\pi"),
    ("5", r"\sqrt{25}"),
    (r"2\pi", "6.28"),
    ("x > 5", "5 < x"),
    ("2^{10}", "1024"),
    (r"\dfrac{3}{5}", "0.6"),
    (r"\frac{10}{2}", "5"),
    (r"3 \frac{1}{2}", "3.5"),
    (r"\theta", "θ"),
    ("-x", "-x"),
    ("∞", r"\infty"),
    ("x≥3", "x >= 3"),
    ("x=3, y=4", "(3,4)"),
    ("y = 4 and x = 3", "(3,4)"),
    ("5!", "120"),
    ("5!/3!", "20"),
    (r"\binom{5}{2}", "10"),
    ("10!", "3628800"),
]
WRONG = [
    ("1.41", r"\sqrt{2}"),
    (r"6\sqrt{2} m", r"6\sqrt{2} cm"),
    ("x-1", "x+1"),
    ("(2,3)", "(3,2)"),
    ("(0,1)", "[0,1]"),
    ("3, 2", "2, 3"),
    ("A-B", "AB"),
    ("9^9^9^9", "1"),
    ("x>5", "x<5"),
    ("10", r"\log 100"),
    ("-x", "x"),
    (r"-\pi", r"\pi"),
    (r"-\infty", r"\infty"),
    (r"-\frac{a}{b}", r"\frac{a}{b}"),
    ("=", "≠"),
    ("∈", "∉"),
    ("<", "≮"),
    ("(a+b)c", "a+bc"),
    ("a(b+c)", "ab+c"),
    ("x=4, y=3", "(3,4)"),
    ("a=3, b=4", "x=3, y=4"),
]


@pytest.mark.parametrize(("prediction", "reference"), RIGHT)
def test_equal_mathematics_is_right(prediction: str, reference: str) -> None:
    assert strict_verdict(prediction, reference).correct


@pytest.mark.parametrize(("prediction", "reference"), WRONG)
def test_different_mathematics_is_wrong(prediction: str, reference: str) -> None:
    assert not strict_verdict(prediction, reference).correct


@pytest.mark.parametrize(
    "formula",
    [
        "9^9^9",
        "9^{9^9}",
        "(9999!)!",
        "20!",
        "5!!",
        r"\binom{999999}{500000}",
        r"\binom{99}{50}",
        r"\sum_{k=1}^{9} k",
        r"\int_0^1 x dx",
        "(x+y+z)^{99}",
        "((9^{99})^{99})^{99}",
        "(" * 50 + "x" + ")" * 50,
        "1" * 100,
        "x + " * 100 + "x",
        "(x",
        "x)",
        "the lamp",
        "__import__('os')",
    ],
)
def test_the_gate_keeps_away_what_is_large_or_no_formula(formula: str) -> None:
    assert to_latex(formula) is None


def test_a_value_is_known_to_many_figures() -> None:
    value = Algebra().value("sqrt(2)")
    assert value is not None
    assert abs(value**2 - 2) < 1e-25


@pytest.mark.parametrize("formula", ["x", r"\sqrt{-1}", r"\frac{1}{0}"])
def test_what_is_no_real_number_has_no_value(formula: str) -> None:
    assert Algebra().value(formula) is None


def test_a_formula_that_takes_too_long_is_unsettled_and_the_next_one_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An answer that loops stands for a formula without an end; time is processor time, whatever else runs."""
    looping = tmp_path / "worker.py"
    code = Path(algebra_worker.__file__).read_text("utf-8")
    loop = "    if 'w' in request[1]:\n        while True:\n            pass\n    from math_verify import verify\n"
    looping.write_text(code.replace("    from math_verify import verify\n", loop, 1))
    worker = algebra._Worker()
    monkeypatch.setattr(algebra, "_WORKER", worker)
    monkeypatch.setattr(algebra, "_WORKER_SCRIPT", looping)
    slow = Algebra(budget_s=0.2)
    assert slow.equal("w + 43", "43 + w") is None
    assert slow.equal("x + 43", "43 + x") is None, "the budget of this verdict is spent"
    process = worker._process
    assert Algebra().equal("x + 43", "43 + x") is True
    assert worker._process is process, "the worker that stopped in time goes on"
    worker.stop()


def test_a_single_operation_without_an_end_costs_the_worker_and_the_next_one_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No handler of Python's runs inside of one; the formula stands for those that pass the gate unforeseen."""
    stuck = tmp_path / "worker.py"
    code = Path(algebra_worker.__file__).read_text("utf-8")
    power = "    if 'w' in request[1]:\n        7 ** 10**9\n    from math_verify import verify\n"
    stuck.write_text(code.replace("    from math_verify import verify\n", power, 1))
    worker = algebra._Worker()
    monkeypatch.setattr(algebra, "_WORKER", worker)
    monkeypatch.setattr(algebra, "_WORKER_SCRIPT", stuck)
    assert Algebra().equal("x + 46", "46 + x") is True
    begin = time.monotonic()
    assert Algebra(budget_s=0.2).equal("w + 46", "46 + w") is None
    assert time.monotonic() - begin < algebra._PATIENCE_S / 2
    assert Algebra().equal("x + 47", "47 + x") is True
    worker.stop()


@pytest.mark.parametrize("formula", [r"\exp(\exp(99))", r"\exp(-\exp(99))", r"\exp(999999999999)"])
def test_a_value_beyond_all_figures_is_none_and_costs_no_time(formula: str) -> None:
    begin = time.thread_time()
    assert Algebra().value(formula) is None
    assert strict_verdict(formula, "20").correct is False
    assert time.thread_time() - begin < 1


@pytest.mark.parametrize("formula", ["1E999999999", "1 e 999999999", r"\frac{1e-999999999}{2}", "2.e+99999999"])
def test_powers_of_ten_without_bounds_never_reach_the_algebra(formula: str) -> None:
    assert to_latex(formula) is None


def test_a_worker_that_is_lost_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = algebra._Worker()
    monkeypatch.setattr(algebra, "_WORKER", worker)
    assert Algebra().equal("x + 44", "44 + x") is True
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    assert Algebra().equal("x + 45", "45 + x") is True
    worker.stop()


def test_threads_share_one_worker() -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: Algebra().equal(f"x + {number}", f"{number} + x"), range(20)))
    assert answers == [True] * 20


def test_without_a_worker_a_formula_is_unsettled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "worker.py"
    broken.write_text("raise SystemExit(1)")
    monkeypatch.setattr(algebra, "_WORKER_SCRIPT", broken)
    monkeypatch.setattr(algebra, "_WORKER", algebra._Worker())
    verdict = strict_verdict("x + 41", "41 + x")
    assert (verdict.correct, verdict.settled) == (False, False)


def test_plain_answers_neither_import_sympy_nor_start_a_process() -> None:
    code = (
        "import sys; from lmms_eval_crystal.metrics.strict_rule import strict_verdict; "
        "from lmms_eval_crystal.metrics import algebra; "
        "assert strict_verdict('12 cm', '12').correct and strict_verdict('1/2', '0.5').correct; "
        "assert 'sympy' not in sys.modules and algebra._WORKER._process is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
