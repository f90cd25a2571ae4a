"""Analyses algebra terms: free variables, conjuncts, scopes.

Engines and planner rules use it to decide where a predicate may be tested and which variables a row
needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from twinframe.query.algebra import (
    Aggregate,
    Apply,
    Argument,
    Binary,
    BinaryOperator,
    Case,
    Distinct,
    Expression,
    Filter,
    FunctionCall,
    GraphPattern,
    HasLabels,
    Limit,
    ListComprehension,
    ListExpression,
    Literal,
    MapExpression,
    Match,
    Operator,
    Parameter,
    Project,
    Property,
    Quantifier,
    Reduce,
    Skip,
    Slice,
    Sort,
    Subplan,
    Subscript,
    Unary,
    Union,
    Unit,
    Unwind,
    Variable,
)

# --- predicates ---------------------------------------------------------------------------------


def find_conjuncts(predicate: Expression | None) -> tuple[Expression, ...]:
    """The operands of the outermost ANDs, in order; empty for no predicate."""
    if predicate is None:
        return ()
    found: list[Expression] = []
    waiting = [predicate]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Binary) and one.operator is BinaryOperator.AND:
            waiting += (one.right, one.left)
        else:
            found.append(one)
    return tuple(found)


def build_conjunction(conjuncts: Sequence[Expression]) -> Expression | None:
    """All of them joined by AND, in a tree of least height; None for none."""
    joined = list(conjuncts)
    while len(joined) > 1:
        # NOTE: thousands of conditions are no deeper than a dozen, for any recursion over them.
        pairs = zip(joined[::2], joined[1::2], strict=False)
        paired: list[Expression] = [Binary(BinaryOperator.AND, *pair) for pair in pairs]
        joined = paired + joined[len(paired) * 2 :]
    return joined[0] if joined else None


# --- expressions --------------------------------------------------------------------------------


def find_operands(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct sub-expressions that see the same variables as the expression itself."""
    match expression:
        case Literal() | Parameter() | Variable():
            return ()
        case Property(subject=subject) | HasLabels(subject=subject):
            return (subject,)
        case Subscript(subject=subject, index=index):
            return (subject, index)
        case Slice(subject=subject, start=start, end=end):
            return tuple(one for one in (subject, start, end) if one is not None)
        case ListExpression(items=items):
            return items
        case MapExpression(entries=entries):
            return tuple(value for _, value in entries)
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Case(operand=operand, branches=branches, default=default):
            pairs = tuple(part for branch in branches for part in branch)
            return tuple(one for one in (operand, *pairs, default) if one is not None)
        case FunctionCall(arguments=arguments):
            return arguments
        case ListComprehension(source=source) | Quantifier(source=source):
            return (source,)
        case Reduce(initial=initial, source=source):
            return (initial, source)
        case Subplan():
            return ()
        case _:
            assert_never(expression)


def find_variables(expression: Expression) -> frozenset[str]:
    """Return the variables of the row that the expression reads, without those it binds itself."""
    found: set[str] = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        match one:
            case Variable(name=name):
                found.add(name)
            case ListComprehension(variable=bound, predicate=predicate, projection=projection):
                inner = [part for part in (predicate, projection) if part is not None]
                found |= _find_inner(inner, bound)
            case Quantifier(variable=bound, predicate=predicate):
                found |= _find_inner([predicate], bound)
            case Reduce(accumulator=accumulator, variable=bound, step=step):
                found |= _find_inner([step], accumulator, bound)
            case Subplan(plan=plan):
                found |= find_arguments(plan)
            case _:
                pass
        waiting += find_operands(one)
    return frozenset(found)


def _find_inner(expressions: Sequence[Expression], *bound: str) -> frozenset[str]:
    names = frozenset[str]().union(*(find_variables(one) for one in expressions))
    return names.difference(bound)


# --- operators ----------------------------------------------------------------------------------


def find_sources(operator: Operator) -> tuple[Operator, ...]:
    """Return the operators whose rows it consumes, without the plan of an `Apply`."""
    match operator:
        case Unit() | Argument():
            return ()
        case Union(left=left, right=right):
            return (left, right)
        case (
            Match(source=source)
            | Filter(source=source)
            | Project(source=source)
            | Aggregate(source=source)
            | Distinct(source=source)
            | Sort(source=source)
            | Skip(source=source)
            | Limit(source=source)
            | Unwind(source=source)
            | Apply(source=source)
        ):
            return (source,)
        case _:
            assert_never(operator)


def find_expressions(operator: Operator) -> tuple[Expression, ...]:
    """The expressions that the operator itself evaluates, patterns included."""
    match operator:
        case Unit() | Argument() | Distinct() | Union() | Apply():
            return ()
        case Match(pattern=pattern, predicate=predicate):
            own = () if predicate is None else (predicate,)
            return (*find_pattern_expressions(pattern), *own)
        case Filter(predicate=predicate):
            return (predicate,)
        case Project(items=items):
            return tuple(expression for _, expression in items)
        case Aggregate(keys=keys, aggregates=aggregates):
            arguments = tuple(one for _, call in aggregates for one in call.arguments)
            return (*(expression for _, expression in keys), *arguments)
        case Sort(keys=sort_keys):
            return tuple(key.expression for key in sort_keys)
        case Skip(count=count) | Limit(count=count):
            return (count,)
        case Unwind(expression=expression):
            return (expression,)
        case _:
            assert_never(operator)


def find_pattern_expressions(pattern: GraphPattern) -> tuple[Expression, ...]:
    """The values of all property maps of a pattern."""
    maps = [node.properties for node in pattern.nodes]
    maps += [relationship.properties for relationship in pattern.relationships]
    return tuple(expression for properties in maps for _, expression in properties)


def find_pattern_variables(pattern: GraphPattern) -> tuple[str, ...]:
    """The variables of a pattern, each once: nodes, relationships, then named paths."""
    names = [one.variable for one in pattern.nodes]
    names += [one.variable for one in pattern.relationships]
    names += [one.variable for one in pattern.paths if one.variable is not None]
    return tuple(dict.fromkeys(names))


def find_arguments(plan: Operator) -> frozenset[str]:
    """Return the outer variables that a correlated plan reads at its `Argument` leaves."""
    found: set[str] = set()
    for operator in walk_sources(plan):
        if isinstance(operator, Argument):
            found.update(operator.variables)
    return frozenset(found)


def walk_sources(operator: Operator) -> Iterator[Operator]:
    """The operator and everything below it, without the plans of `Apply` and `Subplan`."""
    waiting = [operator]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += find_sources(one)


def find_scope(operator: Operator) -> tuple[str, ...]:
    """The variables that the operator's rows carry, in order."""
    match operator:
        case Unit():
            return ()
        case Argument(variables=variables):
            return variables
        case Match(source=source, pattern=pattern):
            return tuple(dict.fromkeys((*find_scope(source), *find_pattern_variables(pattern))))
        case Project(items=items):
            return tuple(name for name, _ in items)
        case Aggregate(keys=keys, aggregates=aggregates):
            return (*(name for name, _ in keys), *(name for name, _ in aggregates))
        case Unwind(source=source, variable=variable):
            return tuple(dict.fromkeys((*find_scope(source), variable)))
        case Apply(source=source, plan=plan):
            return tuple(dict.fromkeys((*find_scope(source), *find_scope(plan))))
        case Union(left=left):
            return find_scope(left)
        case (
            Filter(source=source)
            | Distinct(source=source)
            | Sort(source=source)
            | Skip(source=source)
            | Limit(source=source)
        ):
            return find_scope(source)
        case _:
            assert_never(operator)


def walk_operators(operator: Operator, without: Operator | None = None) -> Iterator[Operator]:
    """Yield the operator and everything below it, including the plans of `Apply` and `Subplan`.

    The operator object `without`, and everything below it, is left out.
    """
    waiting = [operator]
    while waiting:
        one = waiting.pop()
        if one is without:
            continue
        yield one
        waiting += find_sources(one)
        if isinstance(one, Apply):
            waiting.append(one.plan)
        for expression in find_expressions(one):
            parts = walk_expressions(expression)
            waiting += (part.plan for part in parts if isinstance(part, Subplan))


def walk_expressions(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and all its parts; plans of subplans are not entered, their values
    are.
    """
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += find_operands(one)
        match one:
            case ListComprehension(predicate=predicate, projection=projection):
                waiting += (part for part in (predicate, projection) if part is not None)
            case Quantifier(predicate=predicate):
                waiting.append(predicate)
            case Reduce(step=step):
                waiting.append(step)
            case Subplan(value=value) if value is not None:
                waiting.append(value)
            case _:
                pass


def find_mentioned(root: Operator, columns: Sequence[str]) -> frozenset[str]:
    """Return the variables that something reads: an expression, a column, or a second pattern."""
    matched = Counter(
        name
        for operator in walk_operators(root)
        if isinstance(operator, Match)
        for name in find_pattern_variables(operator.pattern)
    )
    shared = (name for name, times in matched.items() if times > 1)
    return frozenset((*columns, *shared, *_find_read(walk_operators(root))))


def find_mentioned_outside(
    root: Operator, columns: Sequence[str], without: Operator
) -> frozenset[str]:
    """Return the variables that the plan reads or matches again outside of one of its operators."""
    outside = tuple(walk_operators(root, without))
    matched = (
        name
        for operator in outside
        if isinstance(operator, Match)
        for name in find_pattern_variables(operator.pattern)
    )
    return frozenset((*columns, *matched, *_find_read(outside)))


def _find_read(operators: Iterable[Operator]) -> Iterator[str]:
    for operator in operators:
        if isinstance(operator, Argument):
            yield from operator.variables
        for expression in find_expressions(operator):
            for part in walk_expressions(expression):
                if isinstance(part, Variable):
                    yield part.name
