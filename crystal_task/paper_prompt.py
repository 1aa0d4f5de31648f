"""The authors' prompt for ``crystal_paper``: taken out of a user's copy of their script, checked, and kept.

This project does not carry the prompt. The script is read as source, never run.
"""

import ast
import hashlib
import os
from pathlib import Path

from ..errors import CrystalError
from .prompt import Prompt
from .settings import data_folder

CONSTANT = "PROMPT"
#: Length and SHA-256 of the prompt as of the authors' commit f8d9739.
LENGTH = 3273
SHA256 = "d54f151f127b618d6715f2c26e7bad33319a88e98e325125395d2844db771a66"
SCRIPT = "inference/crystal_inference.py"


def kept_file() -> Path:
    """Where the prompt is kept for later runs."""
    return data_folder() / "paper_prompt.txt"


def keep(script: Path) -> Path:
    """Takes the prompt out of the authors' script and keeps it; returns where. Raises ``CrystalError``."""
    text = extract(script)
    _check(text, f"{script}: its {CONSTANT}")
    target = kept_file()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_suffix(".part")
        # As bytes: a translated line end would change the hash.
        aside.write_bytes(text.encode("utf-8"))
        os.replace(aside, target)
    except OSError as error:
        raise CrystalError(
            f"The prompt could not be kept in {target} ({error}); make that folder writable, or set XDG_DATA_HOME."
        ) from error
    return target


def load() -> Prompt:
    """The kept prompt. Raises ``CrystalError`` that says how to get it where there is none."""
    target = kept_file()
    if not target.is_file():
        raise CrystalError(
            "crystal_paper asks with the authors' own prompt, which this package does not carry. Type once: `git clone "
            f"https://github.com/waybarrios/crystal authors` and `crystal-eval paper-prompt authors/{SCRIPT}` (or use "
            "the task crystal, which has a prompt of its own)."
        )
    text = target.read_bytes().decode("utf-8", "replace")
    _check(text, f"The kept prompt {target}")
    return Prompt(text)


def extract(script: Path) -> str:
    """The string that the script assigns to ``PROMPT``, read with ``ast``. Raises ``CrystalError``."""
    try:
        tree = ast.parse(Path(script).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CrystalError(
            f"{script} cannot be read as a Python file ({error}); give the path of the authors' {SCRIPT}."
        ) from error
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(text))):
                pass
            case _:
                continue
        if name == CONSTANT:
            return text
    raise CrystalError(f"{script} assigns no text to {CONSTANT}; give the path of the authors' {SCRIPT}.")


def _check(text: str, what: str) -> None:
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if len(text) != LENGTH or found != SHA256:
        raise CrystalError(
            f"{what} is not the prompt that the paper used ({len(text)} characters, SHA-256 {found[:12]}..., expected "
            f"{LENGTH} and {SHA256[:12]}...); check out the authors' commit f8d9739, or set CRYSTAL_PROMPT_FILE to use "
            "another wording with the task crystal."
        )
