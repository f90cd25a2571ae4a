"""Names for SQL expressions that a text uses several times."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from twinframe.query.sql import Let
from twinframe.query.sql import build_let as build


def build_let(*texts: str) -> Let:
    """Name `texts` by a common table, which SQLite computes once."""
    return build(texts, _render_scope)


def _render_scope(table: str, texts: tuple[str, ...], body: str) -> str:
    heads = ",".join(f"a{i}" for i in range(len(texts)))
    scope = f"{table}({heads}) AS MATERIALIZED (SELECT {', '.join(texts)})"
    return f"(WITH {scope} SELECT {body} FROM {table})"
