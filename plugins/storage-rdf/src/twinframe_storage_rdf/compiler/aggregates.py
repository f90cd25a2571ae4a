"""Compiles aggregate functions; `operators` compiles the grouping around them.

NOTE: in SPARQL one unbound value makes an aggregate an error, where Cypher leaves nulls out.
"""

from __future__ import annotations

from dataclasses import dataclass

from twinframe.query.algebra import AggregateCall, AggregateKind
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf.compiler.term import (
    DOUBLE_TYPE,
    Term,
    render_bound,
    render_is,
    render_is_nested,
)

_GREATEST = '"\U0010ffff\U0010ffff"'
_ERROR = "(1 / 0)"
"""A null in a position where an ungrouped variable is not allowed."""
_LEAST = "<urn:twinframe:nothing>"


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate: its expression, its kinds, and when a group must be left to the evaluator.

    `guards` are conditions of the group; `{}` in them is replaced by the aggregate's own variable.
    """

    kinds: int
    text: str
    guards: tuple[str, ...] = ()
    result: str = "{}"


def compile_aggregate(call: AggregateCall, term: Term | None) -> Aggregated:
    """One aggregate over a group of rows; `term` is its argument over one row."""
    if term is None:
        return Aggregated(k.INTEGER, "COUNT(*)")
    match call.kind:
        case AggregateKind.COUNT:
            return _compile_count(term, distinct=call.distinct)
        case AggregateKind.SUM if not call.distinct:
            return _compile_sum(term)
        case AggregateKind.AVG if not call.distinct:
            return _compile_average(term)
        case AggregateKind.MIN | AggregateKind.MAX:
            return _compile_extreme(term, is_least=call.kind is AggregateKind.MIN)
        case _:
            raise CannotRun(f"The aggregate {call.kind.value}().")


def _compile_count(term: Term, *, distinct: bool) -> Aggregated:
    if not distinct:
        return Aggregated(k.INTEGER, _render_count(term))
    guards: tuple[str, ...] = ()
    if term.kinds & k.NESTED:
        guards = (f"MAX(IF(COALESCE({render_is_nested(term)}, false), 1, 0)) > 0",)
    value = render_canonical(term)
    if not term.kinds & k.NULL:
        return Aggregated(k.INTEGER, f"COUNT(DISTINCT {value})", guards)
    # NOTE: in some engines one error makes the whole count an error.
    absent = f"COALESCE(MAX(IF({render_bound(term)}, 0, 1)), 0)"
    text = f"COUNT(DISTINCT COALESCE({value}, {_LEAST})) - {absent}"
    return Aggregated(k.INTEGER, text, guards)


def _render_count(term: Term) -> str:
    """Render the number of rows that have the value."""
    if not term.kinds & k.NULL or term.is_variable:
        return f"COUNT({term.text})"
    # NOTE: in some engines one error of an expression makes the whole count an error.
    return f"SUM(IF({render_bound(term)}, 1, 0))"


def render_canonical(term: Term) -> str:
    """An expression whose terms are the same for equivalent values (lists and maps excepted)."""
    kinds = term.kinds & k.NUMBER
    if not kinds & k.FLOAT:
        return term.text
    x = term.text
    whole = f"DATATYPE({x}) = {DOUBLE_TYPE} && {x} = FLOOR({x}) && ABS({x}) < 9.2e18"
    integer = f"<http://www.w3.org/2001/XMLSchema#integer>({x})"
    return f"IF(isLiteral({x}) && isNumeric({x}) && {whole}, {integer}, {x})"


def _compile_sum(term: Term) -> Aggregated:
    if not term.kinds & k.NUMBER:
        raise CannotRun("sum() of something that is no number.")
    # NOTE: unbound where a value is no number, or integers overflow.
    return Aggregated(
        term.kinds & k.NUMBER | k.INTEGER, f"SUM(COALESCE({term.text}, 0))", ("!BOUND({})",)
    )


def _compile_average(term: Term) -> Aggregated:
    if not term.kinds & k.NUMBER:
        raise CannotRun("avg() of something that is no number.")
    x = term.text
    text = f"SUM(COALESCE({x} + 0.0e0, 0.0e0)) / {_render_count(term)}"
    guards: tuple[str, ...] = ()
    if term.kinds & ~(k.NUMBER | k.NULL):
        guards = (f"SUM(IF(COALESCE({render_is(term, k.NUMBER)}, true), 0, 1)) > 0",)
    text = f"IF({_render_count(term)} = 0, {_ERROR}, {text})"
    return Aggregated(k.FLOAT | k.NULL, text, guards)


def _compile_extreme(term: Term, *, is_least: bool) -> Aggregated:
    """The least or greatest, of values of one datatype only."""
    known = term.kinds & ~k.NULL
    if not known or known & k.ENTITIES or not known & (k.NUMBER | k.STRING):
        raise CannotRun("min() or max() of values that SPARQL does not order.")
    x, name = term.text, "MIN" if is_least else "MAX"
    guards = []
    if known not in (k.INTEGER, k.FLOAT, k.STRING):
        one = f'COUNT(DISTINCT COALESCE(STR(DATATYPE({x})), "")) - MAX(IF(BOUND_, 0, 1))'
        one = one.replace("BOUND_", render_bound(term))
        usable = " || ".join(render_is(term, each) for each in (k.NUMBER, k.STRING))
        guards.append(f"{one} > 1")
        guards.append(f"MAX(IF(COALESCE({usable}, true), 0, 1)) > 0")
    if not term.kinds & k.NULL:
        return Aggregated(known | k.NULL, f"{name}({x})", tuple(guards))
    absent = _GREATEST if is_least else _LEAST
    text = f"{name}(COALESCE({x}, {absent}))"
    text = f"IF({_render_count(term)} = 0, {_ERROR}, {text})"
    # NOTE: a value that is a substitute for null must not be taken for a value.
    guards.append(f"COALESCE({{}} = {absent}, false)")
    return Aggregated(term.kinds, text, tuple(guards))
