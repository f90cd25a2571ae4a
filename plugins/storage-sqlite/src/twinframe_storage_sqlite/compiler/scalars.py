"""Compiles the functions of numbers and strings that SQLite computes exactly as Cypher does.

Where only some values agree, the others are traps (NUL characters for positions, text for
conversions to numbers) or go to a function of the connection (text beyond ASCII).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from twinframe.query.engine import CannotRun
from twinframe.query.sql import NULL_TERM, Term, check_droppable
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.elements import read_integer
from twinframe_storage_sqlite.compiler.guards import render_retreat, render_trap
from twinframe_storage_sqlite.compiler.json_terms import read_as
from twinframe_storage_sqlite.compiler.lets import build_let
from twinframe_storage_sqlite.compiler.strings import render_long
from twinframe_storage_sqlite.scalar_functions import MATHEMATICAL, render_call

Compile = Callable[[Sequence[Term]], Term]

_BLANKS = "char(9,10,11,12,13,28,29,30,31,32)"
"""The ASCII characters that Python's `strip` removes."""


# --- numbers ------------------------------------------------------------------------------------


def _build_number(name: str, kinds: int | None, template: str) -> Compile:
    """Build a function of one number as a template over its native value; `kinds` None: the
    operand's.
    """

    def compile_one(arguments: Sequence[Term]) -> Term:
        term = arguments[0]
        if term.kinds == k.NULL:
            return NULL_TERM
        let = build_let(read_as(term, k.NUMBER, f"{name}()"))
        value = let.wrap(template.format(let.names[0]))
        own = term.kinds & k.NUMBER if kinds is None else kinds
        return Term(own | term.kinds & k.NULL, value, assumed=True)

    return compile_one


# NOTE: `+ 0.0` turns a negative zero into the positive one that Python's integers give.
_ROUND = (
    "CASE WHEN abs({0}) >= 4503599627370496.0 THEN CAST({0} AS REAL)"
    " ELSE floor({0} + 0.5) + 0.0 END"
)
_round = _build_number("round", k.FLOAT, _ROUND)


def _compile_round(arguments: Sequence[Term]) -> Term:
    if len(arguments) == 1:
        return _round(arguments)
    return _compile_numbers("round()", "round", arguments, read_integer(arguments[1], "round()"))


def compile_power(left: Term, right: Term) -> Term:
    """`left ^ right`, always a float."""
    exponent = read_as(right, k.NUMBER, "the operator ^")
    return _compile_numbers("the operator ^", "power", (left, right), exponent)


def _compile_numbers(reason: str, name: str, arguments: Sequence[Term], second: str) -> Term:
    """Compile a function of the connection of a number and `second`."""
    if any(term.kinds == k.NULL for term in arguments):
        check_droppable(*arguments)
        return NULL_TERM
    let = build_let(read_as(arguments[0], k.NUMBER, reason), second)
    a, b = let.names
    # NOTE: a sum, because OR would not compute one side where the other one is null.
    value = f"CASE WHEN ({a} IS NULL) + ({b} IS NULL) = 0 THEN {render_call(name, a, b)} END"
    nullable = (arguments[0].kinds | arguments[1].kinds) & k.NULL
    return Term(k.FLOAT | nullable, let.wrap(value), assumed=True)


def _build_call(name: str) -> Compile:
    """Build a function of the connection of one number."""
    call = render_call(name, "{0}")
    return _build_number(name, k.FLOAT, f"CASE WHEN {{0}} IS NOT NULL THEN {call} END")


def _compile_split(arguments: Sequence[Term]) -> Term:
    if any(term.kinds == k.NULL for term in arguments):
        check_droppable(*arguments)
        return NULL_TERM
    let = build_let(*(read_as(each, k.STRING, "split()") for each in arguments))
    text, mark = let.names
    call = render_call("split", text, mark)
    value = f"CASE WHEN ({text} IS NULL) + ({mark} IS NULL) = 0 THEN {call} END"
    nullable = (arguments[0].kinds | arguments[1].kinds) & k.NULL
    return Term(k.LIST | nullable, let.wrap(value), elements=k.STRING, assumed=True)


_NEGATIVE = render_trap("a root of a negative number").replace("{}", "{{}}")


# --- strings ------------------------------------------------------------------------------------


def _build_plain(name: str, template: str) -> Compile:
    """Build a function of one string that SQLite computes for ASCII, and the connection else."""

    def compile_one(arguments: Sequence[Term]) -> Term:
        term = arguments[0]
        if term.kinds == k.NULL:
            return NULL_TERM
        let = build_let(read_as(term, k.STRING, f"{name}()"))
        text = let.names[0]
        # NOTE: `length` counts characters up to a NUL, `octet_length` all bytes.
        value = let.wrap(
            f"CASE WHEN length({text}) = octet_length({text}) THEN {template.format(text)}"
            f" WHEN {text} IS NOT NULL THEN {render_call(name, text)} END"
        )
        return Term(k.STRING | term.kinds & k.NULL, value, assumed=True)

    return compile_one


def _build_part(name: str, template: str) -> Compile:
    """Build a function of a string and numbers of characters, {0} and {1}, {2}."""

    def compile_one(arguments: Sequence[Term]) -> Term:
        if any(term.kinds == k.NULL for term in arguments):
            check_droppable(*arguments)
            return NULL_TERM
        reason = f"{name}()"
        counts = [read_integer(each, reason) for each in arguments[1:]]
        if len(counts) < 2:
            counts.append("9223372036854775807")
        let = build_let(read_as(arguments[0], k.STRING, reason), *counts)
        text, *numbers = let.names
        # NOTE: `substr` of a text ends at a NUL character; positions beyond 2^31 wrap.
        usable = f"instr(CAST({text} AS BLOB), x'00') = 0 AND min({', '.join(numbers)}) >= 0"
        trap = render_trap(f"{name}() of a string with NUL characters, or a negative count")
        absent = " OR ".join(f"{one} IS NULL" for one in (text, *numbers))
        clipped = [f"min({one}, 1000000000)" for one in numbers]
        value = let.wrap(
            f"CASE WHEN {absent} THEN NULL WHEN {usable}"
            f" THEN {template.format(text, *clipped)} ELSE {trap} END"
        )
        nullable = 0
        for term in arguments:
            nullable |= term.kinds & k.NULL
        return Term(k.STRING | nullable, value, assumed=True)

    return compile_one


def _compile_replace(arguments: Sequence[Term]) -> Term:
    if any(term.kinds == k.NULL for term in arguments):
        check_droppable(*arguments)
        return NULL_TERM
    let = build_let(*(read_as(each, k.STRING, "replace()") for each in arguments))
    text, search, new = let.names
    # NOTE: SQLite treats a search text that starts with NUL as an empty one, for which it returns
    # the text whatever the replacement is.
    nul = f"instr(CAST({search} AS BLOB), x'00')"
    trap = render_trap("replace() of NUL characters")
    value = let.wrap(
        f"CASE WHEN {new} IS NULL THEN NULL WHEN {nul} THEN {trap} WHEN {render_long(search)} "
        f"THEN {render_retreat('replace() of a long string')} "
        f"ELSE replace({text}, {search}, {new}) END"
    )
    nullable = (arguments[0].kinds | arguments[1].kinds | arguments[2].kinds) & k.NULL
    return Term(k.STRING | nullable, value, assumed=True)


# --- conversions --------------------------------------------------------------------------------


def _render_kind(term: Term, value: str) -> str:
    """The JSON type name of a scalar."""
    if term.tag is not None:
        return term.tag
    if not term.kinds & ~(k.BOOLEAN | k.NULL):
        return f"CASE {value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    return f"typeof({value})"


def _read_scalar(term: Term, name: str) -> None:
    if not term.kinds & ~k.NULL & (k.BOOLEAN | k.NUMBER | k.STRING):
        raise CannotRun(f"{name}() of a {k.render_kinds(term.kinds)}.")


def _build_conversion(name: str, kinds: int, arms: Mapping[str, str]) -> Compile:
    """Build a conversion: for each JSON type a template over the kind {0}, the value {1} and a trap
    {2}.

    Other types are a trap.
    """

    def compile_one(arguments: Sequence[Term]) -> Term:
        term = arguments[0]
        if term.kinds == k.NULL:
            return NULL_TERM
        _read_scalar(term, name)
        let = build_let(_render_kind(term, term.value), term.value)
        kind, value = let.names
        trap = render_trap(f"{name}() of such a value")
        whens = "".join(
            f" WHEN '{each}' THEN {arm.format(kind, value, trap)}" for each, arm in arms.items()
        )
        text = f"CASE {kind}{whens} ELSE CASE WHEN {value} IS NOT NULL THEN {trap} END END"
        # NOTE: a text that is no number has none.
        nullable = k.NULL if term.kinds & k.STRING and kinds != k.STRING else term.kinds & k.NULL
        return Term(kinds | nullable, let.wrap(text), finite=True, assumed=True)

    return compile_one


# NOTE: GLOB and CAST end at a NUL character, as `length` does.
_DIGITS = (
    "{1} <> '' AND {1} NOT GLOB '*[^0-9]*' AND octet_length({1}) < 19"
    " AND length({1}) = octet_length({1})"
)
_TO_STRING = {
    "text": "{1}",
    "real": render_call("toString", "{1}"),
    "integer": "CAST({1} AS TEXT)",
    "true": "'true'",
    "false": "'false'",
}
_TO_INTEGER = {
    "integer": "{1}",
    "real": "CASE WHEN abs({1}) < 9e18 THEN CAST({1} AS INTEGER) ELSE {2} END",
    "text": (
        f"CASE WHEN {_DIGITS} THEN CAST({{1}} AS INTEGER)"
        f" ELSE {render_call('toInteger', '{1}')} END"
    ),
    "true": "1",
    "false": "0",
}
_TO_FLOAT = {
    "integer": "CAST({1} AS REAL)",
    "real": "{1}",
    "text": (
        f"CASE WHEN {_DIGITS} AND octet_length({{1}}) < 16 THEN CAST({{1}} AS REAL)"
        f" ELSE {render_call('toFloat', '{1}')} END"
    ),
}

SCALARS: Mapping[str, Compile] = {
    **{name: _build_call(name) for name in MATHEMATICAL},
    "abs": _build_number("abs", None, "abs({0})"),
    "sign": _build_number("sign", k.INTEGER, "sign({0})"),
    "ceil": _build_number("ceil", k.FLOAT, "ceil(CAST({0} AS REAL)) + 0.0"),
    "floor": _build_number("floor", k.FLOAT, "floor(CAST({0} AS REAL)) + 0.0"),
    "round": _compile_round,
    "sqrt": _build_number(
        "sqrt",
        k.FLOAT,
        f"CASE WHEN {{0}} >= 0 THEN sqrt({{0}}) WHEN {{0}} < 0 THEN {_NEGATIVE} END",
    ),
    "toUpper": _build_plain("toUpper", "upper({0})"),
    "toLower": _build_plain("toLower", "lower({0})"),
    "trim": _build_plain("trim", f"trim({{0}}, {_BLANKS})"),
    "lTrim": _build_plain("lTrim", f"ltrim({{0}}, {_BLANKS})"),
    "rTrim": _build_plain("rTrim", f"rtrim({{0}}, {_BLANKS})"),
    "substring": _build_part("substring", "substr({0}, {1} + 1, {2})"),
    "left": _build_part("left", "substr({0}, 1, {1})"),
    "right": _build_part("right", "substr({0}, max(length({0}) - {1}, 0) + 1)"),
    "replace": _compile_replace,
    "split": _compile_split,
    "toString": _build_conversion("toString", k.STRING, _TO_STRING),
    "toInteger": _build_conversion("toInteger", k.INTEGER, _TO_INTEGER),
    "toFloat": _build_conversion("toFloat", k.FLOAT, _TO_FLOAT),
}
