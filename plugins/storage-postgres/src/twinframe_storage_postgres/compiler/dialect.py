"""PostgreSQL as a dialect of the relational layer.

Columns have one type each: a value that may be of several kinds travels as `jsonb`, numbers of both
kinds compare as `numeric`. A list or map is `jsonb`, too; of nodes or relationships it has row ids.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    LIMIT_MARK,
    TRAP_MARK,
    Bindings,
    Dialect,
    Member,
    Term,
    check_path,
    render_all,
    render_text,
)
from twinframe.query.sql import kinds as k
from twinframe_storage_postgres.compiler import aggregates, members
from twinframe_storage_postgres.compiler.membership import compile_in_list

TYPES: Final = {
    k.BOOLEAN: "boolean",
    k.INTEGER: "bigint",
    k.FLOAT: "double precision",
    k.NUMBER: "numeric",
    k.STRING: "text",
    k.NODE: "bigint",
    k.RELATIONSHIP: "bigint",
}
_NAMES: Final = {
    k.NUMBER: "number",
    k.STRING: "string",
    k.BOOLEAN: "boolean",
    k.LIST: "array",
    k.MAP: "object",
}


_GIVEN: Final = {
    k.NUMBER: re.compile(r"(\0\w+\0)::(?:bigint|double precision)"),
    k.BOOLEAN: re.compile(r"\((\0\w+\0)::integer <> 0\)"),
    k.STRING: re.compile(r'\((\0\w+\0)::text COLLATE "C"\)'),
}
_MARKS: Final = {k.NUMBER: "number", k.BOOLEAN: "boolean", k.STRING: "text"}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_COLUMN: Final = re.compile(r"[nr]\d+\.\w+")
"""The columns of tables, whose texts are ordered by code point."""


class PostgresDialect(Dialect):
    """SQL of PostgreSQL 14 and later over `members`, which is `jsonb`."""

    native: ClassVar = k.NULL
    empty_set: ClassVar = "'{}'::bigint[]"
    folds_nulls: ClassVar = True
    volatile: ClassVar = "twinframe_"
    both_ways: ClassVar = (
        "(SELECT r.*, r.source origin, r.target reached, 0 way FROM relationship r "
        "UNION ALL SELECT r.*, r.target, r.source, 1 FROM relationship r)"
    )

    arrange = members.arrange
    compile_in_list = compile_in_list
    build_sum = aggregates.build_sum
    build_average = aggregates.build_average
    build_extreme = aggregates.build_extreme

    # --- traps and given values -----------------------------------------------------------------

    def render_trap(self, reason: str, kinds: int = k.NULL) -> str:
        """Call the function that fails."""
        return _render_trap(TRAP_MARK + reason, TYPES.get(kinds & ~k.NULL, "jsonb"))

    def render_limit(self, message: str) -> str:
        """Call the function that fails."""
        return _render_trap(LIMIT_MARK + message, "integer")

    def render_models(self, label: str) -> str | None:
        """Render a mark, for which the engine writes the row ids: PostgreSQL has statistics of
        them, and not of a subquery.
        """
        if "\0" in label:
            raise CannotRun("A label with U+0000.")
        return f"\0{label}\0::models"

    def render_placeholder(self, name: str) -> str:
        """Render a mark: the engine numbers placeholders when the statement is complete."""
        return f"\0{name}\0"

    def render_given(self, placeholder: str, kinds: int) -> str:
        """Render a cast, without which the type of a parameter is unknown."""
        match kinds:
            case k.BOOLEAN:
                return f"({placeholder}::integer <> 0)"
            case k.STRING:
                return f'({placeholder}::text COLLATE "C")'
            case k.INTEGER | k.FLOAT:
                return f"{placeholder}::{TYPES[kinds]}"
            case _:
                return f"{placeholder}::jsonb"

    # --- values ---------------------------------------------------------------------------------

    def build_member(self, member: Member) -> Term:
        """Read the member from `members`."""
        root = member.document
        if root.endswith(".document"):
            root = root.removesuffix("document") + "members"
        path = "".join(f" -> {render_name(name)}" for name in member.names)
        return replace(self.build_json_term(f"({root}{path})"), member=member, finite=True)

    def build_nested(self, parent: Term, key: str) -> Term:
        """Check the parent's type where it may be no map."""
        root = parent.member or Member(parent.value, ())
        inner = self.build_member(Member(root.document, (*root.names, key)))
        if parent.tag is None or root.names == ("$metadata",):
            return inner
        kind = f"jsonb_typeof({parent.json})"
        checked = (
            f"(CASE WHEN {kind} = 'object' THEN {inner.json}"
            f" WHEN {kind} <> 'null' THEN {self.render_trap('a member of a scalar')} END)"
        )
        return replace(self.build_json_term(checked), member=inner.member, finite=True)

    def build_json_term(self, text: str, kinds: int = k.JSON) -> Term:
        """Read the value as text."""
        return Term(
            kinds,
            f"({text} #>> '{{}}')",
            tag=f"twinframe_type({text})",
            json=text,
            member=Member(text, ()),
        )

    def refine(self, term: Term, kinds: int) -> Term:
        """Keep the value as `jsonb`, whose type does not change with what is known."""
        return replace(term, kinds=term.kinds & kinds)

    def read(self, term: Term, kind_class: int) -> str:
        """Convert to the type of the class: numbers to `numeric` unless they are integers."""
        if term.kinds == k.NULL:
            return f"NULL::{TYPES.get(kind_class, 'jsonb')}"
        if term.tag is None or term.json is None:
            if kind_class == k.STRING and not _COLUMN.fullmatch(term.value):
                return f'({term.value} COLLATE "C")'
            is_float = kind_class == k.NUMBER and term.kinds & k.FLOAT
            return f"twinframe_exact({term.value})" if is_float else term.value
        match kind_class:
            case k.NUMBER:
                return f"twinframe_number({term.json})"
            case k.STRING:
                return f'({term.value} COLLATE "C")'
            case k.BOOLEAN:
                test = f"jsonb_typeof({term.json}) = 'boolean'"
                return f"(CASE WHEN {test} THEN {term.json}::boolean END)"
            case _:
                return term.json

    def read_plain(self, term: Term) -> str:
        """Read the one class that a plain term has."""
        if term.tag is None:
            return term.value
        if term.kinds & ~k.NULL == k.FLOAT:
            return f"twinframe_real({term.json})"
        (kind_class,) = k.build_classes(term.kinds) or (k.STRING,)
        value = self.read(term, kind_class)
        if kind_class == k.NUMBER:
            return f"{value}::{TYPES[term.kinds & k.NUMBER]}"
        return value

    def read_as_column(self, term: Term, kinds: int) -> str:
        """Cast to the one type of the column."""
        kind = TYPES.get(kinds & ~k.NULL)
        if kind is None:
            return f"({self.read_plain(term)})::jsonb"
        collation = ' COLLATE "C"' if kind == "text" else ""
        return f"({self.read_plain(term)})::{kind}{collation}"

    def read_as(self, term: Term, kind_class: int, reason: str) -> str:
        """Check the type in a CASE."""
        if not term.kinds & ~(kind_class | k.NULL):
            return f"({self.read(term, kind_class)})"
        check = self.render_check(term, kind_class)
        if not term.kinds & kind_class or check is None:
            raise CannotRun(f"{reason.capitalize()} over a {k.render_kinds(term.kinds)}.")
        trap = self.render_trap(f"{reason} over another type", kind_class)
        value = self.read(term, kind_class)
        if term.tag is not None and kind_class in (k.NUMBER, k.BOOLEAN):
            value = f"{term.json}::{TYPES[kind_class]}"
        return f"(CASE WHEN {check} THEN {value} WHEN {term.value} IS NOT NULL THEN {trap} END)"

    def render_check(self, term: Term, kind_class: int) -> str | None:
        """Test the type of `jsonb`."""
        name = _NAMES.get(kind_class)
        if term.json is None or term.tag is None or name is None:
            return super().render_check(term, kind_class)
        if not term.kinds & ~(kind_class | k.NULL):
            return None
        return f"jsonb_typeof({term.json}) = '{name}'"

    def render_given_test(
        self, left: Term, operator: str, right: Term, kind_class: int
    ) -> str | None:
        """Compare `jsonb` with a given number, boolean or text that is sent as `jsonb`.

        PERF: a comparison of numbers takes three quarters of the time that it takes as `numeric`,
        and no more than one by hand. An index on the member serves it.
        """
        if left.tag is None:
            left, operator, right = right, _MIRRORED.get(operator, ""), left
        given = _GIVEN[kind_class].fullmatch(right.value) if kind_class in _GIVEN else None
        if left.tag is None or left.json is None or given is None or not operator:
            return None
        # NOTE: `jsonb` orders texts as the database does, not by code point.
        if kind_class != k.NUMBER and operator != "=":
            return None
        test = f"{left.json} {operator} {given[1]}::given_{_MARKS[kind_class]}"
        # NOTE: values of two types are never equal in `jsonb`.
        return render_all(test, None if operator == "=" else self.render_check(left, k.NUMBER))

    def render_truth(self, term: Term, *, wanted: bool) -> str:
        """Read the boolean once its type is known."""
        value = self.read_as(term, k.BOOLEAN, "a condition that is no boolean")
        return value if wanted else f"(NOT {value})"

    def render_guard(self, term: Term, kind_class: int) -> str | None:
        """Test the type of a text alone: any value can be read as one."""
        if term.tag is not None and kind_class in (k.NUMBER, k.BOOLEAN):
            return None
        return self.render_check(term, kind_class)

    def render_rank(self, term: Term) -> str:
        """Render a text of the rank and, of a string or boolean, the value."""
        trap = self.render_trap("an order of lists or maps", k.STRING)
        return (
            f"(CASE jsonb_typeof({term.json}) WHEN 'number' THEN '7'"
            f" WHEN 'string' THEN '5' || {term.value} WHEN 'boolean' THEN '6' || {term.value}"
            f""" WHEN 'array' THEN {trap} WHEN 'object' THEN {trap} ELSE '9' END COLLATE "C")"""
        )

    def render_json(self, term: Term) -> str:
        """Convert a native value to `jsonb`."""
        check_path(term)
        if term.tag is not None and term.json is not None:
            return term.json
        known = term.kinds & ~k.NULL
        if not known:
            return "NULL::jsonb"
        is_list = known == k.LIST and term.elements & k.ENTITIES
        if term.holds_entities or known & k.ENTITIES or is_list:
            raise CannotRun("JSON of nodes, relationships or paths.")
        if known in (k.LIST, k.MAP):
            return term.value
        return f"twinframe_float({term.value})" if known == k.FLOAT else f"to_jsonb({term.value})"

    def render_item(self, term: Term) -> str:
        """Render `jsonb`, whose null is not NULL.

        NOTE: no float is infinite: operators fail instead, and the engine binds none.
        """
        text = self.render_json(term)
        return f"coalesce({text}, 'null'::jsonb)" if term.kinds & k.NULL else text

    def render_as_json(self, text: str) -> str:
        """Render the text of a document, or `jsonb`, as they are."""
        return text

    def render_key(self, term: Term, *, traps: bool = True, comparable: bool = True) -> str:
        """Render `jsonb`, in which equivalent values are equal; the value itself where types
        agree.
        """
        check_path(term)
        known = term.kinds & ~k.NULL
        if not known:
            return "NULL::jsonb"
        if term.tag is not None:
            return f"nullif({self.render_json(term)}, 'null')"
        if known in (k.LIST, k.MAP) or known & k.ENTITIES or not comparable:
            return term.value
        (kind_class,) = k.build_classes(known)
        return f"to_jsonb({self.read(term, kind_class)})"

    def render_list_key(self, term: Term) -> str:
        """Render the list, whose equality in `jsonb` is equivalence."""
        return term.value

    # --- tests ----------------------------------------------------------------------------------

    def render_computed(self, tests: Sequence[str]) -> str:
        """Call a function, whose arguments are always computed."""
        return f"num_nulls({', '.join(tests)}) = 0"

    def render_equal_nested(self, left: Term, right: Term, *, wanted: bool) -> str:
        """Call the function that compares any values."""
        if (left.elements | right.elements) & k.ENTITIES and left.kinds & right.kinds & k.LIST:
            sides = left.value, right.value
        else:
            sides = self.render_json(left), self.render_json(right)
        test = f"twinframe_equal({sides[0]}, {sides[1]})"
        return test if wanted else f"(NOT {test})"

    def render_mixed_test(
        self, left: Term, operator: str, right: Term, shared: Sequence[int]
    ) -> str:
        """Render one comparison for each class, each with its checks."""
        tests = []
        for each in shared:
            checks = [self.render_check(side, each) for side in (left, right)]
            if each == k.LIST:
                compared = self.render_trap("an order of lists", k.BOOLEAN)
                when = render_all(*checks) if any(checks) else "TRUE"
                tests.append(f"(CASE WHEN {when} THEN {compared} END)")
            else:
                compared = f"{self.read(left, each)} {operator} {self.read(right, each)}"
                tests.append(render_all(compared, *checks))
        return f"({' OR '.join(tests)})"

    def render_string_test(
        self, left: Term, operator: str, right: Term, bindings: Bindings, *, wanted: bool
    ) -> str:
        """Call functions that compare characters."""
        text, part = self.read(left, k.STRING), self.read(right, k.STRING)
        test = {
            "STARTS WITH": f"starts_with({text}, {part})",
            "ENDS WITH": f"right({text}, length({part})) = {part}",
            "CONTAINS": f"strpos({text}, {part}) > 0",
        }[operator]
        return f"({test})" if wanted else f"(NOT ({test}))"

    # --- orders ---------------------------------------------------------------------------------

    def list_sort_keys(self, term: Term) -> Sequence[str]:
        """The value itself: `jsonb` orders numbers; of other values the rank is all."""
        return (f"nullif({self.render_json(term)}, 'null')",)

    # --- texts and sets of row ids --------------------------------------------------------------

    def render_used(self, rows: Sequence[str], used: str | None) -> str:
        """Render an array. PERF: a step takes a third of the time that it takes with a text."""
        if used is None:
            return f"ARRAY[{', '.join(rows)}]::bigint[]"
        return used + "".join(f" || {row}" for row in rows)

    def render_unused(self, row: str, used: str) -> str:
        """Compare with the elements."""
        return f"{row} <> ALL ({used})"

    def render_row_list(self, text: str) -> str:
        """Cast to `jsonb`."""
        return f"({text})::jsonb"

    def render_position(self, text: str, part: str) -> str:
        """Render `strpos`."""
        return f"strpos({text}, {part})"

    def render_version(self, version: str) -> tuple[str, str]:
        """Render the digits that a text begins with, and those after the point behind them."""
        major = f"substring({version} from '^([0-9]+)')::bigint"
        minor = f"substring({version} from '^[0-9]+[.]([0-9]+)')::bigint"
        return f"coalesce({major}, 0)", f"coalesce({minor}, 0)"

    def render_set(self, row: str) -> str:
        """Render an array of one row id."""
        return f"ARRAY[{row}]"

    def render_elements(self, row_ids: str) -> str:
        """Render the rows of an array."""
        return f"(SELECT value FROM unnest({row_ids}) AS u(value))"

    def render_collected(self, column: str) -> str:
        """Render the aggregate of an array."""
        return f"coalesce(array_agg({column}), {self.empty_set})"

    def render_union(self, left: str, right: str) -> str:
        """Append one array to the other."""
        return f"{left} || {right}"


def render_name(name: str) -> str:
    """Render the name of a member as a literal, as `members` spells it."""
    if "\1" in name:
        raise CannotRun("A name with U+0001.")
    return render_text(name.replace("\0", "\1"))


def _render_trap(message: str, kind: str) -> str:
    return f"twinframe_trap({render_name(message)}, NULL::{kind})"


DIALECT: Final = PostgresDialect()
