"""What SQLite compiles besides: lists and maps as JSON, kept counts, narrow groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twinframe.query.algebra import AggregateCall
from twinframe.query.sql import Column, ElementExtensions, Groups, Select, Term
from twinframe_storage_sqlite.compiler import elements, lists, maps
from twinframe_storage_sqlite.compiler.aggregates import (
    compile_collect,
    compile_deviation,
    compile_percentile,
)
from twinframe_storage_sqlite.compiler.arithmetic import compile_arithmetic, compile_minus
from twinframe_storage_sqlite.compiler.counts import compile_count
from twinframe_storage_sqlite.compiler.functions import FUNCTIONS
from twinframe_storage_sqlite.compiler.grouping import build_narrow
from twinframe_storage_sqlite.compiler.lets import build_let
from twinframe_storage_sqlite.compiler.output import build_column
from twinframe_storage_sqlite.compiler.times import render_time_order


class SqliteExtensions(ElementExtensions):
    """All operations, by the functions of this package."""

    compile_kept_count = staticmethod(compile_count)
    join_list = staticmethod(elements.join_list)
    compile_collected = staticmethod(elements.compile_collected)
    compile_collect = staticmethod(compile_collect)
    compile_deviation = staticmethod(compile_deviation)
    compile_percentile = staticmethod(compile_percentile)
    render_time_order = staticmethod(render_time_order)
    compile_arithmetic = staticmethod(compile_arithmetic)
    compile_minus = staticmethod(compile_minus)
    build_list = staticmethod(lists.build_list)
    build_map = staticmethod(maps.build_map)
    compile_projection = staticmethod(maps.compile_projection)
    compile_named_member = staticmethod(maps.compile_named_member)
    compile_element = staticmethod(lists.compile_element)
    compile_slice = staticmethod(lists.compile_slice)
    read_list = staticmethod(elements.read_list)
    join_elements = staticmethod(elements.join_elements)
    render_group = staticmethod(elements.render_group)
    build_let = staticmethod(build_let)

    def open_groups(
        self, select: Select, keys: Iterable[Term], calls: Sequence[AggregateCall]
    ) -> Groups:
        """Carry only what the groups need, where that saves the sorter documents."""
        keys = list(keys)
        return build_narrow(select, keys, calls) or super().open_groups(select, keys, calls)

    def build_column(self, term: Term) -> Column:
        """Build paths, and lists and maps of entities, from JSON."""
        return build_column(term) or super().build_column(term)

    def compile_call(self, name: str, arguments: Sequence[Term]) -> Term:
        """Compile a function of `FUNCTIONS`."""
        compile_one = FUNCTIONS.get(name)
        if compile_one is None:
            return super().compile_call(name, arguments)
        return compile_one(arguments)

    def render_length(self, path: str) -> str:
        """Render half the length of the list of the path's parts."""
        return f"(json_array_length({path}) / 2)"

    def render_size(self, items: str) -> str:
        """Render the length of a JSON array."""
        return f"json_array_length({items})"
