"""Names for SQL expressions that a text uses several times."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

_SHORT = 40


@dataclass(frozen=True, slots=True)
class Let:
    """Names for SQL expressions that a text uses several times. `wrap` puts a text into their
    scope.

    PERF: each is computed once, and the text stays linear in the depth of the expression.
    """

    names: tuple[str, ...]
    wrap: Callable[[str], str]


def build_let(*texts: str) -> Let:
    """Name `texts`; short ones, mostly columns and placeholders, stand for themselves."""
    if all(len(text) <= _SHORT and "SELECT" not in text for text in texts):
        return Let(texts, lambda body: body)
    # NOTE: the name derives from the content, so two different contents cannot hide each other.
    digest = blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()
    table = f"v{digest}"
    heads = ",".join(f"a{i}" for i in range(len(texts)))
    values = ", ".join(texts)

    def wrap(body: str) -> str:
        scope = f"{table}({heads}) AS MATERIALIZED (SELECT {values})"
        return f"(WITH {scope} SELECT {body} FROM {table})"

    return Let(tuple(f"{table}.a{i}" for i in range(len(texts))), wrap)
