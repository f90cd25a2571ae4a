"""SQLite as a dialect of the relational layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from twinframe.query.sql import Bindings, Dialect, Term
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler import aggregates, guards, json_terms
from twinframe_storage_sqlite.compiler.choice import arrange
from twinframe_storage_sqlite.compiler.membership import compile_in_list, render_mixed_test
from twinframe_storage_sqlite.compiler.nested import render_equal_nested, render_list_key
from twinframe_storage_sqlite.compiler.paths import mark_paths
from twinframe_storage_sqlite.compiler.strings import render_string_test
from twinframe_storage_sqlite.scalar_functions import render_call


class SqliteDialect(Dialect):
    """SQL of SQLite over its JSON functions: values keep their types, booleans are 0 and 1."""

    native: ClassVar = json_terms.NATIVE
    yes: ClassVar = "1"
    no: ClassVar = "0"
    # NOTE: SQLite keeps the order of the tables of a CROSS JOIN, which may have a condition.
    ordered_join: ClassVar = "CROSS JOIN"
    unconditional: ClassVar = ""
    no_limit: ClassVar = "-1"
    unites_steps: ClassVar = True
    empty_set: ClassVar = "'[]'"

    build_member = staticmethod(json_terms.build_member)
    build_nested = staticmethod(json_terms.build_nested)
    build_json_term = staticmethod(json_terms.build_json_term)
    refine = staticmethod(json_terms.refine)
    read_as = staticmethod(json_terms.read_as)
    render_json = staticmethod(json_terms.render_json)
    render_item = staticmethod(json_terms.render_item)
    render_key = staticmethod(json_terms.render_key)
    render_list_key = staticmethod(render_list_key)
    render_limit = staticmethod(guards.render_limit)
    render_equal_nested = staticmethod(render_equal_nested)
    render_mixed_test = staticmethod(render_mixed_test)
    render_string_test = staticmethod(render_string_test)
    mark_paths = staticmethod(mark_paths)
    arrange = staticmethod(arrange)
    build_sum = staticmethod(aggregates.build_sum)
    build_average = staticmethod(aggregates.build_average)
    build_extreme = staticmethod(aggregates.build_extreme)

    def render_trap(self, reason: str, kinds: int = k.NULL) -> str:
        """Render a trap, which has no type in SQLite."""
        return guards.render_trap(reason)

    def render_placeholder(self, name: str) -> str:
        """Render a named placeholder."""
        return f":{name}"

    def render_as_json(self, text: str) -> str:
        """Render JSON text, or JSONB, as JSON."""
        return f"json({text})"

    def render_native_check(self, value: str, kind_class: int) -> str:
        """Render a test of the storage class."""
        if kind_class == k.STRING:
            return f"typeof({value}) = 'text'"
        return f"typeof({value}) IN ('integer','real')"

    def render_computed(self, tests: Sequence[str]) -> str:
        """Render a sum, whose operands are always computed, unlike those of AND."""
        return f"{' + '.join(tests)} <= {len(tests)}"

    def compile_in_list(
        self, item: Term, members: Term, bindings: Bindings, *, wanted: bool
    ) -> str:
        """Compile membership in JSON text."""
        return compile_in_list(item, members, bindings, self, wanted=wanted)

    def render_distinct_key(self, term: Term, *, comparable: bool = True) -> str:
        """Call a function for lists and maps; lists of row ids are their own keys."""
        if term.kinds & k.LIST and term.elements & k.ENTITIES:
            return render_list_key(term)
        nested = render_call("key", term.value)
        return json_terms.render_key(term, comparable=comparable, nested=nested)

    def render_rank(self, term: Term) -> str:
        """Render the rank of the storage class where a term has no JSON type."""
        if term.tag is None:
            return f"CASE typeof({term.value}) WHEN 'text' THEN 5 WHEN 'null' THEN 9 ELSE 7 END"
        return super().render_rank(term)

    def list_sort_keys(self, term: Term) -> Sequence[str]:
        """The native value, which SQLite orders within each type."""
        return (term.value,)

    def render_position(self, text: str, part: str) -> str:
        """Render `instr`."""
        return f"instr({text}, {part})"

    def render_version(self, version: str) -> tuple[str, str]:
        """Render two casts, which read the digits that a text begins with."""
        minor = f"substr({version}, nullif(instr({version}, '.'), 0) + 1)"
        return f"CAST({version} AS INTEGER)", f"CAST({minor} AS INTEGER)"

    # --- sets of row ids are JSON arrays --------------------------------------------------------

    def render_set(self, row: str) -> str:
        """Render an array of one row id."""
        return f"json_array({row})"

    def render_elements(self, row_ids: str) -> str:
        """Render the rows of an array."""
        return f"json_each({row_ids})"

    def render_collected(self, column: str) -> str:
        """Render the aggregate of an array."""
        return f"json_group_array({column})"

    def render_union(self, left: str, right: str) -> str:
        """Render the text of both arrays."""
        joined = f"substr({left}, 1, length({left}) - 1) || ','"
        return f"CASE {left} WHEN '[]' THEN {right} ELSE {joined} || substr({right}, 2) END"


DIALECT: Final = SqliteDialect()
