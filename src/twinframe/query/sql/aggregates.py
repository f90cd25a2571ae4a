"""Compiles aggregate functions; `grouping` compiles the groups around them."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe.query.algebra import AggregateCall, AggregateKind
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.dialect import Carry
from twinframe.query.sql.expressions import ExpressionCompiler
from twinframe.query.sql.grouping import render_distinct_key
from twinframe.query.sql.term import Term


def compile_aggregate(
    call: AggregateCall, expressions: ExpressionCompiler, order_by: Sequence[str], carry: Carry
) -> Term:
    """Compile one aggregate over a group; `order_by` is the order of the rows, for lists.

    `carry` gives each expression over a row that the aggregate reads.
    """
    if call.kind is AggregateKind.COUNT_ROWS:
        return Term(k.INTEGER, "count(*)")
    term = expressions.compile_term(call.arguments[0])
    extensions = expressions.extensions
    dialect = extensions.dialect
    match call.kind:
        case AggregateKind.COUNT if call.distinct:
            return Term(k.INTEGER, f"count(DISTINCT {carry(render_distinct_key(term, dialect))})")
        case AggregateKind.COUNT:
            return Term(k.INTEGER, f"count({carry(term.value)})")
        case AggregateKind.SUM if term.kinds == k.NULL:
            return Term(k.INTEGER, "count(NULL)")
        case AggregateKind.SUM:
            return dialect.build_sum(term, carry, distinct=call.distinct)
        case AggregateKind.AVG | AggregateKind.MIN | AggregateKind.MAX if term.kinds == k.NULL:
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
            return extensions.compile_collect(term, order_by, carry, distinct=call.distinct)
        case _:
            raise CannotRun(f"The aggregate {call.kind.value}().")
