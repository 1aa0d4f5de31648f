"""What is secret, by the name that it goes by or by its look, and texts without it."""

import os
import re
from collections.abc import Mapping, Sequence

#: Names of arguments, settings and variables whose values nobody may see. ``max_tokens`` is none, nor is the name of a
#: file that holds a secret, nor what only identifies a key.
_NAME = re.compile(
    r"(?:(?:^|[_-])(?:keys?|token|passw(?:or)?d|credentials?|auth|authorization|headers?)$"
    r"|api_?key|secret|password|(?:access|auth|bearer)_token)(?!\w*(?:path|file|dir|id)$)",
    re.IGNORECASE,
)
#: Tokens and keys as hubs and providers write them.
_VALUE = re.compile(r"\b(?:hf_|sk-|AIza)[\w-]{16,}")
#: User and password of an address.
_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
#: What follows the word in a header that a message quotes.
_BEARER = re.compile(r"(?<=bearer )\S+", re.IGNORECASE)
#: An address: its user and password, what may stay, and its query.
_ADDRESS = re.compile(r"(?<=://)(?:[^/@\s]+@)?([^\s?]*)(?:\?\S*)?")
#: Names in the query of an address, and of further arguments within a value.
_INNER = re.compile(r"[\w-]+(?==)")
#: A shorter one is a stand-in such as "EMPTY", and may be part of any word.
LEAST_SECRET = 8
MASK = b"***"


def names_secret(name: str) -> bool:
    """Whether a name says that its value is secret.

    >>> [names_secret(name) for name in ("OPENAI_API_KEY", "hf_token", "max_new_tokens", "HF_TOKEN_PATH")]
    [True, True, False, False]
    """
    return bool(_NAME.search(name))


def holds_secret(text: str) -> bool:
    """Whether a text shows a secret: one that is known by its look, by the name before it, or as an address's login.

    >>> [holds_secret(url) for url in ("http://me:pass@host/v1", "http://host/v1?key=1", "http://host:8000/v1")]
    [True, True, False]
    """
    return bool(_VALUE.search(text) or _LOGIN.search(text) or any(map(names_secret, _INNER.findall(text))))


def secret_values(environment: Mapping[str, str]) -> list[bytes]:
    """The values in the environment that must not be shown, longest first; the hub's stored token too.

    >>> secret_values({"OPENAI_API_KEY": "sk-123456789", "TOKENIZERS_PARALLELISM": "false-or-true", "HOME": "/home/me"})
    [b'sk-123456789']
    """
    named = {value for name, value in environment.items() if names_secret(name)}
    if environment is os.environ:
        from huggingface_hub import get_token

        named.add(get_token() or "")
    values = {value.strip().encode() for value in named}
    return sorted((value for value in values if len(value) >= LEAST_SECRET), key=len, reverse=True)


def masked(text: bytes, secrets: Sequence[bytes]) -> bytes:
    """The text with every secret replaced.

    >>> masked(b"wrong key sk-123456789", [b"sk-123456789"])
    b'wrong key ***'
    """
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def shown(message: str) -> str:
    """The message of a server or client as it may be shown: without this process's secrets and any login.

    >>> shown("wrong key for http://me:password@host/v1: Bearer abc")
    'wrong key for http://***@host/v1: Bearer ***'
    """
    plain = masked(message.encode("utf-8", "surrogatepass"), secret_values(os.environ))
    text = plain.decode("utf-8", "surrogatepass")
    mask = MASK.decode()
    return _LOGIN.sub(mask, _BEARER.sub(mask, text))


def without_secrets(text: str) -> str:
    """The text without access tokens, and its addresses without user, password and query.

    It depends on the text alone, so that what it makes of equal texts can be compared.

    >>> without_secrets("http://me:password@localhost:8000/v1?key=1")
    'http://localhost:8000/v1'
    """
    return _ADDRESS.sub(r"\1", _VALUE.sub("", text))
