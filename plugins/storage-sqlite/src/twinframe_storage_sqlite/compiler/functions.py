"""Compiles the functions that SQLite computes exactly; for all others it raises `CannotRun`."""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from twinframe.query.algebra import FunctionCall, Literal, Parameter, Property, Subscript, Variable
from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.arithmetic import read_as
from twinframe_storage_sqlite.compiler.bindings import Bindings
from twinframe_storage_sqlite.compiler.choices import build_first
from twinframe_storage_sqlite.compiler.comparison import compile_in
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.labels import compile_is_of_model
from twinframe_storage_sqlite.compiler.lists import (
    compile_head,
    compile_last,
    compile_range,
    compile_reversed,
    compile_tail,
)
from twinframe_storage_sqlite.compiler.maps import (
    compile_keys,
    compile_labels_of,
    compile_properties,
)
from twinframe_storage_sqlite.compiler.scalars import SCALARS
from twinframe_storage_sqlite.compiler.term import (
    NULL_TERM,
    Term,
    check_path,
    read_table,
    render_check,
    render_forced,
)

TESTS = frozenset(
    {
        "digitaltwins.is_of_model",
        "array_contains",
        "exists",
        "is_bool",
        "is_defined",
        "is_null",
        "is_number",
        "is_object",
        "is_primitive",
        "is_string",
    }
)
"""Functions whose result is a truth value."""

_HARMLESS = (Literal, Parameter, Property, Subscript, Variable)

_TYPE_TESTS = {
    "is_bool": (k.BOOLEAN,),
    "is_number": (k.NUMBER,),
    "is_object": (k.MAP,),
    "is_string": (k.STRING,),
    "is_primitive": (k.BOOLEAN, k.NUMBER, k.STRING),
}


def compile_test(
    call: FunctionCall, arguments: Sequence[Term], bindings: Bindings, *, wanted: bool
) -> str:
    """One of `TESTS`: SQL that is 1 exactly when the answer is `wanted`."""
    if call.name == "digitaltwins.is_of_model":
        return _compile_is_of_model(call, arguments, bindings, wanted=wanted)
    if call.name == "array_contains":
        return _compile_array_contains(arguments[0], arguments[1], bindings, wanted=wanted)
    test = _compile_certain(call, arguments[0])
    return test if wanted else f"NOT coalesce({test}, 0)"


def _compile_certain(call: FunctionCall, term: Term) -> str:
    """Compile a test that is never null to SQL: 1, or 0 or NULL for false."""
    if not isinstance(call.arguments[0], _HARMLESS):
        # NOTE: a test decided by the kind alone would hide the argument's own errors.
        raise CannotRun(f"{call.name}() of a computed value.")
    # NOTE: only a member can be present and null; its tag distinguishes that.
    is_member = isinstance(call.arguments[0], Property | Subscript) and term.tag is not None
    match call.name:
        case "exists":
            return f"{term.value} IS NOT NULL"
        case "is_defined":
            return f"{term.tag if is_member else term.value} IS NOT NULL"
        case "is_null" if is_member:
            return f"{term.tag} = 'null'"
        case "is_null":
            return render_forced("0", term)
        case name:
            test = f"({_render_type_test(term, _TYPE_TESTS[name])})"
            if name == "is_primitive" and is_member:
                return f"({test} OR {term.tag} = 'null')"
            return test


def _render_type_test(term: Term, classes: tuple[int, ...]) -> str:
    known = [each for each in classes if term.kinds & each]
    if not known:
        return render_forced("0", term)
    parts = []
    for each in known:
        check = render_check(term, each)
        parts.append(f"{term.value} IS NOT NULL" if check is None else check)
    return " OR ".join(parts)


def _compile_array_contains(items: Term, item: Term, bindings: Bindings, *, wanted: bool) -> str:
    if items.tag is not None:
        # NOTE: false for anything but a list; `json_each` of NULL has no rows.
        array = f"CASE WHEN {items.tag} = 'array' THEN {items.value} END"
        items = Term(k.LIST | k.NULL, array)
    test = compile_in(item, items, bindings, wanted=True)
    return test if wanted else f"NOT coalesce({test}, 0)"


def _compile_is_of_model(
    call: FunctionCall, arguments: Sequence[Term], bindings: Bindings, *, wanted: bool
) -> str:
    subject, model = arguments[0], arguments[1]
    if subject.kinds & ~k.NULL != k.NODE or model.source is None or model.kinds != k.STRING:
        raise CannotRun("is_of_model() of anything but a twin and a given model id.")
    exact = False
    if len(call.arguments) > 2:
        flag = call.arguments[2]
        if not isinstance(flag, Literal) or not isinstance(flag.value, bool | str):
            raise CannotRun("is_of_model() with an exactness that is not given in the text.")
        exact = flag.value is True or flag.value == "exact"
    return compile_is_of_model(subject, model.source, bindings, exact=exact, wanted=wanted)


# --- values -------------------------------------------------------------------------------------


def compile_call(name: str, arguments: Sequence[Term]) -> Term:
    """Compile a function that is not one of `TESTS`."""
    compile_one = _FUNCTIONS.get(name)
    if compile_one is None:
        raise CannotRun(f"The function {name}().")
    return compile_one(arguments)


def _compile_size(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    nullable = term.kinds & k.NULL
    if term.kinds == k.NULL:
        return NULL_TERM
    if not term.kinds & ~(k.LIST | k.NULL):
        value = f"json_array_length({term.value})"
        return Term(k.INTEGER | nullable, value, assumed=term.assumed)
    if not term.kinds & ~(k.MAP | k.NULL):
        count = f"(SELECT count(*) FROM json_each({term.value}))"
        if nullable:
            count = f"CASE WHEN {term.value} IS NOT NULL THEN {count} END"
        return Term(k.INTEGER | nullable, count, assumed=term.assumed)
    if term.tag is not None and term.kinds & k.LIST:
        array = f"CASE WHEN {term.tag} = 'array' THEN json_array_length({term.value})"
        other = _compile_size([Term(k.JSON & ~k.LIST, term.value, tag=term.tag)])
        return replace(other, value=f"({array} ELSE {other.value} END)")
    value = read_as(term, k.STRING, "size()")
    # NOTE: `length` of a text ends at a NUL character.
    trap = render_trap("size of a string with NUL characters")
    nul = f"instr(CAST({value} AS BLOB), x'00')"
    text = f"(CASE WHEN {nul} THEN {trap} ELSE length({value}) END)"
    return Term(k.INTEGER | nullable, text, assumed=True)


def _compile_type(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if term.kinds & ~k.NULL != k.RELATIONSHIP:
        raise CannotRun("type() of a value that may be no relationship.")
    return Term(k.STRING | term.kinds & k.NULL, f"{read_table(term)}.name")


def _compile_id(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if term.kinds & ~k.NULL != k.NODE:
        raise CannotRun("id() of a value that may be no node.")
    return Term(k.STRING | term.kinds & k.NULL, f"{read_table(term)}.dt_id")


def _compile_end(column: str) -> Callable[[Sequence[Term]], Term]:
    def compile_end(arguments: Sequence[Term]) -> Term:
        term = arguments[0]
        if term.kinds != k.RELATIONSHIP:
            raise CannotRun("startNode() or endNode() of a value that may be no relationship.")
        return Term(k.NODE, f"{read_table(term)}.{column}", owner=term.owner)

    return compile_end


def _compile_length(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if term.kinds & ~k.NULL != k.PATH:
        raise CannotRun("length() of a value that may be no path.")
    value = f"(json_array_length({term.value}) / 2)" if term.elements else term.value
    return Term(k.INTEGER | term.kinds & k.NULL, value)


def _build_parts(name: str, first: int, kind: int) -> Callable[[Sequence[Term]], Term]:
    """Build `nodes(path)` and `relationships(path)`: every other part, from the `first`."""

    def compile_parts(arguments: Sequence[Term]) -> Term:
        term = arguments[0]
        if term.kinds & ~k.NULL != k.PATH:
            raise CannotRun(f"{name}() of a value that may be no path.")
        check_path(term)
        parts = (
            "(SELECT json_group_array(e.value ORDER BY e.key)"
            f" FROM json_each({term.value}) AS e WHERE e.key % 2 = {first})"
        )
        if term.kinds & k.NULL:
            parts = f"CASE WHEN {term.value} IS NOT NULL THEN {parts} END"
        return Term(k.LIST | term.kinds & k.NULL, parts, elements=kind)

    return compile_parts


def _compile_reverse(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if term.kinds & k.STRING and term.tag is None:
        raise CannotRun("reverse() of a string.")
    return NULL_TERM if term.kinds == k.NULL else compile_reversed(term)


def _compile_is_empty(arguments: Sequence[Term]) -> Term:
    size = _compile_size(arguments)
    return replace(size, kinds=k.BOOLEAN | size.kinds & k.NULL, value=f"({size.value} = 0)")


_FUNCTIONS: Mapping[str, Callable[[Sequence[Term]], Term]] = {
    **SCALARS,
    "head": compile_head,
    "isEmpty": _compile_is_empty,
    "keys": compile_keys,
    "labels": compile_labels_of,
    "last": compile_last,
    "length": _compile_length,
    "nodes": _build_parts("nodes", 0, k.NODE),
    "properties": compile_properties,
    "range": compile_range,
    "relationships": _build_parts("relationships", 1, k.RELATIONSHIP),
    "reverse": _compile_reverse,
    "tail": compile_tail,
    "coalesce": build_first,
    "size": _compile_size,
    "type": _compile_type,
    "id": _compile_id,
    "elementId": _compile_id,
    "startNode": _compile_end("source"),
    "endNode": _compile_end("target"),
}
