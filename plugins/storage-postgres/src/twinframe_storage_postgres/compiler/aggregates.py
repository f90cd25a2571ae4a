"""Compiles the aggregate functions of PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from twinframe.query.algebra import AggregateKind
from twinframe.query.engine import CannotRun
from twinframe.query.sql import Carry, Dialect, Term, may_fail
from twinframe.query.sql import kinds as k

_DIRECTION: Final = re.compile(r"(.*?)((?: DESC)?(?: NULLS (?:FIRST|LAST))?)", re.DOTALL)


def list_rows(term: Term) -> list[str]:
    """List the row id of the document whose member a term is, if it is one."""
    alias, _, column = ("" if term.member is None else term.member.document).partition(".")
    return [f"{alias}.id"] if column == "document" else []


def _carry_once(dialect: Dialect, term: Term, carry: Carry) -> tuple[Term, Carry]:
    """Carry a value of several kinds itself, not what is computed of it."""
    if term.tag is None or term.json is None or (column := carry(term.json)) == term.json:
        return term, carry
    read = replace(
        dialect.build_json_term(column, term.kinds), finite=term.finite, assumed=term.assumed
    )
    return read, _read_as_it_is


def _read_as_it_is(sql: str) -> str:
    return sql


def _read_number(dialect: Dialect, term: Term, reason: str) -> str:
    """Read a number to be added; a float as it is."""
    if term.tag is None and not term.kinds & ~(k.FLOAT | k.NULL):
        return term.value
    return dialect.read_as(term, k.NUMBER, reason)


def build_sum(self: Dialect, term: Term, carry: Carry, *, distinct: bool) -> Term:
    """Add as `numeric` if all are integers, else as floats."""
    if distinct and term.kinds & k.FLOAT:
        raise CannotRun("sum(DISTINCT) of floats.")
    term, carry = _carry_once(self, term, carry)
    word = "DISTINCT " if distinct else ""
    value = carry(_read_number(self, term, "sum()"))
    whole = f"coalesce(sum({word}{value})::bigint, 0)"
    if not term.kinds & k.FLOAT:
        return Term(k.INTEGER, whole, assumed=True)
    is_float = carry(f"{term.tag} = 'real'") if term.tag is not None else "TRUE"
    floats = f"twinframe_float(sum(({value})::double precision))"
    # NOTE: `bool_or` of no row is NULL: the sum of nothing is the integer 0.
    wholes = f"FILTER (WHERE NOT ({is_float}))"
    whole = f"to_jsonb(coalesce((sum({value}) {wholes})::bigint, 0))"
    text = f"CASE WHEN bool_or({is_float}) THEN {floats} ELSE {whole} END"
    return replace(self.build_json_term(f"({text})", k.NUMBER), assumed=True)


def build_average(self: Dialect, term: Term, carry: Carry, *, distinct: bool) -> Term:
    """Average as floats."""
    term, carry = _carry_once(self, term, carry)
    value = carry(_read_number(self, term, "avg()"))
    word = "DISTINCT " if distinct else ""
    text = f"avg({word}({value})::double precision)"
    return Term(k.FLOAT | k.NULL, text, assumed=True)


def build_extreme(self: Dialect, term: Term, kind: AggregateKind, carry: Carry) -> Term:
    """Take the first value of each group in Cypher's order."""
    known = term.kinds & ~k.NULL
    if term.tag is None and known != k.BOOLEAN:
        value = self.read(term, k.STRING) if known == k.STRING else term.value
        return Term(known | k.NULL, f"{kind.value}({carry(value)})", finite=term.finite)
    if term.tag is None:
        name = "bool_or" if kind is AggregateKind.MAX else "bool_and"
        return Term(known | k.NULL, f"{name}({carry(term.value)})")
    return _build_mixed_extreme(self, term, kind, carry)


def _build_mixed_extreme(dialect: Dialect, term: Term, kind: AggregateKind, carry: Carry) -> Term:
    """Take the extreme of each type, and of these the last or first in Cypher's order.

    A trap where it is both an integer and a float.
    """
    term, carry = _carry_once(dialect, term, carry)
    name, number = kind.value, dialect.read(term, k.NUMBER)
    trap = dialect.render_trap("an order of lists or maps", k.STRING)
    text = (
        f"CASE jsonb_typeof({term.json}) WHEN 'string' THEN '5' || {term.value}"
        f" WHEN 'boolean' THEN '6' || {term.value}"
        f" WHEN 'array' THEN {trap} WHEN 'object' THEN {trap} END"
    )
    texts = f'{name}(({carry(text)}) COLLATE "C")'
    texts = (
        f"CASE left({texts}, 1) WHEN '5' THEN to_jsonb(substr({texts}, 2))"
        f" WHEN '6' THEN substr({texts}, 2)::jsonb END"
    )
    numbers = f"{name}({carry(number)})"
    if term.kinds & k.NUMBER == k.NUMBER:
        form = carry(f"scale({number}) > 0")
        floats, wholes = (f"{numbers} FILTER (WHERE {test})" for test in (form, f"NOT ({form})"))
        same = dialect.render_trap("an extreme that is an integer and a float", k.NUMBER)
        either = "greatest" if kind is AggregateKind.MAX else "least"
        numbers = f"CASE WHEN {floats} = {wholes} THEN {same} ELSE {either}({floats}, {wholes}) END"
    found = [texts, f"to_jsonb({numbers})"]
    if kind is AggregateKind.MAX:
        found.reverse()
    json = f"coalesce({', '.join(found)})"
    kinds = term.kinds & (k.NUMBER | k.STRING | k.BOOLEAN) | k.NULL
    return replace(dialect.build_json_term(json, kinds), finite=term.finite, assumed=True)


def compile_deviation(
    self: Dialect, term: Term, kind: AggregateKind, carry: Carry, *, distinct: bool
) -> Term:
    """Compute with `numeric`, which is exact but for the root."""
    name = "stddev_samp" if kind is AggregateKind.STDEV else "stddev_pop"
    word = "DISTINCT " if distinct else ""
    value = self.read_as(term, k.NUMBER, f"{kind.value}()")
    trap = self.render_trap("a standard deviation of such numbers", k.NUMBER)
    value = carry(f"CASE WHEN abs({value}) > 1e100 THEN {trap} ELSE ({value})::numeric END")
    text = f"coalesce({name}({word}({value})::numeric)::double precision, 0)"
    return Term(k.FLOAT, text, finite=True, assumed=True)


def compile_percentile(
    self: Dialect, term: Term, fraction: str, kind: AggregateKind, carry: Carry, *, distinct: bool
) -> Term:
    """Interpolate as floats, or take a value from an array in order."""
    if distinct:
        raise CannotRun(f"{kind.value}() of distinct values.")
    number = self.read_as(term, k.NUMBER, f"{kind.value}()")
    if kind is AggregateKind.PERCENTILE_CONT:
        order = f"ORDER BY ({carry(number)})::double precision"
        text = f"percentile_cont({fraction}::double precision) WITHIN GROUP ({order})"
        return Term(k.FLOAT | k.NULL, text, assumed=True)
    kept = f"FILTER (WHERE {carry(term.value)} IS NOT NULL)"
    order = ", ".join([carry(number), *map(carry, list_rows(term))])
    value = carry(term.value if term.tag is None else self.render_json(term))
    position = f"greatest(ceil({fraction}::double precision * count({carry(number)})), 1)"
    text = f"((array_agg({value} ORDER BY {order}) {kept})[{position}::integer])"
    known = term.kinds & k.NUMBER | k.NULL
    if term.tag is None:
        return Term(known, text, finite=term.finite, assumed=True)
    return replace(self.build_json_term(text, known), finite=True, assumed=True)


def compile_collect(
    self: Dialect, term: Term, order_by: Sequence[str], carry: Carry, *, distinct: bool
) -> Term:
    """Aggregate the values that are not null to a list."""
    nested = term.kinds & k.LIST and term.elements & k.ENTITIES
    if nested or term.holds_entities:
        raise CannotRun("collect() of lists or maps of nodes or relationships.")
    if distinct and term.kinds & k.PATH:
        raise CannotRun("collect(DISTINCT) of paths.")
    order = f" ORDER BY {', '.join(_carry_order(each, carry) for each in order_by)}"
    order = order if order_by else ""
    kept = f" FILTER (WHERE {carry(term.value)} IS NOT NULL)" if term.kinds & k.NULL else ""
    item = term.value if term.kinds & k.ENTITIES else self.render_item(term)
    values = f"coalesce(jsonb_agg({carry(item)}{order}){kept}, '[]')"
    if distinct:
        values = f"twinframe_distinct({values})"
    elements = term.kinds & ~k.NULL
    return Term(k.LIST, values, elements=elements or k.NULL, assumed=may_fail(term))


def _carry_order(key: str, carry: Carry) -> str:
    """Carry the expression of an ORDER BY key."""
    expression, word = _DIRECTION.fullmatch(key).groups()  # type: ignore[union-attr]  # of any text
    return f"{carry(expression)}{word}"
