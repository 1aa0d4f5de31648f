r"""LaTeX inside JSON: which backslashes start a LaTeX command and which a JSON escape.

Models write ``"\frac{1}{2}"`` into JSON where ``"\\frac{1}{2}"`` would be right; a JSON reader makes a form feed of
``\f`` or gives up at ``\s``. Here the backslash is doubled wherever LaTeX was meant, before any JSON is read.
"""

import re

# Commands whose first letter is also a JSON escape (b, f, n, r, t); all others are no JSON escapes in the first place.
# Left out on purpose: commands that leave an English word once the escape is taken off, since a real line break before
# that word is likelier: \nmid, \nless, \nparallel, \nexists, \nsim, \ni. Nothing is left out after \b, \f and \r, which
# no model means as backspace, form feed or bare carriage return.
_LISTED = """
    backepsilon backsim backslash bar barwedge because begin beta beth between bf bfseries big bigcap bigcirc bigcup
    bigg biggl biggr bigl bigm bigodot bigoplus bigotimes bigr bigsqcup bigstar bigtriangledown bigtriangleup biguplus
    bigvee bigwedge binom blacklozenge blacksquare blacktriangle bm bmatrix bmod bold boldmath boldsymbol bot bowtie
    boxdot boxed boxminus boxplus boxtimes breve bullet bumpeq
    fbox fcolorbox flat footnotesize forall frac frown
    nabla natural ncong ne nearrow neg neq newline ngeq ngeqq ngeqslant ngtr nleftarrow nleftrightarrow nleq nleqq
    nleqslant nobreak nolimits nonumber normalsize not notin nprec npreceq nrightarrow nsubseteq nsucc nsucceq
    nsupseteq ntriangleleft ntriangleright nu nvdash nwarrow
    raisebox rangle ratio rbrace rbrack rceil real ref renewcommand rfloor rgroup rho right rightarrow rightarrowtail
    rightharpoondown rightharpoonup rightleftarrows rightleftharpoons rightrightarrows rightsquigarrow risingdotseq
    rlap rm rmoustache root rtimes rule rvert
    tag tanh tau tbinom text textasciitilde textbackslash textbf textcolor textdegree textit textmd textnormal textrm
    textsc textsf textsl textstyle textsubscript textsuperscript texttt textunderscore textup tfrac therefore theta
    thickapprox thicksim thinspace tilde times tiny to top triangle triangledown triangleleft trianglelefteq triangleq
    triangleright tt twoheadrightarrow
"""
COMMANDS = frozenset(_LISTED.split())

# Commands that are LaTeX only by what follows: "\tan" could be a tab and "an" (so a function's argument must follow),
# "\ne" a line break and "e.g." or a list's "e)".
_BY_WHAT_FOLLOWS = {
    "tan": re.compile(r"[\\{(^_$]|[ \t]*\d|[ \t]+(?:\\|[A-Za-z](?![A-Za-z]))"),
    "ne": re.compile(r"(?![.):])"),
}

_JSON_LETTERS = frozenset("bfnrt")
_ESCAPE = re.compile(r"(?:\\[\\\"/])+|\\u[0-9a-fA-F]{4}|\\([A-Za-z]+)|\\(')|(\\)")
# What the groups of an escape hold that JSON knows: nothing.
_SOUND = frozenset({("", "", "")})


def _stands(letters: str, text: str, end: int) -> bool:
    """Whether a backslash before ``letters``, which end at ``end`` of ``text``, is a JSON escape after all."""
    if letters[0] not in _JSON_LETTERS:
        return False
    follows = _BY_WHAT_FOLLOWS.get(letters)
    return follows.match(text, end) is None if follows else letters not in COMMANDS


def _protect(match: re.Match[str]) -> str:
    escape, letters, apostrophe, lone = match[0], match[1], match[2], match[3]
    if letters:
        return escape if _stands(letters, match.string, match.end()) else "\\" + escape
    if apostrophe:
        return "'"  # JavaScript and Python write \' where JSON has no such escape
    return "\\\\" if lone else escape


def _stands_anywhere(letters: str) -> bool:
    return letters[0] in _JSON_LETTERS and letters not in COMMANDS and letters not in _BY_WHAT_FOLLOWS


def protect_latex(text: str) -> str:
    r"""``text`` with every backslash doubled that is no JSON escape, LaTeX commands above all.

    The letters behind a backslash count together: ``\nu is`` is the Greek letter, ``\nNow`` a line break. Text without
    such a backslash comes back equal, and so does text that has been through here before.

    >>> print(protect_latex(r'["Half is \frac{1}{2}", "one\ntwo", "\\frac is fine"]'))
    ["Half is \\frac{1}{2}", "one\ntwo", "\\frac is fine"]
    """
    if "\\" not in text:
        return text
    # Nearly every text needs no change; what differs is looked at once, which is several times faster than a call each.
    kinds = set(_ESCAPE.findall(text))
    if all(kind in _SOUND or (kind[0] and _stands_anywhere(kind[0])) for kind in kinds):
        return text
    return _ESCAPE.sub(_protect, text)
