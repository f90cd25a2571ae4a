"""One SELECT under construction: its group, grouping, order, page, and the variables in scope.

`operators` builds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf.compiler.composites import Composite
from twinframe_storage_rdf.compiler.term import Group, Statement, Term, render_mark

LARGEST_QUERY = 100_000
"""The number of characters of SPARQL above which a plan is left to the evaluator."""


class Select:
    """A SELECT under construction.

    `known` are variables with one value in all rows; lists and maps of them stand in no `scope`.
    `guards` are conditions, never an error, that mark a row for which SPARQL would answer
    differently from Cypher: such rows pass all filters, so that the reader of the rows can stop.
    """

    def __init__(self, statement: Statement, outer: Select | None = None) -> None:
        self.statement = statement
        self.root = Group(statement)
        self.scope: dict[str, Term] = {}
        self.composites: dict[str, Composite] = {}
        self.known: dict[str, Value] = {}
        self.guards: list[str] = []
        self.group_by: list[str] | None = None
        self.group_mark = ""
        self.order_by: list[str] = []
        self.order_mark = ""
        self.skip: str | None = None
        self.limit: str | None = None
        self.has_page = False
        self.is_distinct = False
        self.outer = outer

    @property
    def is_inner(self) -> bool:
        """Whether it is not a SELECT of its own but a group that sees a row of another."""
        return self.outer is not None

    @property
    def is_open(self) -> bool:
        """Whether patterns and conditions can still be added without changing their meaning."""
        return (
            self.group_by is None
            and not self.is_distinct
            and self.skip is None
            and self.limit is None
        )

    # --- conditions -----------------------------------------------------------------------------

    def add_guard(self, condition: str) -> None:
        """Let the evaluator answer when a row meets the condition (an error counts as no)."""
        if self.is_inner:
            raise CannotRun("A condition inside a subquery that only its values can check.")
        guard = f"COALESCE({condition}, false)"
        if guard not in self.guards:
            self.guards.append(guard)

    def add_filter(self, text: str, guards: Sequence[str]) -> None:
        """Keep only the rows for which the expression is true, and those under `guards`."""
        if guards:
            text = f"{' || '.join(guards)} || {text}"
        self.root.filters.append(text)

    def build_trap(self) -> str | None:
        """The expression that is true when the evaluator must answer; None: nothing is guarded."""
        return " || ".join(self.guards) if self.guards else None

    # --- shape ----------------------------------------------------------------------------------

    def render(self, columns: Iterable[str]) -> str:
        """The SELECT without its dataset."""
        text = f"{self.render_head(columns)} WHERE {self.render_rest()}"
        if len(text) > LARGEST_QUERY:
            raise CannotRun("The SPARQL of this query would be too large.")
        return text

    def render_head(self, columns: Iterable[str]) -> str:
        """SELECT and its columns."""
        distinct = f"DISTINCT{render_mark(*self.scope.values())} " if self.is_distinct else ""
        return f"SELECT {distinct}{' '.join(columns)}"

    def render_rest(self) -> str:
        """Render the group and what follows it."""
        parts = [f"{{ {self.root.render()} }}"]
        if self.group_by:
            parts.append(f"GROUP{self.group_mark} BY {' '.join(self.group_by)}")
        order, trap = self.order_by, self.build_trap()
        if trap and self.skip is not None:
            # NOTE: rows that stop the query come first in any order, or LIMIT could cut them off.
            raise CannotRun("SKIP over rows that only their values can check.")
        if order:
            keys = [f"DESC({trap})", *order] if trap else order
            parts.append(f"ORDER{'' if trap else self.order_mark} BY {' '.join(keys)}")
        if self.limit is not None:
            parts.append(f"LIMIT {self.limit}")
        if self.skip is not None:
            parts.append(f"OFFSET {self.skip}")
        return " ".join(parts)

    def build_wrapped(
        self, names: Iterable[str] | None = None, *, extra: Sequence[str] = (), page: str = ""
    ) -> Select:
        """Build an open SELECT over the rows of this one, with the variables `names` (None: all).

        `extra` are more SPARQL variables that it has; `page` is appended to this one.
        """
        if self.is_inner:
            # SPEC: SPARQL 1.1 section 12: a subquery is evaluated first, and sees no outer row.
            raise CannotRun("A subquery inside a correlated subquery.")
        if self.composites:
            raise CannotRun("A list, map or path that is used further.")
        outer = Select(self.statement)
        outer.root.is_loose = True
        wanted = [*self.scope, *self.known] if names is None else [*names]
        outer.known = {name: self.known[name] for name in wanted if name in self.known}
        columns = [*extra]
        for name in dict.fromkeys(wanted):
            if name not in self.scope and name in self.known:
                continue
            column, term = self.build_column(self.scope[name], outer.root)
            if column not in columns:
                columns.append(column)
            outer.scope[name] = term
        trap = self.build_trap()
        if trap is not None:
            mark = self.statement.build_variable("g")
            columns.append(f"({trap} AS {mark})")
            outer.guards.append(f"COALESCE({mark}, false)")
        if not columns:
            columns.append(f"(1 AS {self.statement.build_variable('u')})")
        outer.root.heads.append(f"{{ {self.render(columns)}{page} }}")
        return outer

    def build_column(self, term: Term, owner: Group) -> tuple[str, Term]:
        """Return a term as a projected column, and as `owner` sees it when it joins this SELECT."""
        entity = owner if term.kinds & k.ENTITIES else None
        if term.is_variable:
            return term.text, Term(term.kinds, term.text, entity)
        variable = self.statement.build_variable("v")
        return f"({term.text} AS {variable})", Term(term.kinds | k.NULL, variable, entity)
