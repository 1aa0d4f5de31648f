"""The strict rule on quantities: exact integers, printed precision, units, words, several numbers."""

import pytest
from lmms_eval_crystal.metrics.quantities import read_quantity
from lmms_eval_crystal.metrics.strict_rule import strict_verdict
from lmms_eval_crystal.metrics.units import parse_unit, split_unit

RIGHT = [
    ("5", "5.0"),
    ("2007.0", "2007"),
    ("6.285", "6.29"),
    ("6.2949", "6.29"),
    ("1 1/2", "1.5"),
    (r"1\frac{1}{2}", "3/2"),
    ("−3", "-3"),
    ("1.2e3", "1200"),
    (r"1.2 \times 10^3", "1200"),
    ("1.2×10^{3}", "1,200"),
    ("1 200", "1200"),
    ("1,200", "1.2e3"),
    ("5%", "5 percent"),
    ("0.25", "25%"),
    ("25%", "0.25"),
    ("$3.50", "3.50 dollars"),
    ("3.5", "$3.50"),
    ("350 cents", "$3.50"),
    ("90°", "90"),
    ("90 degrees", r"90^\circ"),
    (r"90^{\circ}", "90"),
    ("25°C", "25"),
    ("77°F", "25°C"),
    ("25°", "25°C"),
    ("12 cm^2", "12 square centimeters"),
    (r"12\text{ cm}^2", "12"),
    ("100 cm", "1 m"),
    ("12 square units", "12"),
    ("60 km/h", "60 kilometers per hour"),
    ("12 m", "12 meters"),
    ("three", "3"),
    ("twenty-one", "21"),
    ("a dozen", "12"),
    ("x = 5", "5"),
    ("5", "x=5"),
    ("There are three dogs in the picture", "3"),
    ("3 dogs", "3"),
    ("3", "3 dogs"),
    ("5 or 6", "5 or 6"),
    ("about 5", "5"),
    ("around 5", "5"),
    ("none", "0"),
    ("There are no dogs", "0"),
    ("zero", "0"),
    ("2:30 PM", "14:30"),
    ("2:30", "2:30 PM"),
    ("July 4, 2020", "4 July 2020"),
    ("July 2007", "2007"),
    ("3:4", "3:4"),
    ("3:4", "3/4"),
    ("6:8", "3:4"),
    ("1/3", "0.333"),
    ("1/3", "0.33"),
    ("2/6", "1/3"),
    ("10-20", "10 to 20"),
    ("10–20", "10-20"),
    ("5 million", "5,000,000"),
    ("$5 million", "5000000"),
    ("1.5 hours", "90 minutes"),
    ("1 hour 30 minutes", "90 minutes"),
    ("5 ft 3 in", "63 inches"),
    ("1e400", "1e400"),
    ("Area = 3 × 4 = 12", "12"),
    ("page 12", "12"),
    ("0", "0.0"),
    ("-0", "0"),
    ("1.0", "1"),
    ("100%", "1"),
    ("5k", "5000"),
    ("five hundred", "500"),
    ("3 years old", "3"),
    ("3 years", "3"),
    ("half", "0.5"),
    ("10, because 8 + 2", "10"),
    ("US$ 8.67 billion", "8.67 billion"),
    ("USD 5", "$5"),
    ("Rs. 500", "500"),
    ("5 hundred", "500"),
    ("5 hundred thousand", "500000"),
    ("a hundred", "100"),
    ("3rd", "third"),
    ("the third", "3rd"),
    ("twenty-first", "21st"),
    ("1997 AD", "1997"),
    ("in 1997", "1997"),
    ("44 B.C.", "44 BCE"),
    ("half past 3", "3:30"),
    ("half past three", "3:30 PM"),
    ("quarter to 4", "3:45"),
    ("a quarter past twelve", "12:15"),
    ("ten past 3", "3:10"),
    ("quarter to 1", "12:45"),
    ("three o'clock", "3:00"),
    ("noon", "12:00 PM"),
    ("3:30", "half past 3"),
    ("about half past 3", "3:30"),
]
WRONG = [
    ("1990s", "1990"),
    ("5.4", "5"),
    ("6.295", "6.29"),
    ("6.29", "6.294"),
    ("0.25", "25"),
    ("25", "0.25"),
    ("€3.50", "$3.50"),
    ("25°F", "25°C"),
    ("12 cm", "12 cm^2"),
    ("1 km", "1000"),
    ("12 apples", "12 cm"),
    ("x=5", "y=5"),
    ("3 cats", "3 dogs"),
    ("5 or 6", "5"),
    ("more than 5", "5"),
    ("at least 5", "5"),
    ("not 5", "5"),
    ("between 4 and 6", "5"),
    ("None", "3"),
    ("many", "3"),
    ("2:30", "2:35"),
    ("2007", "July 2007"),
    ("3:4", "4:3"),
    ("0.333", "1/3"),
    ("15", "10-20"),
    ("-$5", "5"),
    ("1e400", "1e401"),
    ("5!", "5"),
    ("3D", "3"),
    ("H2O", "2"),
    ("2x+1", "1"),
    ("3,5", "3.5"),
    ("second", "2"),
    ("4th", "4"),
    ("2", "2nd"),
    ("twenty-first", "20"),
    ("5 hundred thousand", "500"),
    ("not 4:00", "4:00"),
    ("It isn't 4:00", "4:00"),
    ("before 4:00", "4:00"),
    ("4:00 or later", "4:00"),
    ("never 3:30", "3:30"),
    ("before half past 3", "3:30"),
    ("10 to 4", "3:50"),
    ("before 1997", "1997"),
    ("after the year 1997", "1997"),
    ("since 1997", "1997"),
    ("until 1997", "1997"),
    ("1997 BC", "1997"),
    ("10!", "1"),
    ("x >= 5", "5"),
    ("10, because 8 + 2", "8"),
]


@pytest.mark.parametrize(("prediction", "reference"), RIGHT)
def test_the_same_quantity_is_right(prediction: str, reference: str) -> None:
    assert strict_verdict(prediction, reference).correct


@pytest.mark.parametrize(("prediction", "reference"), WRONG)
def test_another_or_no_single_quantity_is_wrong(prediction: str, reference: str) -> None:
    assert not strict_verdict(prediction, reference).correct


@pytest.mark.parametrize("prediction", ["5 or 6", "more than 5", "not 5", "7 lamps", "before 5", "none"])
def test_a_bound_an_alternative_or_another_number_is_settled(prediction: str) -> None:
    assert strict_verdict(prediction, "5").settled


@pytest.mark.parametrize("prediction", ["a couple", "5th", "2 of the 5", "5 seats, 7 people", "many"])
def test_what_was_not_read_as_one_number_is_left_to_a_judge(prediction: str) -> None:
    verdict = strict_verdict(prediction, "5")
    assert (verdict.correct, verdict.settled) == (False, False)


def test_a_noun_of_the_question_is_no_unit() -> None:
    assert strict_verdict("3 pets", "3 dogs", "How many dogs, the only pets here, are there?").correct


def test_a_ratio_is_no_time_where_the_question_asks_for_a_ratio() -> None:
    assert strict_verdict("6:20", "3:10", "What is the ratio of cats to dogs?").correct
    assert not strict_verdict("6:20", "3:10", "What time is it?").correct


@pytest.mark.parametrize("text", ["2 of the 3 dogs", "5 ± 1", "12 to 14", "1/0", "2x", "9" * 200, "1e99999", "3.5.2"])
def test_what_states_no_single_number_is_no_quantity(text: str) -> None:
    assert read_quantity(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sq. ft", "square feet"),
        ("m/s^2", "meters per second squared"),
        ("kg/m^3", "kilograms per cubic meter"),
        ("MPH", "miles per hour"),
        ("^\\circ C", "degrees Celsius"),
        ("in", "inches"),
    ],
)
def test_spellings_of_a_unit_are_one_unit(one: str, other: str) -> None:
    assert parse_unit(one) == parse_unit(other) is not None


@pytest.mark.parametrize("text", ["dogs", "", "m/dogs", "°C/s", "m^99", "a" * 100])
def test_what_names_no_unit_is_none(text: str) -> None:
    assert parse_unit(text) is None


def test_a_lone_letter_behind_a_formula_is_a_variable() -> None:
    assert split_unit("2 s") == ("2 s", None)
