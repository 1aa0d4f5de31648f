r"""What an answer says once its dress is off: Markdown, ``\boxed{}``, LaTeX delimiters and lead-ins.

Every reader of answers (options, yes/no, quantities, mathematics) starts from these forms.
"""

import re
import unicodedata
from collections.abc import Callable

from .math_gate import is_formula

# Nobody states an answer in more characters than this; longer texts are only compared as text, so
# that no reader ever works on a megabyte.
MAX_READ_CHARS = 2_000

_VULGAR = {char: unicodedata.normalize("NFKC", char).replace("\u2044", "/") for char in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014\ufe63\uff0d", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000", " "),
        **dict.fromkeys("\u2018\u2019\u02bc\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u2033", '"'),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
        **{char: f" {text}" for char, text in _VULGAR.items()},
        **{chr(0xFF01 + offset): chr(0x21 + offset) for offset in range(94) if offset != 0x0C},
        "º": "°",
        "\u2044": "/",
        "\u2236": ":",
    }
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPT_RUN = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_SPACE = re.compile(r"\s+")

_BOLD = re.compile(r"(\*\*|__)(?=\S)(.{1,1000}?)(?<=\S)\1", re.DOTALL)
_EMPHASIS = re.compile(r"^([*_`]+)(?=\S)([^*_`]+)(?<=\S)\1$")
# Pandoc's rule for inline mathematics, which leaves "$3 and $4" and "$5-$10" alone.
_INLINE_MATH = re.compile(r"\$\$(?=\S)([^$]+)(?<=\S)\$\$|(?<![\\$])\$(?=\S)([^$]*[^$\s\\])\$(?!\d)")
_BRACKET_MATH = re.compile(r"\\[(\[]\s*(.+?)\s*\\[)\]]", re.DOTALL)
_FONT = re.compile(
    r"\\(?:text|mathrm|textbf|mathbf|textit|mbox|mathit|rm|bf|operatorname|textrm|mathsf)\s*\{([^{}]*)\}"
)
_LATEX_SPACING = re.compile(
    r"\\(?:left|right|big|Big|displaystyle|limits)(?![A-Za-z])|\\[,;:!]|\\(?:quad|qquad|ldotp) ?"
)
_LATEX_ESCAPE = re.compile(r"\\([%$&#_])")

_ANSWER_MARK = re.compile(
    r"(?:^|(?<=[\s.,;:(*]))(?:the |my )?(?:final |correct |best |right )?(?:answer|solution|option|choice)"
    r"(?: to (?:this|the) (?:question|problem))?(?:\s*(?:is|would be|should be|must be)?\s*[:=]\s*"
    r"|\s+(?:is|would be|should be|must be)\s+(?=\S))|^(?:final )?answer (?=\S)",
    re.IGNORECASE,
)
# Before these words a mark introduces no answer: "the wrong answer is A", "A is not the answer: it is larger".
_DENIED_MARK = re.compile(
    r"(?:\bnot|n't|\bnever|\bwrong|\bincorrect|\bfalse)(?: (?:the|my|an?|final|correct|best|right))*\s*$", re.IGNORECASE
)
# Longer than any denial that stands before "answer is".
_MAX_DENIAL_CHARS = 40
_OPENER = re.compile(
    r"^(?:(?:so|thus|hence|therefore|well|overall|in conclusion)\s*,\s*"
    r"|(?:therefore|thus|hence|so) (?=(?:the|it|it's|there|option|choice|i|[a-z])\b|[(\[<])"
    r"|i (?:think|believe|would say|see)(?: that)?,? "
    r"|(?:i (?:would |will |'?ll )?|i'(?:d|ll) )(?:choose|chose|pick|select|go with|answer) (?:the )?"
    r"|(?:the )?(?:result|value|total|sum|number|count) "
    r"(?:is|would be|=) |(?:it|this|that|he|she|they|these|there|we|which|here) (?:is|are|was|were|would be|equals|have"
    r"|appears to be|seems to be|says|shows|reads) |(?:it|that|there|he|she|here)'s |they're )",
    re.IGNORECASE,
)
_EDGE_PUNCTUATION = " \t\n.,;:?"
_QUOTES = {'"': '"', "'": "'", "`": "`", "«": "»"}

_ARTICLE = re.compile(r"\b(?:a|an|the) (?=\w)")
# Strokes through a sign (U+0334 to U+0338) are no accents: they make "≠" of "=".
_ACCENTS = re.compile("[\u0300-\u0333\u0339-\u036f]")
# The reason behind an answer; "since" and "as" open one only after a comma ("since 1997" is a time).
_REASON = re.compile(r"(?<=\S)(?:,?\s+because|,\s+(?:since|as|for))\b.*$", re.IGNORECASE | re.DOTALL)
# A minus between or before lone letters, and a prime behind one, are mathematics and stay.
_MARKS = re.compile(
    r"[.,;:!?\"`()\[\]{}*_~。、“”‘’…\\]|(?<!\b[^\W\d_])'|'(?=\w)|(?<=\w\w)-|(?<=\s)-(?=\s)|-(?=\w\w)|-(?!\w)"
)
# In text that carries figures these marks are part of what the figures say.
_MARKS_BESIDE_FIGURES = re.compile(r"[.,:](?!\d)|(?<=[^\W\d_])-(?=\d)|(?<=\d)-(?=[^\W\d])|[;?\"'`。、“”‘’…]|(?<!\d)!")
_SPACE_BESIDE_FIGURES = re.compile(r"(?<!\d) | (?!\d)")


def clean_markup(text: str) -> str:
    r"""``text`` without Markdown, ``\boxed{}``, LaTeX delimiters, odd white space and control characters.

    >>> clean_markup(r"**Answer:** $\boxed{\text{12 cm}^2}$")
    '12 cm^2'
    >>> clean_markup("\u22123 m\u00b2")
    '-3 m^2'
    """
    text = _CONTROL.sub(" ", text).translate(_CHARACTERS)
    text = _SUPERSCRIPT_RUN.sub(lambda run: "^" + _exponent(run[0].translate(_SUPERSCRIPTS)), text)
    boxed = _last_boxed(text)
    text = text if boxed is None else boxed
    text = _stable(lambda value: _EMPHASIS.sub(r"\2", _BOLD.sub(r"\2", value.strip())), text)
    text = _INLINE_MATH.sub(lambda found: found[1] or found[2], text)
    text = _BRACKET_MATH.sub(r"\1", text)
    text = _stable(lambda value: _FONT.sub(r"\1", value), text)
    text = _LATEX_SPACING.sub(" ", text).replace("{,}", ",").replace("\\ ", " ")
    return _SPACE.sub(" ", _LATEX_ESCAPE.sub(r"\1", text)).strip()


def answer_part(text: str) -> str:
    """What stands after the last "the answer is" of a cleaned text, without edge punctuation and quotes.

    >>> answer_part("There are two cats. The answer is B.")
    'B'
    """
    mark = None
    for found in _ANSWER_MARK.finditer(text):
        denied = _DENIED_MARK.search(text[max(0, found.start() - _MAX_DENIAL_CHARS) : found.start()])
        if text[found.end() :].strip(_EDGE_PUNCTUATION) and not denied:
            mark = found
    return trim(text[mark.end() :] if mark else text)


def bare_answer(text: str) -> str:
    """An answer part without the words that only open a sentence ("It is", "There are", "I think").

    >>> bare_answer("It is a lamp")
    'a lamp'
    """
    return _stable(lambda value: trim(_OPENER.sub("", value, count=1)) or value, text)


def without_reason(text: str) -> str:
    """An answer without the reason that it gives behind it.

    >>> without_reason("10, because 8 + 2"), without_reason("because it rains")
    ('10', 'because it rains')
    """
    return trim(_REASON.sub("", text)) or text


def trim(text: str) -> str:
    """``text`` without white space, edge punctuation and one pair of quotes around it.

    >>> trim(' "Stop." ')
    'Stop'
    """
    text = text.strip()
    text = (text if text.startswith(".") and text[1:2].isdigit() else text.lstrip(_EDGE_PUNCTUATION)).rstrip(
        _EDGE_PUNCTUATION
    )
    if len(text) > 2 and _QUOTES.get(text[0]) == text[-1] and text.count(text[-1]) <= 2:
        return trim(text[1:-1])
    return text


def plain_form(text: str) -> str:
    """The form in which texts are compared: no case, accents, articles, punctuation nor white space.

    Marks beside figures stay, since they are part of what the figures say, and a formula keeps every mark;
    blank if nothing is left.

    >>> plain_form("The T-shirt!") == plain_form("t shirt"), plain_form("3.5") == plain_form("35")
    (True, False)
    >>> plain_form("(a+b)c") == plain_form("a+bc"), plain_form("-x") == plain_form("- x")
    (False, True)
    """
    if is_formula(text):
        return "".join(trim(text).casefold().split())
    text = _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
    text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    text = text.replace("&", " and ")
    figures = any(char.isdigit() for char in text)
    text = (_MARKS_BESIDE_FIGURES if figures else _MARKS).sub(lambda mark: " " if mark[0] == "-" else "", text)
    text = _ARTICLE.sub("", _SPACE.sub(" ", text).strip())
    return (_SPACE_BESIDE_FIGURES if figures else _SPACE).sub("", text)


def _last_boxed(text: str) -> str | None:
    r"""The content of the last ``\boxed{}`` whose braces close, innermost first."""
    start = text.rfind("\\boxed")
    opening = text.find("{", start) if start >= 0 else -1
    if opening < 0:
        return None
    depth = 0
    for position in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[opening + 1 : position]
    return None


def _exponent(digits: str) -> str:
    return digits if len(digits) == 1 else f"{{{digits}}}"


def _stable(change: Callable[[str], str], text: str) -> str:
    """``change`` applied until it changes nothing; each application shortens the text, so it ends."""
    while (changed := change(text)) != text:
        text = changed
    return text
