"""Compiles aggregate functions; `grouping` compiles the groups around them."""

from __future__ import annotations

from typing import Final, assert_never

from twinframe.query.algebra import AggregateCall, AggregateKind
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import build_fraction
from twinframe.query.sql.dialect import Carry
from twinframe.query.sql.expressions import ExpressionCompiler
from twinframe.query.sql.select import Select
from twinframe.query.sql.term import Term

_NULL_OF_NULLS: Final = frozenset(
    {
        *(AggregateKind.AVG, AggregateKind.MIN, AggregateKind.MAX),
        *(AggregateKind.PERCENTILE_CONT, AggregateKind.PERCENTILE_DISC),
    }
)


def compile_aggregate(
    call: AggregateCall, expressions: ExpressionCompiler, select: Select, carry: Carry
) -> Term:
    """Compile one aggregate over a group of the rows of `select`.

    `carry` gives each expression over a row that the aggregate reads.
    """
    if call.kind is AggregateKind.COUNT_ROWS:
        return Term(k.INTEGER, "count(*)")
    term = expressions.compile_term(call.arguments[0])
    extensions = expressions.extensions
    dialect = extensions.dialect
    match call.kind:
        case AggregateKind.COUNT if call.distinct:
            return Term(k.INTEGER, f"count(DISTINCT {carry(dialect.render_distinct_key(term))})")
        case AggregateKind.COUNT:
            return Term(k.INTEGER, f"count({carry(term.value)})")
        case AggregateKind.SUM if term.kinds == k.NULL:
            return Term(k.INTEGER, "count(NULL)")
        case AggregateKind.SUM:
            return dialect.build_sum(term, carry, distinct=call.distinct)
        case kind if term.kinds == k.NULL and kind in _NULL_OF_NULLS:
            return Term(k.NULL, "max(NULL)")
        case AggregateKind.AVG:
            return dialect.build_average(term, carry, distinct=call.distinct)
        case AggregateKind.MIN | AggregateKind.MAX:
            known = term.kinds & ~k.NULL
            if known & k.ENTITIES or known in (k.LIST, k.MAP):
                raise CannotRun(
                    f"The aggregate {call.kind.value}() over a {k.render_kinds(known)}."
                )
            return dialect.build_extreme(term, call.kind, carry)
        case AggregateKind.COLLECT:
            return extensions.compile_collect(term, select.order_by, carry, distinct=call.distinct)
        case AggregateKind.STDEV | AggregateKind.STDEVP:
            return extensions.compile_deviation(term, call.kind, carry, distinct=call.distinct)
        case AggregateKind.PERCENTILE_CONT | AggregateKind.PERCENTILE_DISC:
            bindings = select.statement.bindings
            fraction = bindings.bind_constant(call.arguments[1], build_fraction, "A percentile")
            return extensions.compile_percentile(
                term, fraction, call.kind, carry, distinct=call.distinct
            )
        case _:
            assert_never(call.kind)
