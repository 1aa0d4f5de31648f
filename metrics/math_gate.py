r"""Which texts are small, harmless mathematics, and their LaTeX: the gate before the algebra.

Only a short list of tokens passes, with bounds on length, nesting, figures and exponents, so that nothing
that could occupy a solver (towers of powers, factorials, sums, integrals) ever reaches it, whatever time
limit stands behind.
"""

import re
from math import comb, factorial

_MAX_CHARS = 200
_MAX_DEPTH = 8
_MAX_FIGURES = 15
# 2^999 is still a small number. The product of all exponents is bounded, since powers of powers multiply, and
# that of brackets more tightly, since (x + y + z)^12 is expanded into 91 terms.
_MAX_EXPONENTS = 1_000
_MAX_EXPONENTS_OF_SUMS = 12
_MAX_WORD = 2
# The largest of which factorial and binomial stay within the figures.
_MAX_FACTORIAL = 17
_MAX_CHOICE = 50

_FUNCTIONS = frozenset("sin cos tan cot sec csc arcsin arccos arctan log ln exp sqrt".split())
_GREEK = {
    "π": "pi", "θ": "theta", "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "λ": "lambda", "μ": "mu",
    "φ": "phi", "ω": "omega", "σ": "sigma", "ρ": "rho", "τ": "tau", "ε": "epsilon",
}  # fmt: skip
_SYMBOLS = {
    "×": "\\times ", "·": "\\cdot ", "⋅": "\\cdot ", "*": "\\cdot ", "÷": "\\div ", "≤": "\\leq ", "≥": "\\geq ",
    "≠": "\\neq ", "∞": "\\infty ",
}  # fmt: skip
_ASCII_RELATIONS = {"<=": "≤", ">=": "≥", "!=": "≠"}
_COMMANDS = (
    frozenset("frac dfrac tfrac cfrac cdot times div pm infty leq geq le ge neq ne lt gt".split())
    | _FUNCTIONS
    | frozenset(_GREEK.values())
)
_TOKEN = re.compile(r"\s+|\\[A-Za-z]+|\d+(?:\.\d+)?|\.\d+|[A-Za-z]+|\*\*|.", re.DOTALL)
_PLAIN_CHARS = frozenset("+-/^_=<>(){}|")
_OPEN, _CLOSE = frozenset("({"), frozenset(")}")
_ACTS = re.compile(r"[-+*/^=<>\\√π×÷·≤≥]|\bsqrt\b|\bpi\b|\d!")
# Signs that no word has; others, such as a hyphen or a slash, need a formula around them.
_MATHEMATICAL = re.compile(r"[\\^=√×÷≤≥]|^-(?=\S)")
# "<=", ">=" and "!=" are other relations.
_EQUALS = re.compile(r"(?<![<>!=])=(?!=)")
_FACTORIAL = re.compile(r"(?<![\w.])(\d{1,2})!(?!!)")
# A parser takes it for one number, however large; those that can be meant are read before there is algebra.
_POWER_OF_TEN = re.compile(r"[\d.][eE][-+]?\d")
_BINOMIAL = re.compile(r"\\[dt]?binom\s*\{(\d{1,2})\}\s*\{(\d{1,2})\}")


def acts(text: str) -> bool:
    r"""Whether a text does any mathematics at all: has an operator, a relation or a LaTeX command.

    >>> acts(r"2\sqrt{2}"), acts("2 lamps")
    (True, False)
    """
    return len(text) <= _MAX_CHARS and bool(_ACTS.search(text))


def is_formula(text: str) -> bool:
    """Whether every mark of a text is mathematics, so that none can be left out.

    >>> is_formula("(a+b)c"), is_formula("-x"), is_formula("T-shirt")
    (True, True, False)
    """
    text = text.strip()
    return acts(text) and bool(_MATHEMATICAL.search(text) or to_latex(text))


def last_side(text: str) -> str:
    """What stands behind the last equals sign of a text, the whole of it where there is none.

    >>> last_side("A = 3 × 4 = 12"), last_side("x >= 5")
    (' 12', 'x >= 5')
    """
    return _EQUALS.split(text)[-1]


def to_latex(text: str) -> str | None:
    r"""The LaTeX of a small formula, plain or in LaTeX already; None where it is none, or not a harmless one.

    >>> to_latex("2*sqrt(2)"), to_latex("x^10"), to_latex("√8/π"), to_latex("5!/2")
    ('2\\cdot \\sqrt{2}', 'x^{10}', '\\sqrt{8}/\\pi ', '120/2')
    >>> to_latex("9^9^9") is to_latex("1 E 999999") is to_latex("the lamp") is to_latex(r"\sum_k k") is None
    True
    """
    if len(text) > _MAX_CHARS:
        return None
    text = _BINOMIAL.sub(_binomial, _FACTORIAL.sub(_factorial, text))
    for ascii_form, sign in _ASCII_RELATIONS.items():
        text = text.replace(ascii_form, sign)
    tokens = [token for token in map(_translate, _TOKEN.findall(text)) if token != " "]
    if None in tokens:
        return None
    latex = _with_braces([token for token in tokens if token])
    if not latex or not _is_small(latex):
        return None
    made = "".join(latex).replace(" {", "{")
    return None if _POWER_OF_TEN.search(made) else made


def _factorial(found: re.Match[str]) -> str:
    number = int(found[1])
    return str(factorial(number)) if number <= _MAX_FACTORIAL else found[0]


def _binomial(found: re.Match[str]) -> str:
    whole, part = int(found[1]), int(found[2])
    return f"({comb(whole, part)})" if whole <= _MAX_CHOICE else found[0]


def _translate(token: str) -> str | None:
    """One token in LaTeX, " " for white space, None where the gate does not know it."""
    if token.isspace():
        return " "
    if token[0] == "\\":
        return f"{token} " if token[1:] in _COMMANDS else None
    if token[0].isdigit() or token[0] == ".":
        known = token.isascii() and sum(map(str.isdigit, token)) <= _MAX_FIGURES
        return (f"0{token}" if token[0] == "." else token) if known and len(token) > token.count(".") else None
    if token.isascii() and token.isalpha():
        if token in _FUNCTIONS or token == "pi":
            return f"\\{token} "
        return token if len(token) <= _MAX_WORD else None
    if token in _GREEK:
        return f"\\{_GREEK[token]} "
    if token == "**":
        return "^"
    if token == "√":
        return "\\sqrt "
    return _SYMBOLS.get(token, token if token in _PLAIN_CHARS else None)


def _with_braces(tokens: list[str]) -> list[str] | None:
    """The tokens with braces around the arguments of roots and powers; None where brackets do not match."""
    result: list[str] = []
    closing: list[str] = []
    for index, token in enumerate(tokens):
        takes_argument = index > 0 and tokens[index - 1] in ("^", "\\sqrt ")
        if token in _OPEN:
            closing.append("}" if takes_argument or token == "{" else ")")
            result.append("{" if takes_argument else token)
        elif token in _CLOSE:
            if not closing or (token == "}" and closing[-1] == ")"):
                return None
            result.append(closing.pop())
        elif takes_argument and (token[0].isalnum() or token == "\\pi "):
            result.extend(("{", token, "}"))
        else:
            result.append(token)
        if len(closing) > _MAX_DEPTH:
            return None
    return None if closing else result


def _is_small(tokens: list[str]) -> bool:
    """Whether relations, powers and their product stay within bounds."""
    if sum(token in ("=", "<", ">") for token in tokens) > 1 or sum(map(len, tokens)) > 2 * _MAX_CHARS:
        return False
    product = of_sums = 1.0
    for index, token in enumerate(tokens):
        if token != "^":
            continue
        exponent = _group(tokens, index + 1)
        after = index + 1 + len(exponent) + 2 * (tokens[index + 1 : index + 2] == ["{"])
        if "^" in exponent or not exponent or tokens[after : after + 1] == ["^"]:
            return False
        size = 1.0
        for part in exponent:
            if part[0].isdigit():
                size *= max(1.0, float(part))
        product *= size
        if index and tokens[index - 1] in (")", "}"):
            of_sums *= size
    return product <= _MAX_EXPONENTS and of_sums <= _MAX_EXPONENTS_OF_SUMS


def _group(tokens: list[str], start: int) -> list[str]:
    """The tokens of the braces that open at ``start``, or the one token there; none for a lone operator."""
    if start >= len(tokens) or tokens[start] != "{":
        return tokens[start : start + 1] if start < len(tokens) and tokens[start][0].isalnum() else []
    depth = 0
    for end in range(start, len(tokens)):
        depth += (tokens[end] == "{") - (tokens[end] == "}")
        if depth == 0:
            return tokens[start + 1 : end]
    return []
