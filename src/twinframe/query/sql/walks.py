"""Compiles a variable-length relationship to a recursive table that carries the rows before it.

The rows of the SELECT so far seed the recursion, so that each walks on its own; ends and lists are
row ids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from twinframe.query.algebra import Direction, Length, RelationshipPattern
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import Source
from twinframe.query.sql.comparison import compile_equal
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.entities import compile_member
from twinframe.query.sql.expressions import ExpressionCompiler
from twinframe.query.sql.select import Select, build_column
from twinframe.query.sql.term import Term


@dataclass(frozen=True, slots=True)
class Crossed:
    """Relationships that the present match used already: one row id, or with `many` a list of them.

    `types` are the names they may have; empty is any. A list is what the dialect notes
    (`Dialect.render_used`).
    """

    row: str
    types: frozenset[str]
    many: bool = False


@dataclass(frozen=True, slots=True)
class Walk:
    """The parameters of a walk: it starts at the node `start`, reversed if `backwards`.

    `crossed` must not be used again; `kept` are the variables needed afterwards; `is_followed` says
    that another walk of the same match comes after this one; `has_trail` that a named path needs
    the relationships and nodes of the walk.
    """

    pattern: RelationshipPattern
    start: str
    backwards: bool
    crossed: tuple[Crossed, ...]
    kept: tuple[str, ...]
    is_followed: bool
    has_trail: bool

    @property
    def length(self) -> Length:
        """The bounds."""
        return self.pattern.length or Length(1, 1)

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """For each way to cross a relationship: the column it leaves and the one it reaches."""
        outgoing = (("source", "target"),)
        incoming = (("target", "source"),)
        if self.pattern.direction is Direction.BOTH:
            return outgoing + incoming
        forwards = (self.pattern.direction is Direction.OUTGOING) != self.backwards
        return outgoing if forwards else incoming


@dataclass(frozen=True, slots=True)
class Walked:
    """The SELECT after a walk, the id of the node reached, and the relationships used so far."""

    select: Select
    node: str
    crossed: Crossed


def build_trail_name(variable: str) -> str:
    """Name the variable that holds the trail of a walk from its pattern's left end to its right.

    It is the text `,1,2,3,4` of the row ids of relationships and the nodes they reach, in turn.
    """
    return f" trail of {variable}"


def compile_walk(
    seed: Select, walk: Walk, expressions: Callable[[Select], ExpressionCompiler]
) -> Walked:
    """Build a SELECT over the walks from every row of `seed`."""
    statement = seed.statement
    table = statement.alias("w")
    needs_list = walk.pattern.variable in statement.names
    columns = [f"c{i}" for i in range(len(walk.kept))] + ["node", "depth", "used"]
    values = [seed.render_column(name) for name in walk.kept]
    start = statement.dialect.read(seed.scope[walk.start], k.NODE)
    values += [start, "0", _render_used(walk.crossed, statement.dialect)]
    if needs_list:
        columns.append("path")
        values.append("''")
    if walk.has_trail:
        columns.append("trail")
        values.append("''")
    after = Select(statement)
    after.ctes, seed.ctes = seed.ctes, []
    seed.order_by = []
    arms = [seed.render(values)]
    steps: list[tuple[str, str] | None] = [*walk.steps]
    if len(steps) > 1 and not statement.dialect.unites_steps:
        steps = [None]
    arms += [_compile_step(seed, walk, table, ends, needs_list, expressions) for ends in steps]
    after.ctes.append(f"{table}({','.join(columns)}) AS ({' UNION ALL '.join(arms)})")
    after.join(table)
    after.is_driven = True
    for i, name in enumerate(walk.kept):
        after.scope[name] = build_column(seed.refine(seed.scope[name]), f"{table}.c{i}", after)
    if walk.length.minimum > 0:
        after.add_condition(f"{table}.depth >= {_bind(after, walk.length.minimum)}")
    if needs_list:
        path = statement.dialect.render_row_list(f"('[' || substr({table}.path, 2) || ']')")
        after.scope[walk.pattern.variable] = Term(k.LIST, path, elements=k.RELATIONSHIP)
    if walk.has_trail:
        trail = Term(k.STRING, f"{table}.trail")
        after.scope[build_trail_name(walk.pattern.variable)] = trail
    return Walked(after, f"{table}.node", Crossed(f"{table}.used", frozenset(), many=True))


def _bind(select: Select, number: int) -> str:
    return select.statement.bindings.bind(Source(None, number))


def _render_used(crossed: tuple[Crossed, ...], dialect: Dialect) -> str:
    """Render the note of all relationships crossed before."""
    many = next((each.row for each in crossed if each.many), None)
    return dialect.render_used([each.row for each in crossed if not each.many], many)


def _compile_step(
    seed: Select,
    walk: Walk,
    table: str,
    ends: tuple[str, str] | None,
    needs_list: bool,
    expressions: Callable[[Select], ExpressionCompiler],
) -> str:
    """One recursive arm: from the row reached so far across one more relationship.

    Without `ends` it crosses relationships both ways.
    """
    step = Select(seed.statement)
    step.join(f"{table} AS w")
    alias = seed.statement.alias("r")
    dialect = step.dialect
    # PERF: the queue's one row is the outer loop; an engine would otherwise guess its size.
    both_ways = "" if ends else dialect.both_ways
    at, reached = _render_crossing(alias, ("origin", "reached") if both_ways else ends)
    crossed = f"{both_ways or dialect.tables[k.RELATIONSHIP]} AS {alias} ON {at}"
    step.sources.append(f"{dialect.ordered_join} {crossed}")
    step.register_table(k.RELATIONSHIP, f"{alias}.id", alias)
    for i, name in enumerate(walk.kept):
        step.scope[name] = build_column(seed.refine(seed.scope[name]), f"w.c{i}", step)
    if walk.length.maximum is not None:
        step.add_condition(f"w.depth < {_bind(step, walk.length.maximum)}")
    if both_ways:
        step.add_condition(f"({alias}.way = 0 OR {alias}.source <> {alias}.target)")
    if ends == ("target", "source") and walk.pattern.direction is Direction.BOTH:
        step.add_condition(f"{alias}.source <> {alias}.target")
    _restrict_step(step, walk, alias, expressions)
    tracks = walk.length.maximum != 1 or bool(walk.crossed) or walk.is_followed
    if tracks:
        step.add_condition(dialect.render_unused(f"{alias}.id", "w.used"))
    columns = [f"w.c{i}" for i in range(len(walk.kept))]
    columns += [reached, render_depth(walk.length, dialect)]
    columns.append(dialect.render_used([f"{alias}.id"], "w.used") if tracks else "w.used")
    if needs_list:
        order = (
            ("','", f"{alias}.id", "w.path") if walk.backwards else ("w.path", "','", f"{alias}.id")
        )
        columns.append(" || ".join(order))
    if walk.has_trail and walk.backwards:
        columns.append(f"',' || {alias}.id || ',' || w.node || w.trail")
    elif walk.has_trail:
        columns.append(f"w.trail || ',' || {alias}.id || ',' || {reached}")
    return step.render(columns)


def _render_crossing(alias: str, ends: tuple[str, str] | None) -> tuple[str, str]:
    """Render the condition that a relationship leaves `w.node`, and the node that it reaches."""
    if ends is not None:
        return f"{alias}.{ends[0]} = w.node", f"{alias}.{ends[1]}"
    return (
        f"({alias}.source = w.node OR {alias}.target = w.node)",
        f"CASE WHEN {alias}.source = w.node THEN {alias}.target ELSE {alias}.source END",
    )


def render_depth(length: Length, dialect: Dialect) -> str:
    """Render the depth after a step from a row `w`.

    NOTE: as a column, it is only computed for steps that are taken.
    """
    if length.limit is None:
        return "w.depth + 1"
    beyond = dialect.render_limit(
        f"A variable-length pattern goes on beyond {length.limit} relationships, the most that are "
        f"followed (Query__MaxHops). Give it an upper bound, as in [*1..{length.limit}]."
    )
    return f"CASE WHEN w.depth < {length.limit} THEN w.depth + 1 ELSE {beyond} END"


def _restrict_step(
    step: Select, walk: Walk, alias: str, expressions: Callable[[Select], ExpressionCompiler]
) -> None:
    bindings = step.statement.bindings
    if walk.pattern.types:
        names = [bindings.bind(Source(None, name)) for name in walk.pattern.types]
        step.add_condition(f"{alias}.name IN ({','.join(names)})")
    compiler = expressions(step)
    crossed = Term(k.RELATIONSHIP, f"{alias}.id", owner=step)
    for key, value in walk.pattern.properties:
        member = compile_member(crossed, key, step.dialect)
        given = compiler.compile_term(value)
        step.add_condition(compile_equal(member, given, step.dialect, wanted=True))
