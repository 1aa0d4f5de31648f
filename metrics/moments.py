"""Clock times and dates as answers: "2:30 PM" is "14:30", "July 4, 2020" is "4 July 2020"."""

import re

from .answer_text import word_list

_MONTHS = word_list("january february march april may june july august september october november december")
_MONTH = "|".join(f"{name}|{name[:3]}" + ("|sept" if name == "september" else "") for name in _MONTHS)
_TIME = re.compile(
    r"(?<![\d:])(\d{1,2})(?::([0-5]\d)(?::([0-5]\d))?)?\s*(o'clock)?\s*(?:(?P<half>[ap])\.?\s?m\b\.?)?(?![\d:])",
    re.IGNORECASE,
)
_DATES = (
    re.compile(r"^(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})$"),
    re.compile(rf"^(?P<name>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?$", re.IGNORECASE),
    re.compile(
        rf"^(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_MONTH})\.?(?:,? (?P<year>\d{{4}}))?$",
        re.IGNORECASE,
    ),
)

Moment = tuple[int, ...]


def same_moment(prediction: str, reference: str) -> bool | None:
    """Whether two answers name one time or one date; None where the reference names neither.

    A time without a.m. or p.m. agrees with both halves of the day.

    >>> same_moment("It is 2:30", "2:30 PM"), same_moment("14:30", "2:30 pm"), same_moment("2:30 am", "2:30 pm")
    (True, True, False)
    >>> same_moment("4 July 2020", "July 4, 2020"), same_moment("5", "7")
    (True, None)
    """
    date = _date(reference)
    if date is not None:
        return _date(prediction) == date
    time = _time(reference, whole=True)
    if time is None:
        return None
    return bool(time & (_time(prediction, whole=False) or set()))


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
    """The one or two moments of the day that a text can mean; None where it names no time, or several."""
    found = [time for time in _TIME.finditer(text) if time[2] or time[4] or time["half"]]
    if len(found) != 1 or (whole and found[0].span() != (0, len(text))):
        return None
    time = found[0]
    hour, minute, second = int(time[1]), int(time[2] or 0), int(time[3] or 0)
    if hour > 24 or (time["half"] and not 1 <= hour <= 12):
        return None
    if time["half"]:
        hours = {hour % 12 + (12 if time["half"].casefold() == "p" else 0)}
    else:
        hours = {hour % 24} if hour > 12 or hour == 0 else {hour % 24, (hour + 12) % 24}
    return {(hour, minute, second) for hour in hours}
