"""What PostgreSQL compiles besides: groups that read values beside their keys, lists, `collect`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tests.postgres.dialect import list_rows
from twinframe.query.algebra import AggregateCall
from twinframe.query.engine import CannotRun
from twinframe.query.sql import Carry, Extensions, Groups, Select, Term, may_fail, render_group_key
from twinframe.query.sql import kinds as k

_MOST_ARGUMENTS = 100


class PostgresExtensions(Extensions):
    """Groups and aggregates; the rest is declined."""

    def open_groups(
        self, select: Select, keys: Iterable[Term], calls: Sequence[AggregateCall]
    ) -> Groups:
        """Group in the SELECT itself."""
        return AnyGroups(select)

    def build_list(self, items: tuple[Term, ...]) -> Term:
        """Build a JSON array."""
        if len(items) > _MOST_ARGUMENTS or any(term.kinds & k.ENTITIES for term in items):
            raise CannotRun("A list of nodes or relationships, or of so many values.")
        texts = ", ".join(self.dialect.render_item(term) for term in items)
        kinds = 0
        for term in items:
            kinds |= term.kinds
        assumed = any(map(may_fail, items))
        return Term(
            k.LIST,
            f"json_build_array({texts})",
            items=items,
            elements=kinds or k.NULL,
            assumed=assumed,
        )

    def compile_collect(
        self, term: Term, order_by: Sequence[str], carry: Carry, *, distinct: bool
    ) -> Term:
        """Aggregate the values that are not null to JSON."""
        nested = term.kinds & k.LIST and term.elements & k.ENTITIES
        if distinct or term.kinds & k.ENTITIES or nested or term.holds_entities:
            raise CannotRun("collect() of distinct values, or of nodes or relationships.")
        order = f" ORDER BY {', '.join(order_by)}" if order_by else ""
        kept = f"FILTER (WHERE {carry(term.value)} IS NOT NULL)"
        values = f"json_agg({carry(self.dialect.render_item(term))}{order}) {kept}"
        elements = term.kinds & ~k.NULL
        return Term(k.LIST, f"coalesce({values}, '[]'::json)", elements=elements or k.NULL)


class AnyGroups:
    """Groups in which a value beside the keys is that of any row of the group.

    PostgreSQL reads no other columns of a group than its keys and aggregates.
    """

    def __init__(self, select: Select) -> None:
        self._select = select

    def carry(self, sql: str) -> str:
        """Return the expression itself."""
        return sql

    def build_groups(self, keys: Mapping[str, Term], aggregates: Mapping[str, Term]) -> Select:
        """Group the SELECT, and wrap it."""
        select = self._select
        by = {name: render_group_key(term, select.dialect) for name, term in keys.items()}
        select.group_by = list(by.values())
        select.order_by = []
        read = {name: self._read_any(term, by[name]) for name, term in keys.items()}
        select.scope = {**read, **aggregates}
        return select.build_wrapped()

    def _read_any(self, term: Term, key: str) -> Term:
        if term.value == key or term.kinds == k.NULL:
            return term
        if self._select.dialect.is_plain(term.kinds):
            value = self._select.dialect.read_plain(term)
            return replace(term, value=f"((array_agg({value}))[1])", tag=None, json=None)
        rows = ", ".join(list_rows(term) or self._select.scanned.values())
        order = f" ORDER BY {rows}" if rows else ""
        # NOTE: of equal values, such as 1 and 1.0, the first row has it.
        json = f"((array_agg({self._select.dialect.render_json(term)}{order}))[1])"
        return replace(self._select.dialect.build_json_term(json, term.kinds), finite=term.finite)
