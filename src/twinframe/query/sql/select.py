"""One SELECT under construction: its tables, conditions, grouping, order and the variables in
scope.

`operators` builds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import Bindings, read_parameter
from twinframe.query.sql.dialect import Dialect, Joins
from twinframe.query.sql.term import Term, may_fail
from twinframe.query.sql.texts import render_balanced

ALIASES = {k.NODE: "n", k.RELATIONSHIP: "r"}
"""The first letter of the alias of each kind of entity's table."""


@dataclass(slots=True)
class Statement:
    """State that all SELECTs of one statement share: placeholders and the numbering of aliases.

    `ranges` and `joins` belong to the dialect (`Dialect.mark_paths`, `Dialect.arrange`).
    """

    dialect: Dialect
    bindings: Bindings = field(init=False)
    parameter_kinds: dict[str, int] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    ranges: dict[str, tuple[str, str]] = field(default_factory=dict)
    joins: dict[str, Joins] = field(default_factory=dict)
    _aliases: int = 0

    def __post_init__(self) -> None:
        self.bindings = Bindings(self.dialect.render_placeholder)

    def read_parameter_kinds(self, name: str) -> int:
        """Return the kinds of the parameter `name`, by the type of its value."""
        try:
            return self.parameter_kinds[name]
        except KeyError:
            read_parameter({}, name)
            raise

    def alias(self, prefix: str) -> str:
        """A fresh alias."""
        self._aliases += 1
        return f"{prefix}{self._aliases}"


@dataclass(slots=True)
class Page:
    """LIMIT and OFFSET of a SELECT as placeholders."""

    skip: str | None = None
    limit: str | None = None


class Select:
    """A SELECT under construction.

    `scope` maps the variables of the rows it yields to terms; `scanned` holds the row id of the
    first table of each kind that no other row leads to; `is_correlated` says that it may read the
    row of a SELECT around it.
    """

    def __init__(self, statement: Statement, outer: dict[str, Term] | None = None) -> None:
        self.statement = statement
        self.dialect = statement.dialect
        self.ctes: list[str] = []
        self.sources: list[str] = []
        self.conditions: list[str] = []
        self.group_by: list[str] | None = None
        self.order_by: list[str] = []
        self.page: Page | None = None
        self.scope: dict[str, Term] = dict(outer or {})
        self.scanned: dict[int, str] = {}
        self.is_driven = False
        self.is_correlated = bool(outer)
        self._tables: dict[tuple[int, str], str] = {}
        self._refined: dict[str, int] = {}
        self._optional: set[str] = set()

    # --- tables ---------------------------------------------------------------------------------

    def join(self, source: str, on: Sequence[str] = (), *, optional: bool = False) -> None:
        """Add a table (with its alias); `on` are conditions of the join."""
        if not self.sources and optional:
            self.sources.append(f"(SELECT 1) AS {self.statement.alias('u')}")
        if not self.sources:
            self.sources.append(source)
            self.conditions += on
            return
        # PERF: engines do not know how few rows a derived table has, and would rather scan all
        # twins: after a derived table this compiler fixes the join order.
        word = "LEFT JOIN" if optional else self.dialect.ordered_join if self.is_driven else "JOIN"
        on = self.dialect.mark_paths(on, self.statement.ranges)
        condition = f" ON {' AND '.join(on)}" if on else self.dialect.unconditional
        self.sources.append(f"{word} {source}{condition}")

    def add_table(self, kind: int, row: str | None, table: str = "") -> str:
        """Join the table of an entity, for the row with the id `row` if given; return its alias.

        `table` is a derived one with the same columns.
        """
        alias = self.statement.alias(ALIASES[kind])
        optional = row is not None and row in self._optional
        self.join(
            f"{table or self.dialect.tables[kind]} AS {alias}",
            () if row is None else (f"{alias}.id = {row}",),
            optional=optional,
        )
        self.register_table(kind, f"{alias}.id", alias)
        if row is None:
            self.scanned.setdefault(kind, f"{alias}.id")
        else:
            self.register_table(kind, row, alias)
        return alias

    def list_aliases(self) -> list[str]:
        """The aliases of the tables joined by this SELECT."""
        return [source.partition(" AS ")[2].split(" ")[0] for source in self.sources]

    def register_table(self, kind: int, row: str, alias: str) -> None:
        """Record that the row of the table `alias` is the entity with the id `row`."""
        self._tables[kind, row] = alias

    def mark_optional(self, row: str) -> None:
        """Record that the id `row` may be NULL, so that its table is left-joined."""
        self._optional.add(row)

    def read_table(self, kind: int, row: str) -> str:
        """Return the alias of the row of an entity of this SELECT, joining its table if needed."""
        return self._tables.get((kind, row)) or self.add_table(kind, row)

    def has_table(self, kind: int, row: str) -> bool:
        """Whether the row of an entity is joined already."""
        return (kind, row) in self._tables

    def has_unread_entities(self) -> bool:
        """Whether a variable is a node or relationship whose table is not joined."""
        entities = k.NODE | k.RELATIONSHIP
        return any(
            term.kinds & entities and not self.has_table(term.kinds & entities, term.value)
            for term in self.scope.values()
        )

    # --- conditions and knowledge ---------------------------------------------------------------

    def add_condition(self, sql: str) -> None:
        """Keep only the rows for which `sql` is true."""
        if sql != self.dialect.yes:
            self.conditions.append(sql)

    def add_knowledge(self, value: str, kinds: int) -> None:
        """Record that in every row kept, the expression with the native SQL `value` is one of
        `kinds`.
        """
        self._refined[value] = self._refined.get(value, ~0) & kinds

    def refine(self, term: Term) -> Term:
        """Return `term` with the kinds that the conditions imply."""
        known = self._refined.get(term.value)
        return term if known is None else self.dialect.refine(term, known)

    def render_column(self, name: str) -> str:
        """Render a variable as a column of a derived table."""
        return render_column(self.scope[name], self.dialect)

    # --- shape ----------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether tables and conditions can still be added without changing their meaning."""
        return self.group_by is None and self.page is None

    def render(self, columns: Iterable[str]) -> str:
        """Render the SQL text. Joins that the columns need must have been added before."""
        parts = [f"WITH RECURSIVE {', '.join(self.ctes)} "] if self.ctes else []
        parts.append(f"SELECT {', '.join(columns)}")
        conditions = self.dialect.mark_paths(self.conditions, self.statement.ranges)
        if self.sources:
            joins = self.statement.joins
            sources, conditions = self.dialect.arrange(self.sources, conditions, joins)
            parts.append(f" FROM {' '.join(sources)}")
        if conditions:
            parts.append(f" WHERE {render_balanced(conditions, 'AND')}")
        if self.group_by:
            parts.append(f" GROUP BY {', '.join(self.group_by)}")
        if self.order_by:
            parts.append(f" ORDER BY {', '.join(self.order_by)}")
        if self.page is not None:
            parts.append(f" LIMIT {self.page.limit or self.dialect.no_limit}")
            if self.page.skip is not None:
                parts.append(f" OFFSET {self.page.skip}")
        text = "".join(parts)
        if len(text) > self.dialect.largest_statement:
            raise CannotRun("The SQL of this query would be too large.")
        return text

    def build_wrapped(self, names: Iterable[str] | None = None) -> Select:
        """A new open SELECT over the rows of this one, with the variables `names` (None: all)."""
        kept = list(self.scope if names is None else names)
        outer = Select(self.statement)
        alias = self.statement.alias("q")
        columns = [f"{self.render_column(name)} AS c{i}" for i, name in enumerate(kept)]
        if self.page is None:
            self.order_by = []
        # NOTE: where a page was cut, its rows keep their order in any further processing.
        for i, key in enumerate(self.order_by):
            expression, word, rest = _split_order(key)
            columns.append(f"{expression} AS s{i}")
            outer.order_by.append(f"{alias}.s{i}{word}{rest}")
        outer.is_driven = True
        outer.ctes, self.ctes = self.ctes, []
        outer.join(f"({self.render(columns or ['1'])}) AS {alias}")
        for i, name in enumerate(kept):
            outer.scope[name] = build_column(self.refine(self.scope[name]), f"{alias}.c{i}", outer)
        return outer

    def build_fenced(self) -> Select:
        """Build as `build_wrapped`, with every column computed once, however often it is used.

        SEC: engines inline the columns' expressions into those above; in a chain of clauses
        that each use a column twice the statement would double with each. OFFSET prevents that.
        """
        page = self.page or Page()
        self.page = Page(page.skip or "0", page.limit)
        return self.build_wrapped()

    def build_shared(self, names: Sequence[str]) -> tuple[Select, Select]:
        """Build two new open SELECTs over the rows of this one, which are computed once.

        The common table they read is in the `ctes` of the first.
        """
        table = self.statement.alias("s")
        if self.page is None:
            self.order_by = []
        columns = [self.render_column(name) for name in names] or ["1"]
        first, second = Select(self.statement), Select(self.statement)
        first.ctes, self.ctes = self.ctes, []
        heads = ",".join(f"c{i}" for i in range(len(columns)))
        first.ctes.append(f"{table}({heads}) AS ({self.render(columns)})")
        for each in (first, second):
            alias = self.statement.alias("q")
            each.join(f"{table} AS {alias}")
            each.is_driven = True
            for i, name in enumerate(names):
                term = self.refine(self.scope[name])
                each.scope[name] = build_column(term, f"{alias}.c{i}", each)
        return first, second


def _split_order(key: str) -> tuple[str, str, str]:
    """Split an ORDER BY term into its expression, its direction and its position of nulls."""
    expression, rest = key, ""
    for nulls in (" NULLS FIRST", " NULLS LAST"):
        if expression.endswith(nulls):
            expression, rest = expression.removesuffix(nulls), nulls
    if expression.endswith(" DESC"):
        return expression.removesuffix(" DESC"), " DESC", rest
    return expression, "", rest


def render_column(term: Term, dialect: Dialect) -> str:
    """Render a term as a column of a derived table."""
    if term.holds_entities:
        raise CannotRun("A map of nodes or relationships that is used further.")
    plain = dialect.is_plain(term.kinds)
    return dialect.read_plain(term) if plain else dialect.render_json(term)


def build_column(term: Term, column: str, owner: Select) -> Term:
    """The term read back from the column `column` of a derived table joined in `owner`."""
    dialect = owner.dialect
    if not dialect.is_plain(term.kinds):
        return replace(dialect.build_json_term(column, term.kinds), assumed=may_fail(term))
    if term.kinds & (k.NODE | k.RELATIONSHIP):
        if term.kinds & k.NULL:
            owner.mark_optional(column)
        return Term(term.kinds, column, owner=owner)
    return replace(
        term,
        assumed=may_fail(term),
        value=column,
        tag=None,
        json=None,
        owner=None,
        member=None,
        lookup=None,
        items=None,
        entries=None,
        source=None,
    )
