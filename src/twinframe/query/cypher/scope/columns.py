"""Finds expressions that a projection has computed already, to reuse their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.cypher import ast
from twinframe.query.cypher.scope.aggregation import (
    bound_names,
    find_children,
    is_aggregate,
    mentions,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class ComputedColumns:
    """Expressions with the names of their columns; equal expressions are replaced by the column.

    `comparisons` counts the work done, so that a hostile text can be stopped: references (`a`,
    `a.b`) are looked up, but all other expressions are compared one by one.
    """

    __slots__ = ("_others", "_references", "comparisons")

    def __init__(self, pairs: Iterable[tuple[ast.Expression, str]] = ()) -> None:
        self._references: dict[tuple[str, ...], str] = {}
        self._others: list[tuple[ast.Expression, str]] = []
        self.comparisons = 0
        for expression, name in pairs:
            key = _build_key(expression)
            if key is None:
                self._others.append((expression, name))
            else:
                self._references.setdefault(key, name)

    @classmethod
    def of_items(cls, items: list[ast.Item]) -> ComputedColumns:
        """Return the expressions that ORDER BY and WHERE after these items need not compute again.

        A name of both a column and an earlier variable means the column. A constant is not
        replaced: engines optimize it better than a column.
        """
        names = {item.name for item in items}
        return cls(
            (item.expression, item.name)
            for item in items
            if not isinstance(item.expression, ast.Literal | ast.Parameter)
            and not (isinstance(item.expression, ast.Variable) and item.expression.name in names)
        )

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._references or self._others)

    def find(self, node: ast.Expression) -> str | None:
        """Return the column that has this expression."""
        key = _build_key(node)
        if key is not None:
            return self._references.get(key)
        self.comparisons += len(self._others)
        return next((name for expression, name in self._others if expression == node), None)

    def without(self, names: Collection[str]) -> ComputedColumns:
        """Return those that do not depend on any of these variables."""
        found = ComputedColumns()
        found._references = {
            key: name for key, name in self._references.items() if key[0] not in names
        }
        found._others = [pair for pair in self._others if not mentions(pair[0], names)]
        return found


def _build_key(node: ast.Expression) -> tuple[str, ...] | None:
    """Return `a.b.c` as names; None for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Property):
        names.append(node.key)
        node = node.subject
    if not isinstance(node, ast.Variable):
        return None
    return (node.name, *reversed(names))


def find_ungrouped(
    node: ast.Expression,
    groups: ComputedColumns,
    kept: Collection[str],
    local: frozenset[str] = frozenset(),
) -> ast.Expression | None:
    """Return the first variable or property outside of aggregates that has no single value in a
    group.

    `kept` are the variables projected under their own name. SPEC: openCypher, «ambiguous
    aggregation expressions»: around an aggregate only constants are allowed, and variables and
    properties of variables that are projected as such. Variables that a subquery or pattern reads
    from outside must be projected under their own name.
    """
    if is_aggregate(node):
        return None
    if isinstance(node, ast.Variable):
        return None if node.name in local or groups.find(node) is not None else node
    if isinstance(node, ast.Property) and groups.find(node) is not None:
        return None
    if isinstance(
        node, ast.PatternExpression | ast.PatternComprehension | ast.ShortestPath | ast.Subquery
    ):
        taken = (name for name in node.outer if name not in local and name not in kept)
        return next((ast.Variable(name, node.span) for name in taken), None)
    inner = local | bound_names(node)
    for child in find_children(node):
        if (found := find_ungrouped(child, groups, kept, inner)) is not None:
            return found
    return None
