"""What PostgreSQL compiles besides: groups that read values beside their keys, lists, `collect`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tests.postgres.dialect import list_rows
from twinframe.query.algebra import AggregateCall, AggregateKind
from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    NULL_TERM,
    Carry,
    Extensions,
    Groups,
    Select,
    Term,
    may_fail,
    render_group_key,
)
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

    def compile_deviation(
        self, term: Term, kind: AggregateKind, carry: Carry, *, distinct: bool
    ) -> Term:
        """Compute with `numeric`, which is exact but for the root."""
        if term.tag is None and term.kinds & k.FLOAT and not term.finite:
            raise CannotRun("A standard deviation of floats that may be infinite.")
        name = "stddev_samp" if kind is AggregateKind.STDEV else "stddev_pop"
        word = "DISTINCT " if distinct else ""
        value = carry(self.dialect.read_as(term, k.NUMBER, f"{kind.value}()"))
        text = f"coalesce({name}({word}({value})::numeric)::double precision, 0)"
        return Term(k.FLOAT, text, finite=True, assumed=True)

    def compile_percentile(
        self, term: Term, fraction: str, kind: AggregateKind, carry: Carry, *, distinct: bool
    ) -> Term:
        """Interpolate as floats, or take a value from an array in order."""
        if distinct:
            raise CannotRun(f"{kind.value}() of distinct values.")
        number = self.dialect.read_as(term, k.NUMBER, f"{kind.value}()")
        if kind is AggregateKind.PERCENTILE_CONT:
            order = f"ORDER BY ({carry(number)})::double precision"
            text = f"percentile_cont({fraction}::double precision) WITHIN GROUP ({order})"
            return Term(k.FLOAT | k.NULL, text, assumed=True)
        kept = f"FILTER (WHERE {carry(term.value)} IS NOT NULL)"
        order = ", ".join([carry(number), *list_rows(term)])
        value = carry(term.value if term.tag is None else self.dialect.render_json(term))
        position = f"greatest(ceil({fraction}::double precision * count({carry(number)})), 1)"
        text = f"((array_agg({value} ORDER BY {order}) {kept})[{position}::integer])"
        known = term.kinds & k.NUMBER | k.NULL
        if term.tag is None:
            return Term(known, text, finite=term.finite, assumed=True)
        return replace(self.dialect.build_json_term(text, known), finite=True, assumed=True)

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
        if term.kinds == k.NULL:
            return NULL_TERM
        # NOTE: PostgreSQL does not know an expression again that has a subquery.
        if term.value == key and "SELECT" not in key:
            return term
        if self._select.dialect.is_plain(term.kinds):
            value = self._select.dialect.read_plain(term)
            return replace(term, value=f"((array_agg({value}))[1])", tag=None, json=None)
        rows = ", ".join(list_rows(term) or self._select.scanned.values())
        order = f" ORDER BY {rows}" if rows else ""
        # NOTE: of equal values, such as 1 and 1.0, the first row has it.
        json = f"((array_agg({self._select.dialect.render_json(term)}{order}))[1])"
        return replace(self._select.dialect.build_json_term(json, term.kinds), finite=term.finite)
