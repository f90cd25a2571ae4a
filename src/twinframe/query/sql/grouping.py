"""Groups the rows of a SELECT by keys that are equal for equivalent values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.select import Select
from twinframe.query.sql.term import Term


class Groups(Protocol):
    """Rows that are about to be grouped."""

    def carry(self, sql: str) -> str:
        """Return the name of an expression over a row where rows are grouped, or `sql` itself."""
        ...

    def build_groups(self, keys: Mapping[str, Term], aggregates: Mapping[str, Term]) -> Select:
        """Build the groups by `keys`; `aggregates` are over carried expressions."""
        ...


class PlainGroups:
    """Groups the rows in the SELECT that yields them, which may read columns beside the keys."""

    def __init__(self, select: Select) -> None:
        self._select = select

    def carry(self, sql: str) -> str:
        """Return the expression itself."""
        return sql

    def build_groups(self, keys: Mapping[str, Term], aggregates: Mapping[str, Term]) -> Select:
        """Group the SELECT itself."""
        select = self._select
        select.group_by = [render_group_key(term, select.dialect) for term in keys.values()]
        select.order_by = []
        select.scope = {**keys, **aggregates}
        # NOTE: an aggregate must stay in its SELECT: it must not be dropped if it alone makes SQL
        # form one group, and must not be moved into a subquery. PERF: columns of a node that a
        # group needs are read once per group, not once per row.
        has_entities = any(term.kinds & k.ENTITIES for term in keys.values())
        return select.build_wrapped() if aggregates or not keys or has_entities else select


def render_group_key(term: Term, dialect: Dialect) -> str:
    """Render SQL that is equal for the values of one group, and for no others."""
    if term.lookup is not None:
        return term.lookup.column
    if term.holds_entities:
        raise CannotRun("Grouping by a map of nodes or relationships.")
    return dialect.render_distinct_key(term, comparable=False)
