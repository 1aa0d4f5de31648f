"""Two gradients that conflict are each projected on the other before they add up; others add up as they are."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.surgery import GradientSurgeon, check_surgery, project
from torch.nn import Parameter

vectors = st.lists(st.integers(-8, 8).map(float), min_size=3, max_size=3)


def joined(answer: list[float], steps: list[float]) -> tuple[list[float], bool]:
    gradient, comparison = project([torch.tensor(answer)], [torch.tensor(steps)])
    return gradient[0].tolist(), comparison.conflict


def collected(surgeon: GradientSurgeon, answer: torch.Tensor, steps: torch.Tensor) -> None:
    """Backpropagates both losses as the trainer does, the answer's inside of the steps'."""
    with surgeon.collecting("steps"):
        with surgeon.collecting("answer"):
            answer.backward(retain_graph=True)
        steps.backward()


def test_the_known_answer_of_a_toy_problem():
    # Quadratic bowls around (1, 0) and (-1, 2), from (0, 0): the gradients are (-2, 0) and (2, -4), at 117 degrees.
    # Each loses its part along the other: (-2, 0) + (0.4, -0.8) = (-1.6, -0.8) and (2, -4) - (2, 0) = (0, -4).
    point = Parameter(torch.zeros(2))
    surgeon = GradientSurgeon([point])
    collected(
        surgeon, ((point - torch.tensor([1.0, 0.0])) ** 2).sum(), ((point - torch.tensor([-1.0, 2.0])) ** 2).sum()
    )
    comparison = surgeon.join()
    assert point.grad.tolist() == pytest.approx([-1.6, -4.8])
    assert comparison.conflict
    assert comparison.cosine == pytest.approx(-1 / 5**0.5)


def test_descent_with_surgery_lowers_both_losses_where_the_sum_would_raise_one():
    # The steps' loss is steep, so that the sum of both gradients climbs the answer's.
    def losses(point: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (point[0] - 1) ** 2, 10 * (point[0] + point[1] + 1) ** 2

    def after(step: torch.Tensor) -> list[float]:
        return [loss.item() for loss in losses(-0.001 * step)]

    point = Parameter(torch.zeros(2))
    before = [loss.item() for loss in losses(point)]
    surgeon = GradientSurgeon([point])
    collected(surgeon, *losses(point))
    surgeon.join()
    plain = torch.autograd.grad(sum(losses(point)), point)[0]
    assert all(new < old for new, old in zip(after(point.grad), before, strict=True))
    assert after(plain)[0] > before[0]


@given(vectors, vectors)
def test_without_a_conflict_the_gradients_add_up(answer, steps):
    gradient, conflict = joined(answer, steps)
    if sum(a * s for a, s in zip(answer, steps, strict=True)) >= 0:
        assert not conflict
        assert gradient == [a + s for a, s in zip(answer, steps, strict=True)]


@given(vectors, vectors)
def test_both_are_projected_on_the_original_other(answer, steps):
    a, s = torch.tensor(answer, dtype=torch.float64), torch.tensor(steps, dtype=torch.float64)
    gradient, conflict = joined(answer, steps)
    if conflict:
        expected = (a - (a @ s) / (s @ s) * s) + (s - (a @ s) / (a @ a) * a)
        assert gradient == pytest.approx(expected.tolist(), abs=1e-4)
        # The step harms neither objective.
        assert torch.tensor(gradient).double() @ a >= -1e-3
        assert torch.tensor(gradient).double() @ s >= -1e-3
    assert gradient == pytest.approx(joined(steps, answer)[0], abs=1e-5)


def test_one_dot_product_over_all_parameters_decides():
    # The first parameter alone would conflict; the second outweighs it.
    gradient, comparison = project(
        [torch.tensor([1.0]), torch.tensor([3.0])], [torch.tensor([-1.0]), torch.tensor([1.0])]
    )
    assert not comparison.conflict
    assert [part.item() for part in gradient] == [0.0, 4.0]


@pytest.mark.parametrize("zero", [torch.zeros(2), None], ids=["of zeros", "none"])
def test_a_gradient_of_zero_leaves_the_other_alone(zero):
    gradient, comparison = project([torch.tensor([3.0, -4.0])], [zero])
    assert gradient[0].tolist() == [3.0, -4.0]
    assert comparison.cosine is None
    assert not comparison.conflict


def test_a_parameter_of_one_objective_takes_part_in_its_length_only():
    # a = (1, sqrt 3), s = (-1, 0): a + s = (0, sqrt 3), and s + a / 4 = (-3/4, sqrt 3 / 4).
    answer = [torch.tensor([1.0]), torch.tensor([3.0**0.5]), None]
    steps = [torch.tensor([-1.0]), None, None]
    gradient, _ = project(answer, steps)
    assert gradient[0].item() == pytest.approx(-0.75)
    assert gradient[1].item() == pytest.approx(3**0.5 * 1.25)
    assert gradient[2] is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_keep_their_type_and_are_compared_in_32_bits(dtype):
    generator = torch.Generator().manual_seed(0)
    answer = torch.randn(10_000, generator=generator)
    steps = torch.randn(10_000, generator=generator) - 0.1 * answer
    exact, in_full = project([answer.clone()], [steps.clone()])
    gradient, comparison = project([answer.to(dtype)], [steps.to(dtype)])
    assert gradient[0].dtype == dtype
    assert comparison.conflict
    assert comparison.cosine == pytest.approx(in_full.cosine, rel=1e-2)
    assert torch.allclose(gradient[0].float(), exact[0], rtol=2e-2, atol=2e-2)


def test_large_gradients_are_compared_in_parts(monkeypatch):
    answer, steps = torch.arange(10.0), torch.arange(10.0).flip(0) - 8
    whole = project([answer.clone()], [steps.clone()])
    monkeypatch.setattr("lmms_eval_crystal.training.surgery.CHUNK", 3)
    parts = project([answer.clone()], [steps.clone()])
    assert parts[1].cosine == pytest.approx(whole[1].cosine)
    assert torch.allclose(parts[0][0], whole[0][0])


def test_a_number_that_is_not_finite_stays_visible_in_the_gradient():
    gradient, comparison = project([torch.tensor([1.0, float("nan")])], [torch.tensor([-1.0, 0.0])])
    assert gradient[0].isnan().any()
    assert comparison.cosine is None


def test_micro_batches_accumulate_in_each_objective_and_a_second_step_starts_from_nothing():
    point = Parameter(torch.tensor([1.0, 2.0]))
    surgeon = GradientSurgeon([point])
    for _ in range(2):
        for weight in (1.0, 2.0):
            collected(surgeon, weight * point[0], weight * (point[1] - point[0]))
        assert point.grad is None
        surgeon.join()
        # (3, 0) and (-3, 3), as in one batch: (1.5, 1.5) and (0, 3).
        assert point.grad.tolist() == [1.5, 4.5]
        point.grad = None


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [
        ("ACCELERATE_USE_DEEPSPEED", "true", "DeepSpeed"),
        ("ACCELERATE_USE_FSDP", "true", "FSDP"),
        ("ACCELERATE_USE_MEGATRON_LM", "1", "Megatron-LM"),
        ("PARALLELISM_CONFIG_TP_SIZE", "2", "tensor parallelism"),
    ],
)
def test_launchers_that_shard_gradients_are_refused(monkeypatch, variable, value, name):
    monkeypatch.setenv(variable, value)
    with pytest.raises(CrystalError, match=rf"{name} spreads.*accelerate_ddp\.yaml.*gradient_surgery: false"):
        check_surgery()


@pytest.mark.parametrize(
    ("arguments", "name"), [({"deepspeed": "zero3.json"}, "DeepSpeed"), ({"fsdp": "full_shard"}, "FSDP")]
)
def test_arguments_that_shard_gradients_are_refused(arguments, name):
    with pytest.raises(CrystalError, match=name):
        check_surgery(SimpleNamespace(**arguments))


def test_plain_data_parallelism_is_welcome(monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "false")
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("PARALLELISM_CONFIG_DP_REPLICATE_SIZE", "8")
    check_surgery(SimpleNamespace(deepspeed=None, fsdp=""))
