"""Compiles the length of a shortest path between two bound nodes to a breadth-first search.

The evaluator finds the path itself. The rows of the SELECT so far seed the recursion; each of its
rows is one whole level, whose nodes and those seen before are sets of row ids.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from dataclasses import dataclass

from twinframe.query.algebra import Direction, GraphPattern, PathKind, RelationshipPattern
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import Source
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.select import Select, build_column
from twinframe.query.sql.term import Term
from twinframe.query.sql.walks import render_depth

_OUTGOING = ("source", "target")
_INCOMING = ("target", "source")


@dataclass(frozen=True, slots=True)
class Shortest:
    """A shortest path: the pattern of its relationships and, if something reads it, its name."""

    pattern: RelationshipPattern
    variable: str | None


def find_shortest(pattern: GraphPattern, names: frozenset[str]) -> Shortest | None:
    """Find the shortest path that a pattern requests.

    Raises `CannotRun` for more than its length.
    """
    kinds = {path.kind for path in pattern.paths}
    if kinds <= {PathKind.ALL}:
        return None
    if kinds != {PathKind.SHORTEST} or len(pattern.paths) > 1 or len(pattern.relationships) > 1:
        raise CannotRun("All shortest paths, or a shortest path beside other relationships.")
    (relationship,) = pattern.relationships
    length = relationship.length
    if length is None or length.minimum > 1 or relationship.properties:
        raise CannotRun("A shortest path of one relationship, or under further conditions.")
    if relationship.variable in names:
        raise CannotRun("The relationships of a shortest path.")
    variable = pattern.paths[0].variable
    return Shortest(relationship, variable if variable in names else None)


def compile_shortest(seed: Select, shortest: Shortest, kept: tuple[str, ...]) -> Select:
    """A SELECT over the rows of `seed` whose ends are connected, with the path bound."""
    statement, pattern = seed.statement, shortest.pattern
    dialect = statement.dialect
    table = statement.alias("w")
    columns = [f"c{i}" for i in range(len(kept))] + ["goal", "depth", "level", "seen"]
    start, goal = seed.scope[pattern.left], seed.scope[pattern.right]
    values = [seed.render_column(name) for name in kept]
    values += [goal.value, "0", dialect.render_set(start.value), dialect.empty_set]
    after = Select(statement)
    after.ctes, seed.ctes = seed.ctes, []
    seed.order_by = []
    arms = [seed.render(values), _compile_level(seed, pattern, table, len(kept))]
    after.ctes.append(f"{table}({','.join(columns)}) AS ({' UNION ALL '.join(arms)})")
    after.join(table)
    after.is_driven = True
    for i, name in enumerate(kept):
        after.scope[name] = build_column(seed.refine(seed.scope[name]), f"{table}.c{i}", after)
    found = _render_found(table, dialect)
    if pattern.length is not None and pattern.length.minimum > 0:
        # NOTE: from a node to itself the path is a cycle, which no search over nodes finds.
        trap = dialect.render_trap("a shortest path from a node to itself", k.BOOLEAN)
        found = (
            f"CASE WHEN NOT {found} THEN {dialect.no} WHEN {table}.depth > 0 THEN {dialect.yes}"
            f" ELSE {trap} END"
        )
    after.add_condition(found)
    if shortest.variable is not None:
        after.scope[shortest.variable] = Term(k.PATH, f"{table}.depth", elements=0)
    return after


def _render_found(table: str, dialect: Dialect) -> str:
    level = dialect.render_elements(f"{table}.level")
    return f"EXISTS (SELECT 1 FROM {level} AS e WHERE e.value = {table}.goal)"


def _compile_level(seed: Select, pattern: RelationshipPattern, table: str, kept: int) -> str:
    """Render the recursive arm: from a level to the unseen nodes one relationship further."""
    bindings, dialect = seed.statement.bindings, seed.dialect
    types = ""
    if pattern.types:
        names = [bindings.bind(Source(None, name)) for name in pattern.types]
        types = f" AND r.name IN ({','.join(names)})"
    ways = {
        Direction.OUTGOING: (_OUTGOING,),
        Direction.INCOMING: (_INCOMING,),
        Direction.BOTH: (_OUTGOING, _INCOMING),
    }[pattern.direction]
    reached = " UNION ".join(
        f"SELECT r.{far} FROM {dialect.render_elements('w.level')} AS e {dialect.ordered_join}"
        f" {dialect.tables[k.RELATIONSHIP]} AS r ON r.{near} = e.value{types}"
        for near, far in ways
    )
    before, now = (
        f"SELECT e.value FROM {dialect.render_elements(each)} AS e"
        for each in ("w.seen", "w.level")
    )
    level = (
        f"(SELECT {dialect.render_collected('x.node')} FROM"
        f" (SELECT * FROM ({reached}) AS y EXCEPT {before} EXCEPT {now}) AS x)"
    ).replace(f"SELECT r.{ways[0][1]} FROM", f"SELECT r.{ways[0][1]} AS node FROM", 1)
    assert pattern.length is not None  # noqa: S101  # by `find_shortest`
    columns = [f"w.c{i}" for i in range(kept)]
    columns += [
        "w.goal",
        render_depth(pattern.length, dialect),
        level,
        dialect.render_union("w.seen", "w.level"),
    ]
    conditions = [f"w.level <> {dialect.empty_set}", f"NOT {_render_found('w', dialect)}"]
    if pattern.length.maximum is not None:
        most = bindings.bind(Source(None, pattern.length.maximum))
        conditions.append(f"w.depth < {most}")
    return f"SELECT {', '.join(columns)} FROM {table} AS w WHERE {' AND '.join(conditions)}"
