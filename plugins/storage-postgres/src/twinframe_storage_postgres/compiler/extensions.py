"""What PostgreSQL compiles besides: lists and maps as `jsonb`, functions, groups by any key."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe.query.algebra import AggregateKind
from twinframe.query.sql import Carry, ElementExtensions, Term
from twinframe_storage_postgres.compiler import aggregates, functions, lists, maps, times
from twinframe_storage_postgres.compiler.dialect import DIALECT
from twinframe_storage_postgres.compiler.grouping import open_groups
from twinframe_storage_postgres.compiler.output import build_column


class PostgresExtensions(ElementExtensions):
    """The operations of this package."""

    open_groups = staticmethod(open_groups)
    build_column = staticmethod(build_column)
    join_list = staticmethod(lists.join_list)
    compile_collected = staticmethod(lists.compile_collected)
    compile_arithmetic = staticmethod(functions.compile_arithmetic)
    compile_minus = staticmethod(functions.compile_minus)
    build_list = staticmethod(lists.build_list)
    build_map = staticmethod(maps.build_map)
    compile_projection = staticmethod(maps.compile_projection)
    compile_named_member = staticmethod(maps.compile_named_member)
    compile_element = staticmethod(lists.compile_element)
    compile_slice = staticmethod(lists.compile_slice)
    read_list = staticmethod(lists.read_list)
    join_elements = staticmethod(lists.join_elements)
    render_group = staticmethod(lists.render_group)
    build_let = staticmethod(lists.name_texts)
    render_time_order = staticmethod(times.render_time_order)

    def render_size(self, items: str) -> str:
        """Render the length of an array."""
        return f"jsonb_array_length({items})"

    def render_length(self, path: str) -> str:
        """Render half the length of the list of the path's parts."""
        return f"(jsonb_array_length({path}) / 2)"

    def compile_call(self, name: str, arguments: Sequence[Term]) -> Term:
        """Compile a function of `FUNCTIONS`."""
        compile_one = functions.FUNCTIONS.get(name)
        if compile_one is None:
            return super().compile_call(name, arguments)
        return compile_one(arguments)

    def compile_collect(
        self, term: Term, order_by: Sequence[str], carry: Carry, *, distinct: bool
    ) -> Term:
        """The aggregate `collect`."""
        return aggregates.compile_collect(DIALECT, term, order_by, carry, distinct=distinct)

    def compile_deviation(
        self, term: Term, kind: AggregateKind, carry: Carry, *, distinct: bool
    ) -> Term:
        """The aggregates `stDev` and `stDevP`."""
        return aggregates.compile_deviation(DIALECT, term, kind, carry, distinct=distinct)

    def compile_percentile(
        self, term: Term, fraction: str, kind: AggregateKind, carry: Carry, *, distinct: bool
    ) -> Term:
        """The aggregates `percentileCont` and `percentileDisc`."""
        return aggregates.compile_percentile(
            DIALECT, term, fraction, kind, carry, distinct=distinct
        )
