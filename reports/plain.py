"""Text that came from elsewhere, made fit for one line of a figure, a table or a comment."""

import re
import unicodedata

#: Control characters, marks that turn the direction of text, surrogates, and code points that no XML may hold.
UNFIT = ("Cc", "Cf", "Cs", "Cn")


def one_line(text: str) -> str:
    """The text without line breaks and without signs that are not seen.

    >>> one_line("a\\n b\\u202e")
    'a b'
    """
    flat = re.sub(r"\s+", " ", text)
    return "".join(sign for sign in flat if unicodedata.category(sign) not in UNFIT).strip()
