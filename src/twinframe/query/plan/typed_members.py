"""Keeps plans that read temporal members from a store's engine, which only knows their JSON text.

A plan that names such a member, or may reach it without naming it, is left to the evaluator, which
knows the members' types, unless the text suffices: compared with a string, and in results, a stored
time is its text. Conditions are moved out of their matches, so that the engine can still run these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from twinframe.model.values import Value
from twinframe.query import algebra
from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Binary,
    BinaryOperator,
    Case,
    Expression,
    Filter,
    FunctionCall,
    Limit,
    ListComprehension,
    ListExpression,
    Literal,
    MapExpression,
    Match,
    NodePattern,
    Operator,
    Parameter,
    PathKind,
    Project,
    Property,
    Query,
    RelationshipPattern,
    Skip,
    Sort,
    Subplan,
    SubplanKind,
    Subscript,
    Unary,
    UnaryOperator,
    Unit,
    Variable,
)
from twinframe.query.engine import CannotRun, CompiledQuery, QueryEngine
from twinframe.query.evaluate.analysis import (
    build_conjunction,
    find_conjuncts,
    find_scope,
    find_variables,
)
from twinframe.query.evaluate.member_typing import Declared
from twinframe.query.plan.typed_orders import name_stored_times
from twinframe.query.traversal import (
    find_expressions,
    find_parts,
    rewrite_operators,
    walk_operators,
)

_TEXT_OPERATORS: Final = frozenset(
    {
        BinaryOperator.EQUAL,
        BinaryOperator.NOT_EQUAL,
        BinaryOperator.LESS,
        BinaryOperator.LESS_EQUAL,
        BinaryOperator.GREATER,
        BinaryOperator.GREATER_EQUAL,
        BinaryOperator.IN,
        BinaryOperator.STARTS_WITH,
        BinaryOperator.ENDS_WITH,
        BinaryOperator.CONTAINS,
        BinaryOperator.MATCHES,
    }
)
"""Operators for which a stored time is its text, if the other operand is certainly no time."""

_TEXT_FUNCTIONS: Final = frozenset(
    {
        *("exists", "is_bool", "is_defined", "is_null", "is_number", "is_object", "is_primitive"),
        *("is_string", "lTrim", "left", "rTrim", "replace", "right", "size", "split", "substring"),
        *("toLower", "toString", "toUpper", "trim"),
    }
)
"""Functions for which a stored time is its text, and that return none."""

Part = TypeVar("Part", NodePattern, RelationshipPattern)


class TextEngine(QueryEngine):
    """Wraps another engine, and declines plans that read one of `names` for more than its text.

    With `gives_results` its rows are the caller's, in which a time is text.
    """

    def __init__(
        self,
        engine: QueryEngine,
        names: frozenset[str],
        declared: Mapping[str, Declared] = MappingProxyType({}),
        *,
        gives_results: bool = False,
    ) -> None:
        """`declared` are the declarations of those names by which the engine may try to sort."""
        self.name = engine.name
        self._engine = engine
        self._names = names
        self._declared = declared
        self._gives_results = gives_results

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """Compile as the other engine does; raise `CannotRun` naming a member that it would treat
        as text.
        """
        query = replace(query, root=name_stored_times(query.root, self._declared))
        written = find_written(query.root) if self._gives_results else {}
        found = find_typed_member(query.root, self._names, written)
        if found is not None:
            raise CannotRun(f"Reading {found}, which a stored model declares as temporal.")
        return self._engine.compile(query, parameters)


def move_typed_conditions(root: Operator, names: frozenset[str]) -> Operator:
    """Return the plan with every condition that may read a member of `names` above its match.

    The rest of the match is the engine's; its rows are then tested.
    """
    return rewrite_operators(root, lambda operator: _move_conditions(operator, names))


def _move_conditions(operator: Operator, names: frozenset[str]) -> Operator:
    # NOTE: an optional match would turn rows dropped by a later filter into null rows; a shortest
    # path differs without its conditions.
    if not isinstance(operator, Match) or operator.optional:
        return operator
    pattern = operator.pattern
    if any(path.kind is not PathKind.ALL for path in pattern.paths):
        return operator
    typed: list[Expression] = []
    plain: list[Expression] = []
    nodes = tuple(_split_members(node, names, typed) for node in pattern.nodes)
    relationships = tuple(
        crossed if crossed.length is not None else _split_members(crossed, names, typed)
        for crossed in pattern.relationships
    )
    for conjunct in find_conjuncts(operator.predicate):
        (typed if _is_typed(conjunct, names) else plain).append(conjunct)
    condition = build_conjunction(typed)
    if condition is None:
        return operator
    left = replace(pattern, nodes=nodes, relationships=relationships)
    return Filter(replace(operator, pattern=left, predicate=build_conjunction(plain)), condition)


def _split_members(part: Part, names: frozenset[str], typed: list[Expression]) -> Part:
    """Return the part of a pattern without the equalities that are added to `typed`."""
    kept: list[tuple[str, Expression]] = []
    for key, value in part.properties:
        member = Property(Variable(part.variable, part.span), key, part.span)
        equality = Binary(BinaryOperator.EQUAL, member, value, part.span)
        if _is_typed(equality, names):
            typed.append(equality)
        else:
            kept.append((key, value))
    return part if len(kept) == len(part.properties) else replace(part, properties=tuple(kept))


def _is_typed(condition: Expression, names: frozenset[str]) -> bool:
    return find_typed_member(Filter(Unit(), condition), names) is not None


Written: TypeAlias = Mapping[int, frozenset[str]]
"""The identity of a projection or aggregation -> those of its columns that are only written out."""


def find_written(root: Operator) -> Written:
    """Return the columns of which nothing but the text reaches the results."""
    found: dict[int, frozenset[str]] = {}
    names = frozenset(find_scope(root))
    while True:
        match root:
            case Limit() | Skip():
                pass
            case Sort(keys=keys):
                names = names.difference(*(_find_looked_at(key.expression) for key in keys))
            case Filter(predicate=predicate):
                names -= find_variables(predicate)
            case Project(items=items):
                found[id(root)] = names
                names = _find_passed_on(items, names)
            case Aggregate(aggregates=aggregates):
                lists = (name for name, call in aggregates if _collects(call))
                found[id(root)] = names.intersection(lists)
                return found
            case _:
                return found
        root = root.source


def _find_passed_on(
    items: Iterable[tuple[str, Expression]], written: frozenset[str]
) -> frozenset[str]:
    """Return the variables that the items pass on to columns that are `written`, and use for
    nothing else.
    """
    passed, used = set[str](), set[str]()
    for name, expression in items:
        if name not in written:
            used |= find_variables(expression)
            continue
        for part, is_written in _open_written(expression):
            if is_written and isinstance(part, Variable):
                passed.add(part.name)
            else:
                used |= find_variables(part)
    return frozenset(passed - used)


def _open_written(part: Expression) -> Iterator[tuple[Expression, bool]]:
    """Yield the parts of an expression that is written out, and whether each is so itself."""
    written: Iterable[Expression | None]
    read: Iterable[Expression | None] = ()
    match part:
        case MapExpression(entries=entries):
            written = [value for _, value in entries]
        case ListExpression(items=items):
            written = items
        case FunctionCall(name="coalesce", arguments=arguments):
            written = arguments
        case FunctionCall(name=algebra.MAP_PROJECTION, arguments=(subject, *entries_and_own)):
            written, read = entries_and_own, [subject]
        case Case(operand=operand, branches=branches, default=default):
            written = [*(result for _, result in branches), default]
            read = [operand, *(condition for condition, _ in branches)]
        case ListComprehension(projection=projection) if projection is not None:
            written, read = [projection], [part.source, part.predicate]
        case Subplan(kind=SubplanKind.COLLECT, value=value):
            written, read = [value], [replace(part, value=None)]
        case _:
            yield part, True
            return
    yield from ((one, False) for one in read if one is not None)
    for one in written:
        if one is not None:
            yield from _open_written(one)


def _collects(call: AggregateCall) -> bool:
    return call.kind is AggregateKind.COLLECT and not call.distinct


def _find_looked_at(key: Expression) -> frozenset[str]:
    """Return the columns that a sort key uses for more than their text."""
    if isinstance(key, FunctionCall) and key.name in _TEXT_FUNCTIONS:
        inner = (one for one in key.arguments if not isinstance(one, Variable))
        return frozenset[str]().union(*map(_find_looked_at, inner))
    return find_variables(key)


def reads_as_text(root: Operator, names: frozenset[str]) -> bool:
    """Return whether a whole query reads members of these names for nothing but their text."""
    return find_typed_member(root, names, find_written(root)) is None


def find_typed_member(
    root: Operator, names: frozenset[str], written: Written = MappingProxyType({})
) -> str | None:
    """Return what in the plan may read a member of these names for more than its text; None:
    nothing.
    """
    for operator in walk_operators(root):
        if isinstance(operator, Match):
            maps = [one.properties for one in operator.pattern.nodes]
            maps += [one.properties for one in operator.pattern.relationships]
            for key, value in chain.from_iterable(maps):
                if key in names and not _is_constant(value):
                    return f"the member {key}"
        shown, read = _split_columns(operator, written.get(id(operator), frozenset()))
        parts = chain.from_iterable(map(_open_written, shown))
        as_text = _only_counts(operator)
        for part, is_text in chain(parts, ((one, as_text) for one in read)):
            found = _find_read(part, names, as_text=is_text)
            if found is not None:
                return found
    return None


def _split_columns(
    operator: Operator, written: frozenset[str]
) -> tuple[Sequence[Expression], Sequence[Expression]]:
    """Return the expressions of the columns that are `written` out, and all others."""
    match operator:
        case Project(items=items):
            shown = [value for name, value in items if name in written]
            return shown, [value for name, value in items if name not in written]
        case Aggregate(keys=keys, aggregates=aggregates):
            shown = [one for name, call in aggregates if name in written for one in call.arguments]
            others = (call.arguments for name, call in aggregates if name not in written)
            return shown, [*(value for _, value in keys), *chain.from_iterable(others)]
        case _:
            return (), find_expressions(operator)


def _only_counts(operator: Operator) -> bool:
    return (
        isinstance(operator, Aggregate)
        and not operator.keys
        and all(
            call.kind is AggregateKind.COUNT and not call.distinct
            for _, call in operator.aggregates
        )
    )


def _is_constant(expression: Expression) -> bool:
    """Return whether it is certainly no time: a value from the text or the request."""
    if isinstance(expression, ListExpression):
        return all(map(_is_constant, expression.items))
    return isinstance(expression, Literal | Parameter)


def _find_read(part: Expression, names: frozenset[str], *, as_text: bool = False) -> str | None:
    """Return a read of such a member within the expression; with `as_text` its own value may be
    one.
    """
    own = None if as_text else _name_read(part, names)
    if own is not None:
        return own
    match part:
        case Binary(operator=operator, left=left, right=right) if operator in _TEXT_OPERATORS:
            return _find_read(left, names, as_text=_is_constant(right)) or _find_read(
                right, names, as_text=_is_constant(left)
            )
        case Unary(operator=UnaryOperator.IS_NULL | UnaryOperator.IS_NOT_NULL, operand=operand):
            return _find_read(operand, names, as_text=True)
        case FunctionCall(name=name, arguments=arguments):
            plain = name in _TEXT_FUNCTIONS
            found = (_find_read(one, names, as_text=plain) for one in arguments)
            return next(filter(None, found), None)
        case _:
            inner = (_find_read(one, names) for one in find_parts(part))
            return next(filter(None, inner), None)


def _name_read(part: Expression, names: frozenset[str]) -> str | None:
    match part:
        case Property(key=key) | Subscript(index=Literal(value=str(key))):
            return f"the member {key}" if key in names else None
        case Subscript(index=Literal()):
            return None
        case Subscript():
            return "a member whose name is computed"
        case FunctionCall(name="properties"):
            return "properties()"
        case _:
            return None
