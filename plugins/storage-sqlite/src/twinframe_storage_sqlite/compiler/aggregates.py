"""Compiles aggregate functions; `operators` compiles the grouping around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twinframe.query.algebra import AggregateCall, AggregateKind
from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.arithmetic import read_as
from twinframe_storage_sqlite.compiler.expressions import ExpressionCompiler
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.nested import render_list_key
from twinframe_storage_sqlite.compiler.term import Term, render_json, render_key

_ENTITIES = k.ENTITIES

Carry = Callable[[str], str]
"""Returns the name of an expression over a row where the rows are grouped, or the expression
itself.
"""


def compile_aggregate(
    call: AggregateCall, expressions: ExpressionCompiler, order_by: Sequence[str], carry: Carry
) -> Term:
    """Compile one aggregate over a group; `order_by` is the order of the rows, for lists.

    `carry` gives each expression over a row that the aggregate reads.
    """
    if call.kind is AggregateKind.COUNT_ROWS:
        return Term(k.INTEGER, "count(*)")
    term = expressions.compile_term(call.arguments[0])
    match call.kind:
        case AggregateKind.COUNT:
            return _compile_count(term, call.distinct, carry)
        case AggregateKind.SUM:
            return _compile_sum(term, call.distinct, carry)
        case AggregateKind.AVG:
            return _compile_average(term, call.distinct, carry)
        case AggregateKind.MIN | AggregateKind.MAX:
            return _compile_extreme(term, call.kind, carry)
        case AggregateKind.COLLECT:
            return _compile_collect(term, call.distinct, order_by, carry)
        case _:
            raise CannotRun(f"The aggregate {call.kind.value}().")


def _compile_count(term: Term, distinct: bool, carry: Carry) -> Term:
    if not distinct:
        return Term(k.INTEGER, f"count({carry(term.value)})")
    if not term.kinds & ~(k.LIST | k.NULL) and term.kinds & k.LIST:
        return Term(k.INTEGER, f"count(DISTINCT {carry(render_list_key(term))})")
    return Term(k.INTEGER, f"count(DISTINCT {carry(render_key(term))})")


def _compile_sum(term: Term, distinct: bool, carry: Carry) -> Term:
    if term.kinds == k.NULL:
        return Term(k.INTEGER, "count(NULL)")
    word = "DISTINCT " if distinct else ""
    value = carry(read_as(term, k.NUMBER, "sum()"))
    # NOTE: the sum of nothing is the integer 0.
    kinds = term.kinds & k.NUMBER | k.INTEGER
    return Term(kinds, f"coalesce(sum({word}{value}), 0)", assumed=True)


def _compile_average(term: Term, distinct: bool, carry: Carry) -> Term:
    if term.kinds == k.NULL:
        return Term(k.NULL, "max(NULL)")
    word = "DISTINCT " if distinct else ""
    value = carry(read_as(term, k.NUMBER, "avg()"))
    return Term(k.FLOAT | k.NULL, f"avg({word}{value})", assumed=True)


def _compile_extreme(term: Term, kind: AggregateKind, carry: Carry) -> Term:
    """SPEC: openCypher 9: values of several types are compared by the total order, numbers above
    strings.
    """
    known = term.kinds & ~k.NULL
    name = kind.value
    if not known:
        return Term(k.NULL, "max(NULL)")
    if known & _ENTITIES or known in (k.LIST, k.MAP):
        raise CannotRun(f"The aggregate {name}() over a {k.render_kinds(known)}.")
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
    kinds = k.NATIVE & known | k.NULL
    return Term(kinds, f"coalesce({sides[0]}, {sides[1]})", finite=term.finite, assumed=True)


def _compile_collect(term: Term, distinct: bool, order_by: Sequence[str], carry: Carry) -> Term:
    if term.kinds == k.NULL:
        return Term(k.LIST, "json_group_array(1) FILTER (WHERE 0)")
    if term.kinds & k.FLOAT and not term.finite:
        raise CannotRun("collect() of computed floats.")
    if (
        (term.kinds & k.LIST and term.elements & _ENTITIES)
        or term.holds_entities
        or (term.kinds & k.PATH)
    ):
        raise CannotRun("collect() of lists of nodes or relationships.")
    kept = f" FILTER (WHERE {carry(term.value)} IS NOT NULL)" if term.kinds & k.NULL else ""
    if distinct:
        text = f"json_group_array(DISTINCT {_render_distinct(term, carry)}){kept}"
    else:
        order = f" ORDER BY {', '.join(order_by)}" if order_by else ""
        text = f"json_group_array({_render_element(term, carry)}{order}){kept}"
    return Term(k.LIST, text, elements=term.kinds & ~k.NULL)


def _render_element(term: Term, carry: Carry) -> str:
    if term.kinds & _ENTITIES or not term.kinds & ~k.NATIVE:
        return carry(term.value)
    return f"json({carry(render_json(term))})"


def _render_distinct(term: Term, carry: Carry) -> str:
    known = term.kinds & ~k.NULL
    if known & _ENTITIES or not known & ~k.NATIVE:
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
