"""Accepted pairs that disagree in a number or a negation: only clear cases count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.metrics.conflicts import find_conflicts, negations_disagree, numbers_disagree


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("There are three dogs.", "There are 2 dogs."),
        ("There is one dog.", "There are two dogs."),
        ("The bar of 2010 is at 45.", "The bar for 2010 reaches 54."),
        ("12 + 5 = 17", "12 + 5 = 16"),
        ("It is the 3rd bar.", "It is the 4th bar."),
        ("The angle is 45°.", "The angle is 90 degrees."),
        ("The string is 2 m long.", "The string is 150 cm long."),
        ("The price is $1,200.", "The price is 1,300 dollars."),
    ],
)
def test_two_clear_numbers_that_differ(one, other):
    assert numbers_disagree(one, other)
    assert numbers_disagree(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("There are 2 dogs.", "There are two dogs and 3 cats."),  # one only says more
        ("Subtract 5 from 12.", "12 - 5 = 7"),
        ("1. Count the 3 dogs.", "Step 2: Count the 3 dogs."),  # numbers of steps
        ("The string is 100 cm long.", "The string is 1 m long."),
        ("The share is 50 %.", "The share is half."),
        ("The mean is 0.33.", "The mean is 1/3."),
        ("One of the bars is red.", "Two bars are red."),  # a pronoun
        ("About 45 people wait.", "47 people wait."),
        ("More than 5 people wait.", "7 people wait."),
        ("Not 5 people wait.", "7 people wait."),
        ("Cell A4 is empty.", "Cell 5 is empty."),  # no number that can be read for certain
        ("There are dogs.", "There are 2 dogs."),
        ("1, 2, 3, 4, 5 and 6", "7"),  # a list
    ],
)
def test_texts_that_may_both_hold(one, other):
    assert not numbers_disagree(one, other)
    assert not numbers_disagree(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("There is no dog.", "There is a dog."),
        ("The circles don't overlap.", "The two circles are overlapping."),
        ("The dog isn’t on the sofa.", "The dog is on the sofa."),
        ("The lamp is not on.", "The lamp is on."),
        ("He is without a hat.", "He wears a hat."),
        ("The clock cannot be seen.", "The clock can be seen."),
        ("The clock can not be seen.", "The clock can be seen."),
        ("None of the cars are parked.", "The cars are parked."),
    ],
)
def test_a_text_that_denies_what_the_other_states(one, other):
    assert negations_disagree(one, other)
    assert negations_disagree(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The lamp is off, not on.", "The lamp is off."),
        ("No other things are visible.", "Only the dog is visible."),
        ("The answer is not A.", "The answer is B."),
        ("It is not only red.", "It is red."),
        ("There is no dog.", "No dog is there."),  # both deny
        ("There are no dogs.", "There are zero dogs."),
        ("The count of dogs is 0.", "There are no dogs in the count."),
        ("It is not without a hat.", "It has a hat."),  # denied twice
        ("Whether or not it is red", "It is red."),
        ("The knot is red.", "The rope is red."),  # whole words
        ("See no. 5.", "See 5."),
        ("It is not.", "It is."),  # what is denied is not said
    ],
)
def test_negations_that_contradict_nothing(one, other):
    assert not negations_disagree(one, other)
    assert not negations_disagree(other, one)


def test_each_disagreeing_pair_is_named_with_its_kind():
    predicted = ["There are three dogs.", "The lamp is not on.", "There are no 4 cats.", "It is 5."]
    reference = ["There are two dogs.", "The lamp is on.", "There are 4 cats.", "It is 5."]
    pairs = [(index, index, 0.9) for index in (3, 1, 0, 2)]
    assert find_conflicts(pairs, predicted, reference) == ((1, 1, "negation"), (0, 0, "number"), (2, 2, "negation"))


@given(st.text(), st.text())
def test_any_two_texts_are_judged_alike_both_ways_and_none_disagrees_with_itself(one, other):
    assert not find_conflicts([(0, 0, 1.0)], [one], [one])
    assert numbers_disagree(one, other) == numbers_disagree(other, one)
    assert negations_disagree(one, other) == negations_disagree(other, one)


@pytest.mark.parametrize("text", ["9" * 100_000, "not " * 25_000, "1 " * 50_000, "-" * 100_000])
def test_a_text_of_any_size_takes_no_time(text):
    assert not find_conflicts([(0, 0, 1.0)], [text], ["There are 2 dogs, not 3."])
