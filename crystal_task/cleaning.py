"""Characters that are not text: invisible ones, control characters, and lone surrogates, which no file can hold."""

import re
from collections.abc import Iterable

# For use inside a character class: byte order mark, zero-width space and joiners, word joiner. They stand around
# responses and between their brackets; inside a step they belong to scripts that join letters with them.
INVISIBLE = "\ufeff\u200b-\u200d\u2060"

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BLANK = re.compile(rf"[\s{INVISIBLE}]*")


def is_blank(text: str) -> bool:
    r"""Whether nothing in ``text`` can be seen.

    >>> is_blank(" \ufeff\n"), is_blank("B")
    (True, False)
    """
    return _BLANK.fullmatch(text) is not None


def replace_surrogates(text: str) -> str:
    r"""``text`` with pairs of surrogates joined and lone ones replaced by U+FFFD, so that UTF-8 can hold it.

    >>> replace_surrogates("a\ud800b")
    'a�b'
    """
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean(text: str) -> str:
    r"""``text`` without control characters other than tab and newline, and without lone surrogates.

    >>> clean("one\r\ntwo\x07")
    'one\ntwo'
    """
    return replace_surrogates(_CONTROL.sub("", text))


def clean_steps(steps: Iterable[str]) -> list[str]:
    """The steps cleaned, without those that are blank then.

    >>> clean_steps(["one", " ", "two"])
    ['one', 'two']
    """
    return [cleaned for step in steps if (cleaned := clean(step)).strip()]


def clean_answer(answer: str | None) -> str | None:
    """The answer cleaned; None where nothing is left of it.

    >>> clean_answer("B"), clean_answer(" ")
    ('B', None)
    """
    cleaned = clean(answer or "")
    return cleaned if cleaned.strip() else None
