"""Compiles the functions of entities and types; a dialect compiles the others that it has."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe.query import algebra
from twinframe.query.algebra import FunctionCall, Literal, Parameter, Property, Subscript, Variable
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.choices import build_first
from twinframe.query.sql.comparison import compile_in
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.extensions import Extensions
from twinframe.query.sql.labels import compile_is_of_model
from twinframe.query.sql.select import Statement
from twinframe.query.sql.term import Term, read_table

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

PRESENCES = frozenset({"is_defined", "is_null", "is_primitive"})
"""Those of them that distinguish a missing member from a null one."""

_HARMLESS = (Literal, Parameter, Property, Subscript, Variable)

_TYPE_TESTS = {
    "is_bool": (k.BOOLEAN,),
    "is_number": (k.NUMBER,),
    "is_object": (k.MAP,),
    "is_string": (k.STRING,),
    "is_primitive": (k.BOOLEAN, k.NUMBER, k.STRING),
}


def compile_test(
    call: FunctionCall, arguments: Sequence[Term], statement: Statement, *, wanted: bool
) -> str:
    """One of `TESTS`: SQL that is 1 exactly when the answer is `wanted`."""
    if call.name == "digitaltwins.is_of_model":
        return _compile_is_of_model(call, arguments, statement, wanted=wanted)
    if call.name == "array_contains":
        return _compile_array_contains(arguments[0], arguments[1], statement, wanted=wanted)
    test = _compile_certain(call, arguments[0], statement.dialect)
    return test if wanted else f"NOT coalesce({test}, {statement.dialect.no})"


def _compile_certain(call: FunctionCall, term: Term, dialect: Dialect) -> str:
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
            return dialect.render_forced(dialect.no, term)
        case name:
            test = f"({_render_type_test(term, _TYPE_TESTS[name], dialect)})"
            if name == "is_primitive" and is_member:
                return f"({test} OR {term.tag} = 'null')"
            return test


def _render_type_test(term: Term, classes: tuple[int, ...], dialect: Dialect) -> str:
    known = [each for each in classes if term.kinds & each]
    if not known:
        return dialect.render_forced(dialect.no, term)
    parts = []
    for each in known:
        check = dialect.render_check(term, each)
        parts.append(f"{term.value} IS NOT NULL" if check is None else check)
    return " OR ".join(parts)


def _compile_array_contains(items: Term, item: Term, statement: Statement, *, wanted: bool) -> str:
    dialect = statement.dialect
    if items.tag is not None:
        # NOTE: false for anything but a list; NULL has no elements.
        array = f"CASE WHEN {items.tag} = 'array' THEN {dialect.read(items, k.LIST)} END"
        items = Term(k.LIST | k.NULL, array)
    test = compile_in(item, items, statement, wanted=True)
    return test if wanted else f"NOT coalesce({test}, {dialect.no})"


def _compile_is_of_model(
    call: FunctionCall, arguments: Sequence[Term], statement: Statement, *, wanted: bool
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
    return compile_is_of_model(subject, model.source, statement, exact=exact, wanted=wanted)


# --- values -------------------------------------------------------------------------------------


def compile_call(name: str, arguments: Sequence[Term], extensions: Extensions) -> Term:
    """Compile a function that is not one of `TESTS`."""
    match name:
        case "coalesce":
            return build_first(arguments, extensions.dialect)
        case "id" | "elementId":
            return _compile_id(arguments[0])
        case "type":
            return _compile_type(arguments[0])
        case "startNode" | "endNode":
            return _compile_end(arguments[0], "source" if name == "startNode" else "target")
        case "length":
            return _compile_length(arguments[0], extensions)
        case algebra.MAP_PROJECTION:
            subject, entries, *own = arguments
            return extensions.compile_projection(subject, entries, own[0] if own else None)
        case _:
            return extensions.compile_call(name, arguments)


def _compile_type(term: Term) -> Term:
    if term.kinds & ~k.NULL != k.RELATIONSHIP:
        raise CannotRun("type() of a value that may be no relationship.")
    return Term(k.STRING | term.kinds & k.NULL, f"{read_table(term)}.name")


def _compile_id(term: Term) -> Term:
    if term.kinds & ~k.NULL != k.NODE:
        raise CannotRun("id() of a value that may be no node.")
    return Term(k.STRING | term.kinds & k.NULL, f"{read_table(term)}.dt_id")


def _compile_end(term: Term, column: str) -> Term:
    if term.kinds != k.RELATIONSHIP:
        raise CannotRun("startNode() or endNode() of a value that may be no relationship.")
    return Term(k.NODE, f"{read_table(term)}.{column}", owner=term.owner)


def _compile_length(term: Term, extensions: Extensions) -> Term:
    if term.kinds & ~k.NULL != k.PATH:
        raise CannotRun("length() of a value that may be no path.")
    value = extensions.render_length(term.value) if term.elements else term.value
    return Term(k.INTEGER | term.kinds & k.NULL, value)
