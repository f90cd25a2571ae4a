"""Searches expressions for aggregates and for variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.cypher import ast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def is_aggregate(node: ast.Expression) -> bool:
    """Whether the expression is an aggregate itself."""
    return isinstance(node, ast.CountRows) or (
        isinstance(node, ast.Call) and node.aggregate is not None
    )


def has_aggregate(node: ast.Expression) -> bool:
    """Return whether the expression contains an aggregate of this projection."""
    return is_aggregate(node) or any(has_aggregate(child) for child in find_children(node))


def find_children(node: ast.Expression) -> Iterator[ast.Expression]:  # noqa: C901 -- one arm a kind
    """Yield the direct subexpressions, except those of patterns and subqueries."""
    match node:
        case ast.Property():
            yield node.subject
        case ast.Subscript():
            yield node.subject
            yield node.index
        case ast.Slice():
            yield node.subject
            yield from (bound for bound in (node.start, node.end) if bound is not None)
        case ast.ListLiteral():
            yield from node.items
        case ast.MapLiteral():
            yield from (value for _, value in node.entries)
        case ast.MapProjection():
            yield node.subject
            yield from (value for _, value in node.entries)
        case ast.Unary():
            yield node.operand
        case ast.Binary():
            yield node.left
            yield node.right
        case ast.Logical() | ast.Comparison():
            yield from node.operands
        case ast.HasLabels():
            yield node.subject
        case ast.Case():
            yield from (node.operand,) if node.operand is not None else ()
            for condition, result in node.branches:
                yield condition
                yield result
            yield from (node.default,) if node.default is not None else ()
        case ast.Call():
            yield from node.arguments
        case ast.ListComprehension():
            yield node.source
            yield from (part for part in (node.predicate, node.projection) if part is not None)
        case ast.Quantifier():
            yield node.source
            yield node.predicate
        case ast.Reduce():
            yield node.initial
            yield node.source
            yield node.step
        case _:
            return


def mentions(node: ast.Expression, names: Collection[str]) -> bool:
    """Return whether the expression mentions one of the variables, outside patterns and
    subqueries.
    """
    if isinstance(node, ast.Variable):
        return node.name in names
    return any(mentions(child, names) for child in find_children(node))


def is_group_reference(node: ast.Expression) -> bool:
    """Return whether the expression is a variable or a property of one (of one ...)."""
    while isinstance(node, ast.Property):
        node = node.subject
    return isinstance(node, ast.Variable)


def bound_names(node: ast.Expression) -> frozenset[str]:
    """Return the variables that a comprehension, quantifier or reduce binds itself."""
    match node:
        case ast.ListComprehension() | ast.Quantifier():
            return frozenset({node.variable})
        case ast.Reduce():
            return frozenset({node.variable, node.accumulator})
        case _:
            return frozenset()
