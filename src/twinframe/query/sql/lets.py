"""Names for SQL expressions that a text uses several times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

_SHORT = 40

RenderScope: TypeAlias = Callable[[str, tuple[str, ...], str], str]
"""Renders a text in the scope of a table (by its name) that has `texts` as columns a0, a1 ..."""


@dataclass(frozen=True, slots=True)
class Let:
    """Names for SQL expressions that a text uses several times. `wrap` puts a text into their
    scope.

    PERF: each is computed once, and the text stays linear in the depth of the expression.
    """

    names: tuple[str, ...]
    wrap: Callable[[str], str]


def build_let(texts: tuple[str, ...], render: RenderScope) -> Let:
    """Name `texts`; short ones, mostly columns and placeholders, stand for themselves."""
    if all(len(text) <= _SHORT and "SELECT" not in text for text in texts):
        return Let(texts, lambda body: body)
    # NOTE: the name derives from the content, so two different contents cannot hide each other.
    table = f"v{blake2b(chr(0).join(texts).encode(), digest_size=8).hexdigest()}"
    names = tuple(f"{table}.a{i}" for i in range(len(texts)))
    return Let(names, lambda body: render(table, texts, body))
