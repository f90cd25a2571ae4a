"""Compiles an optional match of at most one relationship to a left join; declines longer ones."""

from __future__ import annotations

import re
from collections.abc import Callable

from twinframe.cypher.algebra import Direction, Match, NodePattern, RelationshipPattern
from twinframe.storage.base import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.expressions import ExpressionCompiler
from twinframe_storage_sqlite.compiler.patterns import PatternCompiler
from twinframe_storage_sqlite.compiler.select import Select
from twinframe_storage_sqlite.compiler.term import Term

Expressions = Callable[[Select], ExpressionCompiler]


def compile_optional(select: Select, match: Match, expressions: Expressions) -> Select:
    """`select` with the pattern's variables added, null where nothing matches."""
    pattern = match.pattern
    if len(pattern.relationships) > 1 or pattern.paths:
        raise CannotRun("An optional match of several relationships or of a path.")
    inner = Select(select.statement, select.scope)
    if pattern.relationships:
        relationship = pattern.relationships[0]
        _check_relationship(relationship, select)
        table, alias = "relationship", select.statement.alias("r")
        added = _add_relationship(inner, relationship, alias)
    else:
        if len(pattern.nodes) != 1 or pattern.nodes[0].variable in select.scope:
            raise CannotRun("An optional match of several nodes or of a bound one.")
        table, alias = "twin", select.statement.alias("n")
        added = _add_node(inner, pattern.nodes[0], alias)
    PatternCompiler(inner, pattern, match.predicate, expressions).compile()
    if inner.ctes or any(name not in inner.scope for name in added):
        raise CannotRun("An optional match of this pattern.")
    select.join(f"{table} AS {alias}", _split_conditions(inner) or ["1"], optional=True)
    _bind_added(select, inner, added, alias)
    return select


def _split_conditions(inner: Select) -> list[str]:
    """The conditions of the join; those on tables of `inner` itself become a test of existence.

    Such a table has one row for each row joined, so that existence is exact. The other conditions
    stay outside, where an index serves them.
    """
    if not inner.sources:
        return inner.conditions
    own = re.compile(rf"\b({'|'.join(inner.list_aliases())})\.")
    outside = [each for each in inner.conditions if not own.search(each)]
    inner.conditions = [each for each in inner.conditions if own.search(each)]
    return [*outside, f"EXISTS ({inner.render(['1'])})"]


def _check_relationship(pattern: RelationshipPattern, select: Select) -> None:
    if pattern.length is not None or pattern.variable in select.scope:
        raise CannotRun("An optional match of variable length or of a bound relationship.")
    if pattern.left not in select.scope and pattern.right not in select.scope:
        raise CannotRun("An optional match that starts nowhere.")
    if pattern.direction is Direction.BOTH:
        raise CannotRun("An optional match in both directions.")


def _add_relationship(inner: Select, pattern: RelationshipPattern, alias: str) -> tuple[str, ...]:
    """Bind what the row `alias` of the relationship gives; the new variables."""
    row = f"{alias}.id"
    inner.register_table(k.RELATIONSHIP, row, alias)
    inner.scope[pattern.variable] = Term(k.RELATIONSHIP, row, owner=inner)
    ends = [f"{alias}.source", f"{alias}.target"]
    if pattern.direction is Direction.INCOMING:
        ends.reverse()
    added = [pattern.variable]
    for name, end in zip((pattern.left, pattern.right), ends, strict=True):
        if name not in inner.scope:
            inner.scope[name] = Term(k.NODE, end, owner=inner)
            added.append(name)
    return tuple(added)


def _add_node(inner: Select, pattern: NodePattern, alias: str) -> tuple[str, ...]:
    inner.register_table(k.NODE, f"{alias}.id", alias)
    inner.scope[pattern.variable] = Term(k.NODE, f"{alias}.id", owner=inner)
    return (pattern.variable,)


def _bind_added(select: Select, inner: Select, added: tuple[str, ...], alias: str) -> None:
    for name in added:
        term = inner.scope[name]
        kind = term.kinds & (k.NODE | k.RELATIONSHIP)
        if term.value == f"{alias}.id":
            select.register_table(kind, term.value, alias)
        else:
            select.mark_optional(term.value)
        select.scope[name] = Term(kind | k.NULL, term.value, owner=select)
