"""Compiles optional matches to a left join where possible, else to matching and non-matching rows.

`patterns` compiles the pattern itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from twinframe.query.algebra import Direction, Match, NodePattern, RelationshipPattern
from twinframe.query.sql import kinds as k
from twinframe.query.sql.expressions import ExpressionCompiler
from twinframe.query.sql.patterns import PatternCompiler
from twinframe.query.sql.select import Select
from twinframe.query.sql.term import NULL_TERM, Term

Expressions = Callable[[Select], ExpressionCompiler]


def is_joinable(select: Select, match: Match) -> bool:
    """Return whether a left join suffices: one new node, or one directed relationship at a bound
    end.
    """
    pattern = match.pattern
    if pattern.paths or len(pattern.relationships) > 1:
        return False
    if not pattern.relationships:
        return len(pattern.nodes) == 1 and pattern.nodes[0].variable not in select.scope
    relationship = pattern.relationships[0]
    ends = {relationship.left, relationship.right}
    return (
        relationship.length is None
        and relationship.direction is not Direction.BOTH
        and relationship.variable not in select.scope
        and not ends.isdisjoint(select.scope)
        and ends.issuperset(node.variable for node in pattern.nodes)
    )


def find_added(match: Match, select: Select) -> list[str]:
    """List the variables that the match adds and something reads."""
    pattern = match.pattern
    own = [node.variable for node in pattern.nodes]
    own += [relationship.variable for relationship in pattern.relationships]
    own += [path.variable for path in pattern.paths if path.variable is not None]
    needed = select.statement.names
    return [name for name in dict.fromkeys(own) if name in needed and name not in select.scope]


def compile_alternatives(
    select: Select, match: Match, expressions: Expressions
) -> tuple[Select, Select]:
    """Compile the rows of `select` that match, and those without a match, with the same scope.

    Both read the common table that `select` becomes; it is in the first one's `ctes`.
    """
    added = find_added(match, select)
    kept = [name for name in select.scope if name in select.statement.names]
    found, missing = select.build_shared(kept)
    found = PatternCompiler(found, match.pattern, match.predicate, expressions).compile()
    found.scope = {name: found.scope[name] for name in (*kept, *added)}
    inner = Select(select.statement, missing.scope)
    inner = PatternCompiler(inner, match.pattern, match.predicate, expressions, missing).compile()
    missing.add_condition(f"NOT EXISTS ({inner.render(['1'])})")
    missing.scope |= dict.fromkeys(added, NULL_TERM)
    return found, missing


def compile_optional(select: Select, match: Match, expressions: Expressions) -> Select:
    """`select` with the variables of a joinable pattern added, null where nothing matches."""
    pattern = match.pattern
    inner = Select(select.statement, select.scope)
    if pattern.relationships:
        relationship = pattern.relationships[0]
        kind, alias = k.RELATIONSHIP, select.statement.alias("r")
        added = _add_relationship(inner, relationship, alias)
    else:
        kind, alias = k.NODE, select.statement.alias("n")
        added = _add_node(inner, pattern.nodes[0], alias)
    PatternCompiler(inner, pattern, match.predicate, expressions, select).compile()
    on = _split_conditions(inner) or [select.dialect.yes]
    select.join(f"{select.dialect.tables[kind]} AS {alias}", on, optional=True)
    _bind_added(select, inner, added, alias)
    return select


def _split_conditions(inner: Select) -> list[str]:
    """Return the conditions of the join; those on tables of `inner` itself become an EXISTS test.

    Such a table has one row for each row joined, so that existence is exact. The other conditions
    stay outside, where an index serves them.
    """
    if not inner.sources:
        return inner.conditions
    own = re.compile(rf"\b({'|'.join(inner.list_aliases())})\.")
    outside = [each for each in inner.conditions if not own.search(each)]
    inner.conditions = [each for each in inner.conditions if own.search(each)]
    return [*outside, f"EXISTS ({inner.render(['1'])})"]


def _add_relationship(inner: Select, pattern: RelationshipPattern, alias: str) -> tuple[str, ...]:
    """Bind the variables that the row `alias` of the relationship gives; return the new ones."""
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
