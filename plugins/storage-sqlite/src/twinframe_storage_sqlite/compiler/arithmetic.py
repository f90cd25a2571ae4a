"""Compiles arithmetic over 64-bit integers and floats, and concatenation of strings.

SQLite turns an overflowing integer into a float, and an undefined result into NULL; here both are
traps, so that the evaluator answers.
"""

from __future__ import annotations

from twinframe.query.engine import CannotRun
from twinframe.query.sql import Term, check_droppable, has_trap, may_fail
from twinframe.query.sql import kinds as k
from twinframe_storage_sqlite.compiler.dialect import DIALECT
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.json_terms import NATIVE, read_as
from twinframe_storage_sqlite.compiler.lets import build_let
from twinframe_storage_sqlite.compiler.lists import compile_concatenation
from twinframe_storage_sqlite.compiler.scalars import compile_power
from twinframe_storage_sqlite.scalar_functions import render_call

_LONG_OPERANDS = 400
"""The number of characters of SQL above which operands are computed once and named."""


def compile_arithmetic(left: Term, operator: str, right: Term) -> Term:
    """Compile `left + right` and the same for `- * / % ^`."""
    if operator == "^":
        return compile_power(left, right)
    if operator == "+" and (_is_list(left) or _is_list(right)):
        return compile_concatenation(left, right)
    if operator == "+" and (left.kinds | right.kinds) & k.STRING:
        return _compile_add(left, right)
    return _compile_numbers(left, operator, right)


def _compile_add(left: Term, right: Term) -> Term:
    if any(not each.kinds & ~(k.STRING | k.NULL) for each in (left, right)):
        return _compile_concatenation(left, right)
    return _compile_mixed(left, right)


def _is_list(term: Term) -> bool:
    return bool(term.kinds & k.LIST) and not term.kinds & ~(k.LIST | k.NULL)


def _compile_mixed(left: Term, right: Term) -> Term:
    """Compile `left + right` where only the values decide whether it adds or concatenates."""
    sides = (left, right)
    if any(each.tag is None and each.kinds & (k.ENTITIES | k.MAP) for each in sides):
        raise CannotRun("The operator + over values that are no strings or numbers.")
    a, b = left.value, right.value
    if len(a) + len(b) > DIALECT.largest_operand:
        raise CannotRun("The operator + in so deep an expression.")
    adds = " AND ".join(_render_is(each, k.NUMBER) for each in sides)
    joins = " OR ".join(_render_is(each, k.STRING) for each in sides)
    arrays = " AND ".join(f"{each.tag} <> 'array'" for each in sides if each.tag is not None)
    numbers = _compile_numbers(Term(k.NUMBER, a), "+", Term(k.NUMBER, b))
    texts = " || ".join(_render_text(each) for each in sides)
    trap = render_trap("the operator + over other types")
    # NOTE: a sum, because OR would not evaluate one side where the other one is null.
    fails = any(map(may_fail, sides))
    absent = f"({a} IS NULL) + ({b} IS NULL)" if fails else f"{a} IS NULL OR {b} IS NULL"
    value = (
        f"CASE WHEN {absent} THEN NULL WHEN {adds} THEN {numbers.value}"
        f" WHEN ({joins}){' AND ' + arrays if arrays else ''} THEN {texts} ELSE {trap} END"
    )
    return Term(k.STRING | k.NUMBER | k.NULL, value, assumed=True)


def _render_is(term: Term, kind_class: int) -> str:
    return DIALECT.render_check(term, kind_class) or "1"


def _compile_concatenation(left: Term, right: Term) -> Term:
    sides = [_render_text(each) for each in (left, right)]
    nullable = (left.kinds | right.kinds) & k.NULL
    let = build_let(*sides) if _is_hidden(*sides) else None
    value = f"({sides[0]} || {sides[1]})"
    if let is not None:
        value = let.wrap(f"({let.names[0]} || {let.names[1]})")
    return Term(k.STRING | nullable, value, assumed=is_assumed(left, right))


def _is_hidden(a: str, b: str) -> bool:
    """Return whether one side may be null, so that SQLite skips the other one with its error.

    NOTE: it does not compute a subquery to add it to a null; it does compute columns.
    """
    return "SELECT" in a + b and has_trap(a + b)


def _render_text(term: Term) -> str:
    """Render the text of a value in a concatenation."""
    if not term.kinds & ~(k.STRING | k.INTEGER | k.NULL):
        return f"({term.value})"
    if not term.kinds & ~(k.BOOLEAN | k.NULL):
        return f"(CASE {term.value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
    if term.tag is None and not term.kinds & ~NATIVE:
        value, text = term.value, render_call("toString", term.value)
        return f"(CASE WHEN typeof({value}) <> 'real' THEN {value} ELSE {text} END)"
    if term.tag is None:
        raise CannotRun(f"Concatenation of a {k.render_kinds(term.kinds)}.")
    trap = render_trap("concatenation of a list or map")
    return (
        f"(CASE WHEN {term.tag} IN ('text','integer') THEN {term.value}"
        f" WHEN {term.tag} = 'real' THEN {render_call('toString', term.value)}"
        f" WHEN {term.tag} IN ('true','false') THEN {term.tag}"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
    )


def _compile_numbers(left: Term, operator: str, right: Term) -> Term:
    reason = f"the operator {operator}"
    a, b = read_as(left, k.NUMBER, reason), read_as(right, k.NUMBER, reason)
    if len(a) + len(b) > DIALECT.largest_operand:
        raise CannotRun(f"The operator {operator} in so deep an expression.")
    if k.NULL in (left.kinds, right.kinds):
        check_droppable(left, right)
    is_long = len(a) + len(b) > _LONG_OPERANDS
    let = build_let(a, b) if is_long or _is_hidden(a, b) else None
    if let is not None:
        a, b = let.names
    kinds = _find_number_kinds(left, right) | (left.kinds | right.kinds) & k.NULL
    if kinds == k.NULL:
        return Term(k.NULL, "NULL")
    overflow, undefined = render_trap("an integer overflow"), render_trap(f"{reason} undefined")
    both = f"typeof({a}) = 'integer' AND typeof({b}) = 'integer'"
    result = f"({a} {operator} {b})"
    whole = result
    if operator == "%":
        # NOTE: SQLite's remainder converts its operands to integers.
        whole = f"CASE WHEN {both} THEN {result} ELSE {render_trap('a remainder of floats')} END"
    text = (
        f"CASE typeof({result}) WHEN 'integer' THEN {whole}"
        f" WHEN 'real' THEN CASE WHEN {both} THEN {overflow} ELSE {whole} END"
        f" ELSE CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {undefined} END END"
    )
    return Term(kinds, text if let is None else let.wrap(text), assumed=True)


def is_assumed(*terms: Term) -> bool:
    """Return whether an expression over the terms relies on a type check in SQL."""
    return any(term.assumed or term.tag is not None for term in terms)


def _find_number_kinds(left: Term, right: Term) -> int:
    a, b = left.kinds & k.NUMBER, right.kinds & k.NUMBER
    if not a or not b:
        return 0
    mixed = a | b
    return k.FLOAT if k.FLOAT in (a, b) else mixed


def compile_minus(operand: Term) -> Term:
    """`-operand`."""
    value = read_as(operand, k.NUMBER, "the operator -")
    if len(value) > DIALECT.largest_operand:
        raise CannotRun("The operator - in so deep an expression.")
    let = build_let(value) if len(value) > _LONG_OPERANDS else None
    if let is not None:
        value = let.names[0]
    overflow = render_trap("an integer overflow")
    text = (
        f"CASE WHEN typeof({value}) = 'integer' AND typeof(-{value}) = 'real' THEN {overflow}"
        f" ELSE -{value} END"
    )
    kinds = operand.kinds & (k.NUMBER | k.NULL)
    return Term(kinds, text if let is None else let.wrap(text), assumed=True)
