"""Clock times and dates as answers: "2:30 PM" is "14:30" and "half past 2", "July 4, 2020" is "4 July 2020"."""

import re

from .number_words import words_to_figures
from .quantities import is_hedged

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name}|{name[:3]}" + ("|sept" if name == "september" else "") for name in _MONTHS)
_TIME = re.compile(
    r"(?<![\d:])(\d{1,2})(?::([0-5]\d)(?::([0-5]\d))?)?\s*(o'clock)?\s*(?:(?P<half>[ap])\.?\s?m\b\.?)?(?![\d:])",
    re.IGNORECASE,
)
# "10 to 8" without "minutes" is a range or a score; with "past" it can only be a time.
_SPOKEN = re.compile(
    r"\b(?:(?P<half>half) past|(?P<quarter>(?:a )?quarter|1/4) (?P<side>past|after|to|till|before)"
    r"|(?P<minutes>\d{1,2})(?: minutes)? (?P<after>past)|(?P<left>\d{1,2}) minutes (?:to|till|before)) "
    r"(?P<hour>\d{1,2})\b(?![:.]\d)(?: o'clock)?",
    re.IGNORECASE,
)
_NAMED = {"noon": "12:00 pm", "midday": "12:00 pm", "midnight": "12:00 am"}
_NAME = re.compile(rf"\b(?:12 )?({'|'.join(_NAMED)})\b", re.IGNORECASE)
_DATES = (
    re.compile(r"^(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})$"),
    re.compile(
        rf"^(?:on )?(?P<name>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?$", re.IGNORECASE
    ),
    re.compile(
        rf"^(?:on )?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_MONTH})\.?"
        r"(?:,? (?P<year>\d{4}))?$",
        re.IGNORECASE,
    ),
)

Moment = tuple[int, ...]


def is_moment(text: str) -> bool:
    """Whether a text is a time or a date and nothing else.

    >>> is_moment("half past 3"), is_moment("July 4"), is_moment("3")
    (True, True, False)
    """
    return _date(text) is not None or _time(text, whole=True) is not None


def same_moment(prediction: str, reference: str) -> bool:
    """Whether a prediction states the time or the date that a reference is.

    A time without a.m. or p.m. agrees with both halves of the day; "before 4:00" states no time.

    >>> same_moment("It is 2:30", "2:30 PM"), same_moment("14:30", "2:30 pm"), same_moment("2:30 am", "2:30 pm")
    (True, True, False)
    >>> same_moment("4 July 2020", "July 4, 2020"), same_moment("not 4:00", "4:00")
    (True, False)
    """
    date = _date(reference)
    if date is not None:
        return _date(prediction) == date
    times = _time(reference, whole=True), _time(prediction, whole=False)
    return bool(times[0] and times[1] and times[0] & times[1])


def _date(text: str) -> tuple[int, int, int] | None:
    for pattern in _DATES:
        found = pattern.match(text)
        if found:
            parts = found.groupdict()
            name = parts.get("name")
            month = _month(name) if name else int(parts["month"])
            return int(parts["year"] or 0), month, int(parts["day"])
    return None


def _month(name: str) -> int:
    return next(index for index, month in enumerate(_MONTHS, 1) if month.startswith(name.casefold()[:3]))


def _time(text: str, whole: bool) -> set[Moment] | None:
    """The one or two moments of the day that a text can mean; None where it states no time, or several."""
    text = _NAME.sub(lambda found: _NAMED[found[1].casefold()], _SPOKEN.sub(_clock, words_to_figures(text)))
    found = [time for time in _TIME.finditer(text) if time[2] or time[4] or time["half"]]
    if len(found) != 1 or (whole and found[0].span() != (0, len(text))):
        return None
    time = found[0]
    hour, minute, second = int(time[1]), int(time[2] or 0), int(time[3] or 0)
    if hour > 24 or (time["half"] and not 1 <= hour <= 12) or is_hedged(text[: time.start()], text[time.end() :]):
        return None
    if time["half"]:
        hours = {hour % 12 + (12 if time["half"].casefold() == "p" else 0)}
    else:
        hours = {hour % 24} if hour > 12 or hour == 0 else {hour % 24, (hour + 12) % 24}
    return {(hour, minute, second) for hour in hours}


def _clock(spoken: re.Match[str]) -> str:
    """A spoken time in figures: "quarter to 4" is 3:45."""
    minutes = 30 if spoken["half"] else 15 if spoken["quarter"] else int(spoken["minutes"] or spoken["left"])
    to_the_hour = spoken["left"] or (spoken["side"] or "past").casefold() not in ("past", "after")
    total = int(spoken["hour"]) * 60 + (-minutes if to_the_hour else minutes)
    # One o'clock follows twelve.
    hour = total // 60 or 12
    return f"{hour}:{total % 60:02}"
