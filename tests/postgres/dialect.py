"""PostgreSQL as a dialect of the relational layer.

Columns have one type each: a value that may be of several kinds travels as `json`, numbers compare
as `numeric`. The functions it calls are in `schema.sql`. Placeholders are psycopg's, so a percent
sign in a text is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from twinframe.query.algebra import AggregateKind
from twinframe.query.engine import CannotRun
from twinframe.query.sql import (
    LIMIT_MARK,
    TRAP_MARK,
    Bindings,
    Carry,
    Dialect,
    Member,
    Term,
    check_path,
    read_owner,
    render_all,
    render_text,
    render_whole,
)
from twinframe.query.sql import kinds as k

_NESTED: Final = k.LIST | k.MAP
_TYPES: Final = {
    k.BOOLEAN: "boolean",
    k.INTEGER: "bigint",
    k.FLOAT: "double precision",
    k.NUMBER: "numeric",
    k.STRING: "text",
    k.NODE: "bigint",
    k.RELATIONSHIP: "bigint",
}
_SCALARS: Final = (k.STRING, k.BOOLEAN, k.NUMBER)


class PostgresDialect(Dialect):
    """SQL of PostgreSQL 15 and later over documents of the type `json`."""

    native: ClassVar = k.NULL
    empty_set: ClassVar = "'{}'::bigint[]"
    folds_nulls: ClassVar = True

    # --- traps and given values -----------------------------------------------------------------

    def render_trap(self, reason: str, kinds: int = k.NULL) -> str:
        """Call the function that fails."""
        return _render_trap(TRAP_MARK + reason, _TYPES.get(kinds & ~k.NULL, "json"))

    def render_limit(self, message: str) -> str:
        """Call the function that fails."""
        return _render_trap(LIMIT_MARK + message, "integer")

    def render_placeholder(self, name: str) -> str:
        """Render psycopg's named placeholder."""
        return f"%({name})s"

    def render_given(self, placeholder: str, kinds: int) -> str:
        """Render a cast, without which the type of a parameter is unknown."""
        match kinds:
            case k.BOOLEAN:
                return f"({placeholder}::integer <> 0)"
            case k.STRING:
                return f'({placeholder}::text COLLATE "C")'
            case k.INTEGER | k.FLOAT:
                return f"{placeholder}::{_TYPES[kinds]}"
            case _:
                return f"{placeholder}::json"

    # --- values ---------------------------------------------------------------------------------

    def build_member(self, member: Member) -> Term:
        """Read the member as `json`, and as text."""
        path = "".join(f" -> {_render_text(name)}" for name in member.names)
        json = f"({member.document}{path})"
        value = f"({json} #>> '{{}}')"
        return Term(
            k.JSON, value, tag=f"twinframe_type({json})", json=json, member=member, finite=True
        )

    def build_nested(self, parent: Term, key: str) -> Term:
        """Check the parent's type where it may be no map."""
        root = parent.member or Member(parent.value, ())
        inner = self.build_member(Member(root.document, (*root.names, key)))
        if parent.tag is None or root.names == ("$metadata",):
            return inner
        reason = "a member of a scalar"
        checked = (
            f"(CASE WHEN {parent.tag} = 'object' THEN {inner.json}"
            f" WHEN {parent.tag} <> 'null' THEN {self.render_trap(reason)} END)"
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
        """Keep the value as `json`, whose type does not change with what is known."""
        return replace(term, kinds=term.kinds & kinds)

    def read(self, term: Term, kind_class: int) -> str:
        """Convert to the type of the class: numbers to `numeric` unless they are integers."""
        if term.kinds == k.NULL:
            return f"NULL::{_TYPES.get(kind_class, 'json')}"
        if term.tag is None or term.json is None:
            is_float = kind_class == k.NUMBER and term.kinds & k.FLOAT
            return f"twinframe_exact({term.value})" if is_float else term.value
        match kind_class:
            case k.NUMBER:
                return f"twinframe_number({term.json})"
            case k.STRING:
                return f'({term.value} COLLATE "C")'
            case k.BOOLEAN:
                return f"(CASE {term.tag} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END)"
            case _:
                return term.json

    def read_plain(self, term: Term) -> str:
        """Read the one class that a plain term has."""
        if term.tag is None:
            return term.value
        (kind_class,) = k.build_classes(term.kinds) or (k.STRING,)
        value = self.read(term, kind_class)
        if kind_class == k.NUMBER:
            return f"{value}::{_TYPES[term.kinds & k.NUMBER]}"
        return value

    def read_as(self, term: Term, kind_class: int, reason: str) -> str:
        """Check the type in a CASE."""
        if not term.kinds & ~(kind_class | k.NULL):
            return f"({self.read(term, kind_class)})"
        check = self.render_check(term, kind_class)
        if not term.kinds & kind_class or check is None:
            raise CannotRun(f"{reason.capitalize()} over a {k.render_kinds(term.kinds)}.")
        trap = self.render_trap(f"{reason} over another type", kind_class)
        return (
            f"(CASE WHEN {check} THEN {self.read(term, kind_class)}"
            f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
        )

    def render_json(self, term: Term) -> str:
        """Convert a native value to `json`."""
        check_path(term)
        if term.json is not None:
            return term.json
        known = term.kinds & ~k.NULL
        if not known:
            return "NULL::json"
        if known & k.PATH or (known == k.LIST and term.elements & k.ENTITIES):
            raise CannotRun("JSON of a path, or of a list of nodes or relationships.")
        if known in (k.NODE, k.RELATIONSHIP):
            return f"{read_owner(term).read_table(known, term.value)}.document"
        if known in (k.LIST, k.MAP):
            return term.value
        return f"twinframe_float({term.value})" if known == k.FLOAT else f"to_json({term.value})"

    def render_item(self, term: Term) -> str:
        """Render `json`, whose null is not NULL."""
        if term.tag is None and term.kinds & k.FLOAT and not term.finite and term.source is None:
            raise CannotRun("A list or map of computed floats.")
        text = self.render_json(term)
        return f"coalesce({text}, 'null'::json)" if term.kinds & k.NULL else text

    def render_as_json(self, text: str) -> str:
        """Render the document, which is `json` already."""
        return text

    def render_key(self, term: Term, *, traps: bool = True, comparable: bool = True) -> str:
        """Render `jsonb`, in which equal numbers are equal; the value itself where types agree."""
        check_path(term)
        known = term.kinds & ~k.NULL
        if not known:
            return "NULL::jsonb"
        if term.tag is not None or known in (k.LIST, k.MAP):
            return f"twinframe_key({self.render_json(term)}, {'FALSE' if traps else 'TRUE'})"
        if known & k.ENTITIES or not comparable:
            return term.value
        (kind_class,) = k.build_classes(known)
        return f"to_jsonb({self.read(term, kind_class)})"

    def render_list_key(self, term: Term) -> str:
        """Decline: no text of a list is the same for all equivalent ones."""
        raise CannotRun("Grouping or comparing lists.")

    # --- tests ----------------------------------------------------------------------------------

    def render_computed(self, tests: Sequence[str]) -> str:
        """Call a function, whose arguments are always computed."""
        return f"num_nulls({', '.join(tests)}) = 0"

    def render_equal_nested(self, left: Term, right: Term, *, wanted: bool) -> str:
        """Leave the equality of lists and maps to the evaluator."""
        if left.tag is None and right.tag is None:
            raise CannotRun("Equality of lists or maps.")
        return self.render_trap("equality of lists or maps", k.BOOLEAN)

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

    def compile_in_list(
        self, item: Term, members: Term, bindings: Bindings, *, wanted: bool
    ) -> str:
        """Compare keys with those of the elements."""
        if not members.kinds & k.LIST or item.kinds & k.ENTITIES:
            raise CannotRun("The operator IN over other values than scalars and lists.")
        array = self.read(members, k.LIST)
        if members.tag is not None:
            array = (
                f"(CASE WHEN {members.tag} = 'array' THEN {array} WHEN {members.value} IS NOT NULL"
                f" THEN {self.render_trap('the operator IN over no list')} END)"
            )
            members = Term(k.LIST | k.NULL, array, assumed=True)
        if members.elements & k.ENTITIES:
            raise CannotRun("The operator IN over a list of nodes or relationships.")
        # NOTE: a list and a value of another type simply differ; two lists need the evaluator.
        apart = "FALSE" if item.kinds & _NESTED else "TRUE"
        keys = f"SELECT twinframe_key(e.value, {apart}) FROM json_array_elements({array}) AS e"
        sought = self.render_key(item, traps=False)
        test = f"{sought} {'IN' if wanted else 'NOT IN'} ({keys})"
        if members.kinds & k.NULL:
            test = f"({array} IS NOT NULL AND {test})"
        return render_whole(test, item, members, self)

    # --- orders and aggregates ------------------------------------------------------------------

    def list_sort_keys(self, term: Term) -> Sequence[str]:
        """A key for each class: within one rank all others are NULL, or equal."""
        text = f"(CASE {term.tag} WHEN 'text' THEN {self.read(term, k.STRING)} END)"
        return (text, self.read(term, k.BOOLEAN), self.read(term, k.NUMBER))

    def build_sum(self, term: Term, carry: Carry, *, distinct: bool) -> Term:
        """Add as `numeric` if all are integers, else as floats."""
        if distinct and term.kinds & k.FLOAT:
            raise CannotRun("sum(DISTINCT) of floats.")
        word = "DISTINCT " if distinct else ""
        value = carry(self.read_as(term, k.NUMBER, "sum()"))
        whole = f"coalesce(sum({word}{value})::bigint, 0)"
        if not term.kinds & k.FLOAT:
            return Term(k.INTEGER, whole, assumed=True)
        is_float = carry(f"{term.tag} = 'real'") if term.tag is not None else "TRUE"
        floats = f"twinframe_float(sum(({value})::double precision))"
        # NOTE: `bool_or` of no row is NULL: the sum of nothing is the integer 0.
        wholes = f"FILTER (WHERE NOT ({is_float}))"
        whole = f"to_json(coalesce((sum({value}) {wholes})::bigint, 0))"
        text = f"CASE WHEN bool_or({is_float}) THEN {floats} ELSE {whole} END"
        return replace(self.build_json_term(f"({text})", k.NUMBER), assumed=True)

    def build_average(self, term: Term, carry: Carry, *, distinct: bool) -> Term:
        """Average as floats."""
        value = carry(self.read_as(term, k.NUMBER, "avg()"))
        word = "DISTINCT " if distinct else ""
        text = f"avg({word}({value})::double precision)"
        return Term(k.FLOAT | k.NULL, text, assumed=True)

    def build_extreme(self, term: Term, kind: AggregateKind, carry: Carry) -> Term:
        """Take the first value of each group in Cypher's order."""
        known = term.kinds & ~k.NULL
        down = " DESC" if kind is AggregateKind.MAX else ""
        keys = [self.read_plain(term)] if term.tag is None else []
        keys = keys or [self.render_rank(term), *self.list_sort_keys(term)]
        # NOTE: of equal values, such as 1 and 1.0, the first row has it.
        order = ", ".join([*(f"{carry(key)}{down}" for key in keys), *list_rows(term)])
        kept = f"FILTER (WHERE {carry(term.value)} IS NOT NULL)"
        value = carry(term.value if term.tag is None else self.render_json(term))
        first = f"((array_agg({value} ORDER BY {order}) {kept})[1])"
        if term.tag is None:
            return Term(known | k.NULL, first, finite=term.finite)
        return replace(
            self.build_json_term(first, known | k.NULL), finite=term.finite, assumed=True
        )

    # --- texts and sets of row ids --------------------------------------------------------------

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


def list_rows(term: Term) -> list[str]:
    """List the row id of the document whose member a term is, if it is one."""
    alias, _, column = ("" if term.member is None else term.member.document).partition(".")
    return [f"{alias}.id"] if column == "document" else []


def _render_text(text: str) -> str:
    if "\0" in text or "\1" in text:
        raise CannotRun("A name with U+0000 or U+0001.")
    return render_text(text).replace("%", "%%")


def _render_trap(message: str, kind: str) -> str:
    return f"twinframe_trap({_render_text(message)}, NULL::{kind})"


DIALECT: Final = PostgresDialect()
