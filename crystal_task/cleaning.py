"""Characters that no result may carry: control characters, and lone surrogates, which no file can be written with."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


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
