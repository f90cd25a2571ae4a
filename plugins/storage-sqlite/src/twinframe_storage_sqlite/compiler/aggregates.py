"""Compiles the aggregate functions of SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe.query.algebra import AggregateKind
from twinframe.query.engine import CannotRun
from twinframe.query.sql import Carry, Term, check_path
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.aggregate_functions import DEVIATIONS, PERCENTILES
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.json_terms import NATIVE, read_as, render_json


def build_sum(term: Term, carry: Carry, *, distinct: bool) -> Term:
    """`sum` of numbers."""
    word = "DISTINCT " if distinct else ""
    value = carry(read_as(term, k.NUMBER, "sum()"))
    # NOTE: the sum of nothing is the integer 0.
    kinds = term.kinds & k.NUMBER | k.INTEGER
    return Term(kinds, f"coalesce(sum({word}{value}), 0)", assumed=True)


def build_average(term: Term, carry: Carry, *, distinct: bool) -> Term:
    """`avg` of numbers."""
    word = "DISTINCT " if distinct else ""
    value = carry(read_as(term, k.NUMBER, "avg()"))
    return Term(k.FLOAT | k.NULL, f"avg({word}{value})", assumed=True)


def build_extreme(term: Term, kind: AggregateKind, carry: Carry) -> Term:
    """`min` and `max` of scalars."""
    known = term.kinds & ~k.NULL
    name = kind.value
    if not known & ~k.NUMBER or known in (k.STRING, k.BOOLEAN):
        return Term(known | k.NULL, f"{name}({carry(term.value)})", finite=term.finite)
    if term.tag is None:
        value, is_text = term.value, f"typeof({term.value}) = 'text'"
    else:
        trap = render_trap(f"{name} over booleans, lists or maps")
        value = (
            f"CASE WHEN {term.tag} IN ('integer','real','text') THEN {term.value}"
            f" WHEN {term.value} IS NOT NULL THEN {trap} END"
        )
        is_text = f"{term.tag} = 'text'"
    value, is_text = carry(value), carry(is_text)
    texts = f"{name}({value}) FILTER (WHERE {is_text})"
    numbers = f"{name}({value}) FILTER (WHERE NOT ({is_text}))"
    sides = (texts, numbers) if kind is AggregateKind.MIN else (numbers, texts)
    kinds = NATIVE & known | k.NULL
    return Term(kinds, f"coalesce({sides[0]}, {sides[1]})", finite=term.finite, assumed=True)


def compile_deviation(term: Term, kind: AggregateKind, carry: Carry, *, distinct: bool) -> Term:
    """`stDev` and `stDevP` of numbers."""
    word = "DISTINCT " if distinct else ""
    value = carry(read_as(term, k.NUMBER, f"{kind.value}()"))
    return Term(k.FLOAT, f"{DEVIATIONS[kind]}({word}{value})", finite=True, assumed=True)


def compile_percentile(
    term: Term, fraction: str, kind: AggregateKind, carry: Carry, *, distinct: bool
) -> Term:
    """`percentileCont` and `percentileDisc` of numbers."""
    value = carry(read_as(term, k.NUMBER, f"{kind.value}()"))
    is_continuous = kind is AggregateKind.PERCENTILE_CONT
    kinds = k.FLOAT if is_continuous else term.kinds & k.NUMBER
    # NOTE: SQLite has DISTINCT for functions of one argument only.
    text = f"{PERCENTILES[kind]}({value}, {fraction}, {int(distinct)})"
    return Term(kinds | k.NULL, text, assumed=True)


def compile_collect(term: Term, order_by: Sequence[str], carry: Carry, *, distinct: bool) -> Term:
    """`collect` of values in the order of the rows."""
    if term.kinds == k.NULL:
        return Term(k.LIST, "json_group_array(1) FILTER (WHERE 0)")
    if term.kinds & k.FLOAT and not term.finite:
        raise CannotRun("collect() of computed floats.")
    check_path(term)
    if (term.kinds & k.LIST and term.elements & k.ENTITIES) or term.holds_entities:
        raise CannotRun("collect() of lists of nodes or relationships.")
    kept = f" FILTER (WHERE {carry(term.value)} IS NOT NULL)" if term.kinds & k.NULL else ""
    if distinct:
        text = f"json_group_array(DISTINCT {_render_distinct(term, carry)}){kept}"
    else:
        order = f" ORDER BY {', '.join(order_by)}" if order_by else ""
        text = f"json_group_array({_render_element(term, carry)}{order}){kept}"
    return Term(k.LIST, text, elements=term.kinds & ~k.NULL)


def _render_element(term: Term, carry: Carry) -> str:
    if term.kinds & k.PATH:
        return f"json({carry(term.value)})"
    if term.kinds & k.ENTITIES or not term.kinds & ~NATIVE:
        return carry(term.value)
    return f"json({carry(render_json(term))})"


def _render_distinct(term: Term, carry: Carry) -> str:
    known = term.kinds & ~k.NULL
    if known == k.PATH:
        raise CannotRun("collect(DISTINCT) of paths.")
    if known & k.ENTITIES or not known & ~NATIVE:
        return carry(term.value)
    if known == k.BOOLEAN:
        return f"json({carry(render_json(term))})"
    if known in (k.LIST, k.MAP):
        raise CannotRun("collect(DISTINCT) of lists or maps.")
    trap = render_trap("collect(DISTINCT) of booleans, lists or maps")
    return carry(
        f"CASE WHEN {term.tag} IN ('integer','real','text') THEN {term.value}"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END"
    )
