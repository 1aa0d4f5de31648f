"""Intervals cover, equal models raise no more alarms than they should, and nothing hangs on the order of rows."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from lmms_eval_crystal.metrics.aggregate import LEVEL
from lmms_eval_crystal.reports.resampling import Clusters, bootstrap, bootstrap_ends, flips_tail
from lmms_eval_crystal.reports.statistics import (
    RESAMPLES,
    compare_models,
    holm,
    paired_difference,
    rank_correlation,
    smallest_difference,
    too_few,
)
from scipy import stats

SOURCES = ("mathvision", "mmvp", "plotqa")
#: Draws per simulated data set: p moves in the second decimal, which over hundreds of sets averages out.
DRAWS = 399
DATA_SETS = 250


def simulated(seed: int, images: int = 60, shift: float = 0.0) -> pd.DataFrame:
    """Two runs that share what is hard about an image: one to three questions an image, sources that differ."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(images), rng.integers(1, 4, images))
    hardness = rng.normal(0, 0.15, images)[image] + np.array([0.3, 0.5, 0.7])[image % 3]
    rows = {}
    for run, gain in (("first", shift), ("second", 0.0)):
        rows[run] = gain + hardness + rng.normal(0, 0.1, images)[image] + rng.normal(0, 0.1, len(image))
    return pd.DataFrame({**rows, "image": [f"image {i}" for i in image], "source": [SOURCES[i] for i in image % 3]})


def sparse(seed: int, images: int = 60) -> pd.DataFrame:
    """Two equal runs whose answers part on one item in ten."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, images)
    second = np.where(rng.random(images) < 0.1, 1 - first, first)
    names = {"image": [f"image {i}" for i in range(images)], "source": [SOURCES[i % 3] for i in range(images)]}
    return pd.DataFrame({"first": first, "second": second, **names})


def difference(data: pd.DataFrame, **settings):
    return paired_difference(data["first"], data["second"], data["image"], data["source"], **settings)


def bootstrapped(values, images, sources, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The ends of the bootstrap's interval of a mean."""
    clusters = Clusters.of(np.asarray(values, dtype=float)[:, None], images, sources)
    return bootstrap_ends(bootstrap(clusters, resamples)[:, 0], clusters.freedom, LEVEL)


def surprising(hits: int, share: float, trials: int = DATA_SETS) -> bool:
    """Whether a binomial count is farther from its share than comes by chance once in a thousand."""
    return stats.binomtest(hits, trials, share).pvalue < 0.001


def items(data: pd.DataFrame, run: str, metric: str = "match_f1") -> pd.DataFrame:
    return pd.DataFrame(
        {metric: data[run], "image_sha256": data["image"], "source": data["source"]},
        index=pd.RangeIndex(len(data), name="doc_id"),
    )


def test_an_interval_of_a_difference_covers_the_truth_in_95_of_100_data_sets():
    found = [difference(simulated(seed, shift=0.05), resamples=DRAWS) for seed in range(DATA_SETS)]
    assert not surprising(sum(d.low <= 0.05 <= d.high for d in found), 0.95)
    # An interval for 100 of 100 would cover as well: this one is no wider than it needs to be.
    assert np.mean([d.established for d in found]) > 0.5


def test_the_bootstraps_interval_of_a_mean_covers_the_truth_in_95_of_100_data_sets():
    covered = 0
    for seed in range(DATA_SETS):
        data = simulated(1000 + seed)
        # The questions per image are drawn too, so the share of each source is that of its images.
        low, high = bootstrapped(data["first"], data["image"], data["source"], DRAWS)
        covered += low <= 0.5 <= high
    assert not surprising(covered, 0.95)


@pytest.mark.parametrize("images", [9, 60])
def test_equal_models_raise_an_alarm_in_5_of_100_data_sets(images):
    found = [difference(simulated(2000 + seed, images), resamples=DRAWS) for seed in range(DATA_SETS)]
    assert not surprising(sum(d.p <= 0.05 for d in found), 0.05)


def test_equal_models_that_part_on_few_answers_raise_no_more_alarms_than_that():
    alarms = sum(difference(sparse(seed), resamples=DRAWS).p <= 0.05 for seed in range(DATA_SETS))
    assert stats.binomtest(alarms, DATA_SETS, 0.05, alternative="greater").pvalue > 0.001


def test_few_answers_on_which_models_part_are_judged_as_by_the_exact_test():
    names = {"images": [f"image {i}" for i in range(50)], "sources": ["mmvp"] * 50}
    for better in range(1, 9):
        first = [1.0] * better + [0.0] * (50 - better)
        exact = stats.binomtest(better, better, 0.5).pvalue  # McNemar's test without its approximation
        assert paired_difference(first, [0.0] * 50, **names).p == pytest.approx(exact, abs=0.008)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_an_interval_leaves_out_0_exactly_where_p_says_so(level):
    for seed in range(40):
        data = sparse(seed) if seed % 2 else simulated(seed, images=24, shift=0.06)
        found = difference(data, level=level, resamples=DRAWS)
        assert found.established == (found.p <= 1 - level + 1e-12)
        assert found.low <= found.mean <= found.high


def test_questions_about_one_image_count_as_one_observation():
    """Ten questions an image that all go the same way say no more than one."""
    rng = np.random.default_rng(1)
    effect = rng.normal(0.1, 1, 40)
    once = [f"image {i}" for i in range(40)]
    one = paired_difference(effect, np.zeros(40), once, ["mmvp"] * 40)
    ten = paired_difference(np.repeat(effect, 10), np.zeros(400), np.repeat(once, 10), ["mmvp"] * 400)
    alone = paired_difference(np.repeat(effect, 10), np.zeros(400), [""] * 400, ["mmvp"] * 400)
    assert (ten.low, ten.high) == (pytest.approx(one.low), pytest.approx(one.high))
    assert alone.high - alone.low < 0.5 * (ten.high - ten.low)


def test_what_only_the_mix_of_sources_moves_is_no_scatter():
    values = [0.2] * 30 + [0.8] * 30
    images = [f"image {i}" for i in range(60)]
    apart = bootstrapped(values, images, ["mmvp"] * 30 + ["plotqa"] * 30)
    together = bootstrapped(values, images, ["mmvp"] * 60)
    assert apart == (pytest.approx(0.5), pytest.approx(0.5))
    assert together[1] - together[0] > 0.1


def test_an_image_under_two_sources_counts_under_that_of_most_of_its_items():
    images = ["a", "a", "a", *"bcdefghi"]
    values = [0.1, 0.9, 0.4, *np.linspace(0, 1, 8)]
    rest = ["mmvp"] * 4 + ["plotqa"] * 4
    mixed = bootstrapped(values, images, ["mmvp", "plotqa", "plotqa", *rest])
    assert mixed == bootstrapped(values, images, ["plotqa"] * 3 + rest)
    even = bootstrapped(values[1:], images[1:], ["plotqa", "mmvp", *rest])
    assert even == bootstrapped(values[1:], images[1:], ["mmvp", "mmvp", *rest])


def test_a_run_does_not_differ_from_itself():
    data = simulated(3)
    found = paired_difference(data["first"], data["first"], data["image"], data["source"])
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert math.isnan(smallest_difference(data["first"], data["first"], data["image"], data["source"]))


def test_a_difference_changes_its_sign_with_the_order_of_the_runs():
    data = simulated(4, shift=0.04)
    one, other = difference(data), difference(data.rename(columns={"first": "second", "second": "first"}))
    assert (other.mean, other.low, other.high, other.p) == (-one.mean, -one.high, -one.low, one.p)


@pytest.mark.parametrize("named", [True, False])
def test_nothing_hangs_on_the_order_of_the_rows(named):
    data = simulated(5)
    if not named:
        data["image"] = ""
    shuffled = data.sample(frac=1, random_state=1)
    assert difference(data) == difference(shuffled)


def test_five_images_can_show_nothing_and_six_can():
    five, six = (paired_difference([1.0] * n, [0.0] * n, [""] * n, ["mmvp"] * n) for n in (5, 6))
    assert (five.low, five.high) == (-math.inf, math.inf)
    assert five.p > 0.05
    assert six.established
    assert bootstrapped([0.5], ["image"], ["mmvp"]) == (-math.inf, math.inf)


def test_sources_of_one_image_are_drawn_together():
    values = [0.1, 0.9, 0.3, 0.7, 0.2, 0.8]
    names = [f"image {i}" for i in range(6)]
    assert bootstrapped(values, names, list("abcdef")) == bootstrapped(values, names, ["a"] * 6)
    lone = bootstrapped(values, names, ["a", *"bbbbb"])
    assert lone == bootstrapped(values, names, ["a"] * 6)


def test_items_without_a_value_are_left_out():
    data = simulated(6)
    with_gaps = data.assign(first=data["first"].where(data.index % 4 > 0))
    assert difference(with_gaps) == difference(data[data.index % 4 > 0])
    assert paired_difference([math.nan], [1.0], ["a"], ["b"]) is None


def test_the_smallest_difference_is_found_as_often_as_it_says():
    """The power of the t-test itself, at four times the items for half of the difference."""
    rng = np.random.default_rng(7)
    names = {"images": [f"image {i}" for i in range(400)], "sources": ["mmvp"] * 400}
    noise = rng.normal(0, 1, 400)
    smallest = smallest_difference(noise, np.zeros(400), **names)
    assert smallest == pytest.approx(2.81 * np.std(noise, ddof=1) / 20, rel=0.01)
    found = [stats.ttest_1samp(rng.normal(smallest, np.std(noise, ddof=1), 400), 0).pvalue <= 0.05 for _ in range(1000)]
    assert not surprising(sum(found), 0.8, 1000)
    assert smallest_difference(noise, np.zeros(400), **names, power=0.95) > smallest


def test_holm_agrees_with_numbers_worked_out_by_hand():
    # 4 x 0.005, 3 x 0.01, 2 x 0.03, then 0.04 raised to what stands before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([0.03, math.nan, 0.02]) == pytest.approx([0.04, math.nan, 0.04], nan_ok=True)


def test_every_pair_of_models_is_compared_as_if_alone():
    data, third = simulated(8, shift=0.05), simulated(8, shift=-0.3)
    runs = {"a": items(data, "first"), "b": items(data, "second"), "c": items(third, "first")}
    board = compare_models(runs, ["match_f1"])
    assert list(zip(board["first"], board["second"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    one, alone = board.iloc[0], difference(data)
    assert one[["difference", "low", "high", "p"]].tolist() == pytest.approx(
        [alone.mean, alone.low, alone.high, alone.p], abs=1e-9
    )
    assert one["smallest"] == pytest.approx(
        smallest_difference(data["first"], data["second"], data["image"], data["source"])
    )
    assert board["p_holm"].tolist() == holm(board["p"].tolist())


def test_pairs_are_compared_on_the_items_that_both_have():
    data = simulated(9, shift=0.05)
    runs = {"a": items(data, "first"), "b": items(data, "second").iloc[10:], "c": items(data, "second").iloc[:10]}
    runs["d"] = items(data.assign(image="another"), "second")
    board = compare_models(runs).set_index(["metric", "first", "second"])
    assert board.loc[("match_f1", "a", "b"), "items"] == len(data) - 10
    assert board.loc[("match_f1", "b", "c"), "items"] == 0
    assert math.isnan(board.loc[("match_f1", "b", "c"), "p_holm"])
    # The same number for another picture is another item; a metric that nobody has is shared by none.
    assert board.loc[("match_f1", "a", "d"), "items"] == 0
    assert board.loc[("accuracy", "a", "b"), "items"] == 0


def test_a_board_does_not_hang_on_the_order_of_its_rows():
    data = simulated(10)
    runs = {"a": items(data, "first"), "b": items(data, "second")}
    shuffled = {name: run.sample(frac=1, random_state=2) for name, run in runs.items()}
    pd.testing.assert_frame_equal(compare_models(runs), compare_models(shuffled), check_exact=True)


def test_fewer_than_two_models_have_no_pairs():
    alone = {"a": items(simulated(10), "first")}
    for runs in ({}, alone):
        assert compare_models(runs).empty
        assert "p_holm" in compare_models(runs)


def test_items_without_image_and_source_are_compared_as_images_of_their_own():
    data = simulated(11, shift=0.05).assign(image="", source="")
    found = compare_models({"a": items(data, "first"), "b": items(data, "second")}, ["match_f1"]).iloc[0]
    assert found["items"] == found["images"] == len(data)
    known = items(simulated(11), "second")
    mixed = compare_models({"a": items(data, "first"), "b": known}, ["match_f1"]).iloc[0]
    # What one run does not know of an item, the other does.
    assert mixed["images"] == known["image_sha256"].nunique() < len(data)


def test_a_rank_correlation_needs_six_models():
    assert rank_correlation(range(5), range(5)) is None
    assert rank_correlation([*range(5), math.nan], range(6)) is None
    assert rank_correlation(range(6), [1] * 6) is None
    found = rank_correlation(range(6), [0, 1, 2, 3, 5, 4])
    assert found.kendall == pytest.approx(1 - 2 / 15)
    assert found.p == pytest.approx(stats.kendalltau(range(6), [0, 1, 2, 3, 5, 4]).pvalue)
    perfect = rank_correlation(range(6), range(6))
    assert 0.5 < perfect.kendall_low < 0.8
    assert perfect.kendall_high == perfect.kendall == pytest.approx(1)


def test_intervals_of_rank_correlations_cover_the_truth():
    rng = np.random.default_rng(11)
    truth, kendall, spearman = 0.5, 2 / math.pi * math.asin(0.5), 6 / math.pi * math.asin(0.25)
    covered = np.zeros(2)
    for _ in range(400):
        found = rank_correlation(*rng.multivariate_normal([0, 0], [[1, truth], [truth, 1]], 12).T)
        covered += [
            found.kendall_low <= kendall <= found.kendall_high,
            found.spearman_low <= spearman <= found.spearman_high,
        ]
    # Fisher's transform is an approximation at so few models, and rather too wide.
    assert (np.abs(covered / 400 - 0.95) < 0.04).all()


def many(models: int, images: int) -> dict[str, pd.DataFrame]:
    """Models of which the first is always right, the second never, and the others now and then."""
    rng = np.random.default_rng(12)
    values = [np.ones(images), np.zeros(images), *rng.uniform(0.3, 0.7, (models - 2, images))]
    names = {"image_sha256": [f"image {i}" for i in range(images)], "source": [SOURCES[i % 3] for i in range(images)]}
    return {f"m{place}": pd.DataFrame({"match_f1": value, **names}) for place, value in enumerate(values)}


def test_of_twenty_models_on_fifty_items_those_that_differ_are_established():
    found = compare_models(many(20, 50), ["match_f1"])
    extremes = found["first"].isin(["m0", "m1"])
    assert (found.loc[extremes, "p_holm"] < 0.001).all()
    # The others are equal: no more alarms than one board in twenty raises.
    assert (found.loc[~extremes, "p_holm"] > 0.05).all()
    assert not too_few(found, "match_f1")


def test_items_that_can_establish_nothing_are_told_from_models_that_do_not_differ():
    assert too_few(compare_models(many(20, 10), ["match_f1"]), "match_f1")
    assert not too_few(compare_models(many(3, 10), ["match_f1"]), "match_f1")
    assert too_few(compare_models(many(2, 5), ["match_f1"]), "match_f1")


def test_the_tail_of_sign_flips_is_no_smaller_than_that_of_all_of_them():
    rng = np.random.default_rng(13)
    signs = np.array(list(itertools.product((-1, 1), repeat=12)))
    for shift in (0.0, 0.5, 1.0, 5.0):
        totals = rng.normal(shift, 1, 12)
        exact = np.mean(np.abs(signs @ totals) >= abs(totals.sum()) - 1e-9)
        assert flips_tail(totals) >= exact
    assert flips_tail(np.array([0.5] * 11 + [0.0])) == 2.0**-10
