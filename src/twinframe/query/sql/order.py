"""Renders Cypher's total order across types as the terms of ORDER BY."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from twinframe.model.values import Value
from twinframe.query.algebra import FunctionCall, ListExpression, Literal, MapExpression
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.term import Term, read_table


def render_order(term: Term, dialect: Dialect, *, descending: bool) -> list[str]:
    """Render the ORDER BY terms.

    SPEC: openCypher 9, «Orderability»: string, boolean, number, null.
    """
    known = term.kinds & ~k.NULL
    if not known:
        return []
    if known == k.NODE:
        return [_render_native(f"{read_table(term)}.dt_id", term, descending)]
    if known == k.RELATIONSHIP:
        # NOTE: by the id of the source twin, then by the relationship's own.
        table = read_table(term)
        twin = dialect.tables[k.NODE]
        source = f"(SELECT t.dt_id FROM {twin} AS t WHERE t.id = {table}.source)"
        return [
            _render_native(source, term, descending),
            _render_native(f"{table}.relationship_id", term, descending),
        ]
    if known in (k.LIST, k.MAP, k.PATH):
        raise CannotRun("An order of lists, maps or paths.")
    for kind_class in (k.NUMBER, k.STRING, k.BOOLEAN):
        if not known & ~kind_class:
            return [_render_native(dialect.read(term, kind_class), term, descending)]
    word = " DESC" if descending else ""
    rank = dialect.render_rank(term)
    return [f"{key}{word}" for key in (rank, *dialect.list_sort_keys(term))]


def _render_native(value: str, term: Term, descending: bool) -> str:
    # NOTE: nulls are greatest in Cypher; engines differ.
    word = " DESC" if descending else ""
    if not term.kinds & k.NULL:
        return f"{value}{word}"
    return f"{value}{word} NULLS {'FIRST' if descending else 'LAST'}"


def read_declared_times(call: FunctionCall) -> tuple[str, dict[str, list[Value]]]:
    """Return the member of a call of `STORED_TIME`, and the models that declare it by schema."""
    match call.arguments:
        case (_, Literal(value=str(name)), MapExpression(entries=entries)):
            return name, {
                kind: [one.value for one in models.items if isinstance(one, Literal)]
                for kind, models in entries
                if isinstance(models, ListExpression)
            }
        case _:
            raise CannotRun(f"The function {call.name}() of something else.")
