"""Compiles arithmetic and the functions that PostgreSQL computes exactly as Cypher does.

What it computes otherwise is an error of its own or a trap; then the evaluator answers.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from twinframe.query.engine import CannotRun
from twinframe.query.sql import NULL_TERM, Term, check_droppable, check_path
from twinframe.query.sql import kinds as k
from twinframe_storage_postgres.compiler.dialect import DIALECT
from twinframe_storage_postgres.compiler.lists import (
    build_part,
    compile_concatenation,
    read_integer,
    read_list,
)
from twinframe_storage_postgres.compiler.maps import (
    compile_keys,
    compile_labels_of,
    compile_properties,
)

Compile: TypeAlias = Callable[[Sequence[Term]], Term]

_SCALAR: Final = k.NUMBER | k.STRING | k.BOOLEAN
_ONE_KIND: Final = (k.INTEGER, k.FLOAT)


# --- arithmetic ---------------------------------------------------------------------------------


def compile_arithmetic(left: Term, operator: str, right: Term) -> Term:
    """Compile `left + right` and the same for `- * / % ^`."""
    sides = (left, right)
    if k.NULL in (left.kinds, right.kinds):
        check_droppable(*sides)
        return NULL_TERM
    if operator == "^":
        a, b = (read_float(each, "the operator ^") for each in sides)
        return Term(k.FLOAT | _nullable(sides), f"power({a}, {b})", assumed=True)
    if operator == "+" and any(not each.kinds & ~(k.LIST | k.NULL) for each in sides):
        lists = [bool(each.kinds & k.LIST) for each in sides]
        if all(lists) and any(each.kinds & ~(k.LIST | k.NULL) for each in sides):
            return _call_compute(left, "+", right, k.LIST | _nullable(sides))
        return compile_concatenation(left, right)
    if operator == "+" and (left.kinds | right.kinds) & (k.STRING | k.LIST):
        return _compile_mixed(left, right)
    return _compile_numbers(left, operator, right)


def _nullable(terms: Sequence[Term]) -> int:
    return k.NULL if any(term.kinds & k.NULL for term in terms) else 0


def _compile_mixed(left: Term, right: Term) -> Term:
    """Compile `left + right` where only the values decide whether it adds or concatenates."""
    kinds = left.kinds | right.kinds
    if kinds & (k.ENTITIES | k.MAP) and any(
        each.tag is None and each.kinds & (k.ENTITIES | k.MAP) for each in (left, right)
    ):
        raise CannotRun("The operator + over values that are no strings or numbers.")
    if not kinds & ~(k.STRING | k.NULL):
        texts = [DIALECT.read_plain(each) for each in (left, right)]
        return Term(k.STRING | kinds & k.NULL, f"({texts[0]} || {texts[1]})", assumed=True)
    found = 0
    if left.kinds & k.NUMBER and right.kinds & k.NUMBER:
        found |= k.NUMBER
    if kinds & k.STRING:
        found |= k.STRING
    if kinds & k.LIST:
        found |= k.LIST
    return _call_compute(left, "+", right, found | kinds & k.NULL)


def _call_compute(left: Term, operator: str, right: Term, kinds: int) -> Term:
    sides = [DIALECT.render_json(each) for each in (left, right)]
    if sum(map(len, sides)) > DIALECT.largest_operand:
        raise CannotRun(f"The operator {operator} in so deep an expression.")
    text = f"twinframe_compute({sides[0]}, '{operator}', {sides[1]})"
    term = DIALECT.build_json_term(text, kinds)
    if DIALECT.is_plain(kinds):
        return Term(kinds, f"({DIALECT.read_plain(term)})", assumed=True)
    return replace(term, finite=True, assumed=True)


def _compile_numbers(left: Term, operator: str, right: Term) -> Term:
    for each in (left, right):
        if not each.kinds & k.NUMBER:
            raise CannotRun(f"The operator {operator} over a {k.render_kinds(each.kinds)}.")
    known = [each.kinds & ~k.NULL for each in (left, right)]
    nullable = _nullable((left, right))
    if all(each in _ONE_KIND for each in known) and (
        operator != "%" or known == [k.INTEGER, k.INTEGER]
    ):
        kind = k.INTEGER if known == [k.INTEGER, k.INTEGER] else k.FLOAT
        a, b = (_read_one_kind(each, kind) for each in (left, right))
        return Term(kind | nullable, f"({a} {operator} {b})", assumed=True)
    numbers = [each.kinds & k.NUMBER for each in (left, right)]
    if (
        operator != "%"
        and k.FLOAT in known
        and all(
            each.tag is not None or kind in _ONE_KIND
            for each, kind in zip((left, right), known, strict=True)
        )
    ):
        # PERF: a float makes all of it floats: a tenth of the time of the function.
        a, b = (_read_real(each, operator) for each in (left, right))
        return Term(k.FLOAT | nullable, f"({a} {operator} {b})", assumed=True)
    kinds = k.FLOAT if k.FLOAT in numbers else numbers[0] | numbers[1]
    return _call_compute(left, operator, right, kinds | nullable)


def _read_one_kind(term: Term, kind: int) -> str:
    value = DIALECT.read_plain(term)
    return value if term.kinds & kind else f"{value}::double precision"


def _read_real(term: Term, operator: str) -> str:
    """Render a number of either kind as a float, with the sign of a zero; a trap otherwise."""
    if term.tag is None or term.json is None:
        return _read_one_kind(term, k.FLOAT)
    check = DIALECT.render_check(term, k.NUMBER)
    if check is None:
        return f"twinframe_real({term.json})"
    trap = DIALECT.render_trap(f"the operator {operator} over another type", k.FLOAT)
    return (
        f"(CASE WHEN {check} THEN twinframe_real({term.json})"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
    )


def compile_minus(operand: Term) -> Term:
    """`-operand`."""
    known = operand.kinds & ~k.NULL
    if known in _ONE_KIND:
        return Term(operand.kinds, f"(- {DIALECT.read_plain(operand)})", assumed=True)
    zero = Term(k.INTEGER, "0", json="'0'::jsonb", tag="'integer'")
    if not known & k.NUMBER:
        raise CannotRun(f"The operator - over a {k.render_kinds(operand.kinds)}.")
    return _call_compute(zero, "-", operand, operand.kinds & (k.NUMBER | k.NULL))


# --- numbers ------------------------------------------------------------------------------------


def read_float(term: Term, reason: str) -> str:
    """Render a term that must be a number or null as `double precision`; a trap otherwise."""
    if term.tag is None and not term.kinds & ~(k.FLOAT | k.NULL):
        return term.value
    return f"({DIALECT.read_as(term, k.NUMBER, reason)})::double precision"


def _build_float(name: str, template: str) -> Compile:
    """Build a function of floats as a template over their values."""

    def compile_one(arguments: Sequence[Term]) -> Term:
        if any(term.kinds == k.NULL for term in arguments):
            check_droppable(*arguments)
            return NULL_TERM
        values = [read_float(term, f"{name}()") for term in arguments]
        if sum(map(len, values)) > DIALECT.largest_operand // 2:
            raise CannotRun(f"{name}() of so deep an expression.")
        return Term(k.FLOAT | _nullable(arguments), template.format(*values), assumed=True)

    return compile_one


def _compile_round(arguments: Sequence[Term]) -> Term:
    if len(arguments) == 1:
        return _ROUND(arguments)
    places = read_integer(arguments[1], "round()")
    factor = (
        f"(CASE WHEN {places} BETWEEN 0 AND 308 THEN power(10::double precision, {places})"
        f" WHEN {places} IS NOT NULL THEN"
        f" {DIALECT.render_trap('a precision of round()', k.FLOAT)} END)"
    )
    value = read_float(arguments[0], "round()")
    text = (
        f"(CASE WHEN abs({value}) >= 4503599627370496 THEN {value}"
        f" ELSE floor({value} * {factor} + 0.5) / {factor} END)"
    )
    return Term(k.FLOAT | _nullable(arguments), text, assumed=True)


_ROUND: Final = _build_float(
    "round", "(CASE WHEN abs({0}) >= 4503599627370496 THEN {0} ELSE floor({0} + 0.5) END)"
)


def _compile_abs(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if term.kinds & ~k.NULL in _ONE_KIND:
        return Term(term.kinds, f"abs({DIALECT.read_plain(term)})", assumed=True)
    number = DIALECT.read_as(term, k.NUMBER, "abs()")
    found = DIALECT.build_json_term(f"to_jsonb(abs({number}))", term.kinds & (k.NUMBER | k.NULL))
    return replace(found, finite=True, assumed=True)


def _compile_sign(arguments: Sequence[Term]) -> Term:
    number = DIALECT.read_as(arguments[0], k.NUMBER, "sign()")
    return Term(
        k.INTEGER | arguments[0].kinds & k.NULL, f"sign({number}::numeric)::bigint", assumed=True
    )


# --- strings ------------------------------------------------------------------------------------


def _build_text(name: str, template: str, counts: int = 0) -> Compile:
    """Build a function of strings, of which the last `counts` arguments are numbers."""

    def compile_one(arguments: Sequence[Term]) -> Term:
        if any(term.kinds == k.NULL for term in arguments):
            check_droppable(*arguments)
            return NULL_TERM
        reason = f"{name}()"
        texts = len(arguments) - counts
        values = [DIALECT.read_as(each, k.STRING, reason) for each in arguments[:texts]]
        values += [f"twinframe_count({read_integer(each, reason)})" for each in arguments[texts:]]
        return Term(k.STRING | _nullable(arguments), template.format(*values), assumed=True)

    return compile_one


_ASCII: Final = (
    "(CASE WHEN octet_length({{0}}) = length({{0}}) THEN {}({{0}}) WHEN {{0}} IS NOT NULL THEN "
    + DIALECT.render_trap("letters beyond ASCII", k.STRING)
    + " END)"
)
"""PERF: PostgreSQL calls a function of SQL for each row where its argument may be a trap."""


def _compile_substring(arguments: Sequence[Term]) -> Term:
    template = "substring({0} from {1} + 1 for {2})"
    if len(arguments) == 2:
        template = "substring({0} from {1} + 1)"
    return _build_text("substring", template, len(arguments) - 1)(arguments)


def _compile_split(arguments: Sequence[Term]) -> Term:
    found = _build_text("split", "twinframe_split({0}, {1})")(arguments)
    if found.kinds == k.NULL:
        return found
    return replace(found, kinds=k.LIST | found.kinds & k.NULL, elements=k.STRING)


# --- conversions --------------------------------------------------------------------------------


def _build_conversion(name: str, kind: int, function: str) -> Compile:
    def compile_one(arguments: Sequence[Term]) -> Term:
        term = arguments[0]
        if not term.kinds & _SCALAR or (term.tag is None and term.kinds & ~(_SCALAR | k.NULL)):
            raise CannotRun(f"{name}() of a {k.render_kinds(term.kinds)}.")
        text = f"{function}({DIALECT.render_json(term)})"
        nullable = k.NULL if kind != k.STRING or term.kinds & k.NULL else 0
        return Term(kind | nullable, text, finite=True, assumed=True)

    return compile_one


def _compile_to_string(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    match term.kinds & ~k.NULL:
        case k.STRING:
            return term
        case k.INTEGER:
            return Term(
                k.STRING | term.kinds & k.NULL, f"({DIALECT.read_plain(term)})::text", assumed=True
            )
        case _:
            return _TO_STRING(arguments)


_TO_STRING: Final = _build_conversion("toString", k.STRING, "twinframe_text")


# --- lists, maps, paths -------------------------------------------------------------------------


def _compile_size(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    nullable = term.kinds & k.NULL
    known = term.kinds & ~k.NULL
    if not known:
        return NULL_TERM
    if known == k.LIST:
        value = f"jsonb_array_length({read_list(term, 'size()')})"
        return Term(k.INTEGER | nullable, value, assumed=term.assumed)
    if known == k.STRING:
        return Term(k.INTEGER | nullable, f"length({DIALECT.read_plain(term)})", assumed=True)
    if known & k.ENTITIES or term.holds_entities or not known & (k.LIST | k.MAP | k.STRING):
        raise CannotRun(f"size() of a {k.render_kinds(known)}.")
    value = f"twinframe_size({DIALECT.render_json(term)})"
    return Term(k.INTEGER | nullable, value, assumed=True)


def _compile_is_empty(arguments: Sequence[Term]) -> Term:
    size = _compile_size(arguments)
    if size.kinds == k.NULL:
        return size
    return replace(size, kinds=k.BOOLEAN | size.kinds & k.NULL, value=f"({size.value} = 0)")


def _compile_reverse(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if term.kinds == k.NULL:
        return NULL_TERM
    if not term.kinds & ~(k.STRING | k.NULL):
        return Term(term.kinds, f"reverse({DIALECT.read_plain(term)})", assumed=True)
    if term.kinds & k.STRING:
        text = f"twinframe_reverse_any({DIALECT.render_json(term)})"
        kinds = term.kinds & (k.STRING | k.LIST | k.NULL)
        return replace(DIALECT.build_json_term(text, kinds), assumed=True)
    return build_part(term, f"twinframe_reverse({read_list(term, 'reverse()')})")


def _compile_tail(arguments: Sequence[Term]) -> Term:
    term = arguments[0]
    if term.kinds == k.NULL:
        return NULL_TERM
    return build_part(term, f"({read_list(term, 'tail()')} - 0)")


def _compile_range(arguments: Sequence[Term]) -> Term:
    step = arguments[2] if len(arguments) > 2 else Term(k.INTEGER, "1")
    terms = (arguments[0], arguments[1], step)
    if any(not term.kinds & k.INTEGER for term in terms):
        raise CannotRun("range() of something that is no integer.")
    numbers = ", ".join(read_integer(term, "range()") for term in terms)
    value = f"twinframe_range({numbers})"
    return Term(k.LIST | _nullable(terms), value, elements=k.INTEGER, assumed=True)


def _build_parts(name: str, first: int, kind: int) -> Compile:
    """Build `nodes(path)` and `relationships(path)`: every other part, from the `first`."""

    def compile_parts(arguments: Sequence[Term]) -> Term:
        term = arguments[0]
        if term.kinds & ~k.NULL != k.PATH:
            raise CannotRun(f"{name}() of a value that may be no path.")
        check_path(term)
        value = (
            "(SELECT coalesce(jsonb_agg(e.value ORDER BY e.n), '[]') FROM"
            f" jsonb_array_elements({term.value}) WITH ORDINALITY AS e(value, n)"
            f" WHERE e.n % 2 = {first})"
        )
        if term.kinds & k.NULL:
            value = f"CASE WHEN {term.value} IS NOT NULL THEN {value} END"
        return Term(k.LIST | term.kinds & k.NULL, value, elements=kind)

    return compile_parts


FUNCTIONS: Final[Mapping[str, Compile]] = {
    "abs": _compile_abs,
    "sign": _compile_sign,
    "ceil": _build_float("ceil", "ceil({0})"),
    "floor": _build_float("floor", "floor({0})"),
    "round": _compile_round,
    "sqrt": _build_float("sqrt", "sqrt({0})"),
    "exp": _build_float("exp", "exp({0})"),
    "log": _build_float("log", "ln({0})"),
    "log10": _build_float("log10", "log({0})"),
    **{
        name: _build_float(name, f"{name}({{0}})")
        for name in ("sin", "cos", "tan", "cot", "asin", "acos", "atan", "degrees", "radians")
    },
    "atan2": _build_float("atan2", "atan2({0}, {1})"),
    "haversin": _build_float("haversin", "((1 - cos({0})) / 2)"),
    "toUpper": _build_text("toUpper", _ASCII.format("upper")),
    "toLower": _build_text("toLower", _ASCII.format("lower")),
    "trim": _build_text("trim", "twinframe_strip({0})"),
    "lTrim": _build_text("lTrim", "twinframe_strip_left({0})"),
    "rTrim": _build_text("rTrim", "twinframe_strip_right({0})"),
    "substring": _compile_substring,
    "left": _build_text("left", "left({0}, {1})", 1),
    "right": _build_text("right", "right({0}, {1})", 1),
    "replace": _build_text("replace", "replace({0}, {1}, {2})"),
    "split": _compile_split,
    "toString": _compile_to_string,
    "toInteger": _build_conversion("toInteger", k.INTEGER, "twinframe_to_integer"),
    "toFloat": _build_conversion("toFloat", k.FLOAT, "twinframe_to_float"),
    "toBoolean": _build_conversion("toBoolean", k.BOOLEAN, "twinframe_to_boolean"),
    "size": _compile_size,
    "isEmpty": _compile_is_empty,
    "reverse": _compile_reverse,
    "tail": _compile_tail,
    "range": _compile_range,
    "keys": compile_keys,
    "labels": compile_labels_of,
    "properties": compile_properties,
    "nodes": _build_parts("nodes", 1, k.NODE),
    "relationships": _build_parts("relationships", 0, k.RELATIONSHIP),
}
"""NOTE: an error of PostgreSQL, such as the logarithm of 0, is where Cypher gives NaN or an
infinity.
"""
