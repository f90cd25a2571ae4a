"""Compiles membership in a list, which is `jsonb`, in three-valued logic."""

from __future__ import annotations

from typing import Final

from twinframe.query.engine import CannotRun
from twinframe.query.sql import Bindings, Dialect, Term, find_shared, render_whole
from twinframe.query.sql import kinds as k

_NESTED: Final = k.LIST | k.MAP
_CERTAIN: Final = "NOT e.value @? '$.** ? (@ == null)'"
"""Whether an element has no null, so that its equality is never unknown."""
_NOTHING: Final = """'{"\\u0001": []}'::jsonb"""


def compile_in_list(
    self: Dialect, item: Term, members: Term, bindings: Bindings, *, wanted: bool
) -> str:
    """`item IN members`."""
    if not members.kinds & k.LIST:
        raise CannotRun("The operator IN over a value that is no list.")
    array = members.value
    if members.tag is not None:
        trap = self.render_trap("the operator IN over no list")
        array = (
            f"(CASE WHEN {self.render_check(members, k.LIST) or 'TRUE'} THEN {members.json}"
            f" WHEN {members.value} IS NOT NULL THEN {trap} END)"
        )
        members = Term(k.LIST | k.NULL, array, assumed=True)
    if members.elements & k.ENTITIES:
        return _compile_in_entities(self, item, members, wanted=wanted)
    test = _compile_in_values(self, item, members, wanted=wanted)
    return render_whole(test, item, members, self)


def _compile_in_entities(dialect: Dialect, item: Term, members: Term, *, wanted: bool) -> str:
    """Compile membership of a node or relationship in a list of such: both are row ids."""
    if item.kinds & ~k.NULL != members.elements & ~k.NULL or item.kinds & k.PATH:
        raise CannotRun("The operator IN of other values over nodes or relationships.")
    found = f"ARRAY(SELECT (e.value #>> '{{}}')::bigint {_read(members.value)})"
    test = f"{item.value} {'= ANY' if wanted else '<> ALL'} ({found})"
    if members.kinds & k.NULL:
        test = f"({members.value} IS NOT NULL AND {test})"
    return render_whole(test, item, members, dialect)


def _read(array: str) -> str:
    return f"FROM jsonb_array_elements({array}) AS e(value)"


def _compile_in_values(dialect: Dialect, item: Term, members: Term, *, wanted: bool) -> str:
    array = members.value
    if item.kinds & k.ENTITIES:
        # NOTE: a row id is no number of the list; nothing in it is equal to this.
        key = f"CASE WHEN {item.value} IS NOT NULL THEN {_NOTHING} END"
        keys = f"ARRAY(SELECT nullif(e.value, 'null') {_read(array)})"
        test = f"{key} {'= ANY' if wanted else '<> ALL'} ({keys})"
        return f"({array} IS NOT NULL AND {test})" if members.kinds & k.NULL else test
    shared = find_shared(item, Term(members.elements, ""))
    if wanted and members.source is not None:
        # PERF: an array that does not depend on the row is made once, and an index can serve.
        if item.tag is None and shared == (k.STRING,):
            value, column = "e.value #>> '{}'", item.value
            if item.lookup is not None:
                value = f"({item.lookup.query.format(f'({value})')})"
                column = item.lookup.column
            is_text = "jsonb_typeof(e.value) = 'string'"
            return f"{column} = ANY (ARRAY(SELECT {value} {_read(array)} WHERE {is_text}))"
        # NOTE: no null is left in the array, so that of `jsonb` equals nothing.
        key = item.json or dialect.render_key(item, traps=False)
        return f"{key} = ANY (ARRAY(SELECT e.value {_read(array)} WHERE {_CERTAIN}))"
    if not item.kinds & _NESTED:
        key = dialect.render_key(item, traps=False)
        keys = f"ARRAY(SELECT nullif(e.value, 'null') {_read(array)})"
        test = f"{key} {'= ANY' if wanted else '<> ALL'} ({keys})"
        # NOTE: a list of another type than the item differs from it; one with the item's does not.
        return f"({array} IS NOT NULL AND {test})" if members.kinds & k.NULL else test
    test = f"twinframe_in({dialect.render_json(item)}, {array})"
    return test if wanted else f"(NOT {test})"
