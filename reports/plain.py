"""Text that came from elsewhere, made fit for one line of a figure, a table, a comment or a terminal."""

import re
import unicodedata

#: Control characters, marks that turn the direction of text, surrogates, and code points that no XML may hold.
UNFIT = ("Cc", "Cf", "Cs", "Cn")


def one_line(text: str) -> str:
    """The text without line breaks and without signs that are not seen.

    >>> one_line("a\\n b\\u202e")
    'a b'
    """
    return printable(re.sub(r"\s+", " ", text)).strip()


def printable(text: str) -> str:
    """The text without signs that are not seen, such as those that steer a terminal; a space for each line break.

    >>> printable("  a\\n\\x1b[31mb")
    '  a [31mb'
    """
    signs = (" " if sign.isspace() else sign for sign in text)
    return "".join(sign for sign in signs if unicodedata.category(sign) not in UNFIT)
