"""GitHub-flavoured Markdown: texts that are shown as they are, tables, lists and fences."""

import re
from collections.abc import Iterable, Sequence

from .plain import one_line


def escape(text: str) -> str:
    """A text on one line that Markdown shows as it is, in a table's cell too.

    >>> escape("a|b <i> 5*x_1")
    'a\\\\|b &lt;i&gt; 5\\\\*x\\\\_1'
    """
    plain = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A colon and an at sign would make links of addresses.
    return re.sub(r"([\\`*_\[\]|~$#!])", r"\\\1", plain).replace("://", "&#58;//").replace("@", "&#64;")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The lines of a table whose cells are Markdown already; the first ``left`` columns are texts."""
    marks = ["---"] * left + ["--:"] * (len(head) - left)
    return [f"| {' | '.join(cells)} |" for cells in (head, marks, *rows)]


def bullets(sentences: Iterable[str]) -> str:
    """Sentences as a list in Markdown."""
    return "\n".join(f"- {escape(sentence)}" for sentence in sentences)


def fenced(lines: Sequence[str]) -> list[str]:
    """Lines as they are, in a fence that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *lines, fence]
