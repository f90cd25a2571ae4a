"""Renders Cypher's total order across types as the terms of ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.abilities import NARROW
from twinframe_storage_rdf.compiler.bindings import EXACT
from twinframe_storage_rdf.compiler.entities import read_system
from twinframe_storage_rdf.compiler.select import Select
from twinframe_storage_rdf.compiler.term import (
    Term,
    render_bound,
    render_is,
    render_is_nested,
    render_mark,
)


def render_order(term: Term, select: Select, *, descending: bool) -> list[str]:
    """Render the ORDER BY terms.

    SPEC: openCypher 9, «Orderability»: string, boolean, number, null.
    """
    known = term.kinds & ~k.NULL
    if not known:
        return []
    if known == k.NODE:
        return _render([_render_text(read_system(term, v.ID), term)], term, descending)
    if known == k.RELATIONSHIP:
        # NOTE: by the id of the source twin, then by the relationship's own.
        keys = [_render_text(read_system(term, each), term) for each in (v.SOURCE_ID, v.ID)]
        return _render(keys, term, descending)
    if known & k.ENTITIES or known in (k.LIST, k.MAP):
        raise CannotRun("An order of nodes with other values, or of lists or maps.")
    if known & k.NESTED:
        select.add_guard(render_is_nested(term))
    if known & k.NUMBER == k.NUMBER:
        # NOTE: SPARQL orders integers among doubles as doubles.
        select.add_guard(f"isNumeric({term.text}) && ABS({term.text}) >= {EXACT}")
    if known == k.STRING:
        return _render([_render_text(term.text, term)], term, descending)
    if known == k.BOOLEAN or not known & ~k.NUMBER:
        return _render([term.text], term, descending)
    return [_render_key(_render_rank(term), descending), _render_key(term.text, descending)]


def render_text_key(text: str) -> str:
    """Render an expression known to be a string as a sort key.

    NOTE: a server may order stored strings by numbers of its own, as Virtuoso does.
    """
    return f"STR{NARROW}({text})"


def render_order_mark(terms: Sequence[Term]) -> str:
    """Render the mark that follows ORDER.

    NOTE: an order of nulls is left to engines that order any value: STR of null, which other
    engines need, is an error, and some (rdflib) stop at it.
    """
    return "" if any(term.kinds & k.NULL for term in terms) else render_mark(*terms)


def _render_text(text: str, term: Term) -> str:
    return text if term.kinds & k.NULL else render_text_key(text)


def _render(keys: list[str], term: Term, descending: bool) -> list[str]:
    # NOTE: nulls are greatest in Cypher and least in SPARQL.
    absent = [f"(!{render_bound(term)})"] if term.kinds & k.NULL else []
    return [_render_key(each, descending) for each in (*absent, *keys)]


def _render_rank(term: Term) -> str:
    text, boolean = render_is(term, k.STRING), render_is(term, k.BOOLEAN)
    return f"COALESCE(IF({text}, 1, IF({boolean}, 2, 3)), 4)"


def _render_key(text: str, descending: bool) -> str:
    return f"{'DESC' if descending else 'ASC'}({text})"
