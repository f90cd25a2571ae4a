"""Arithmetic of terms: 64-bit integers and floats, concatenation of strings.

SQLite turns an overflowing integer into a float, and an undefined result into NULL; here both are
traps, so that the evaluator answers.
"""

from __future__ import annotations

from twinframe.storage.base import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.term import Term

LARGEST_OPERAND = 4_000
"""Characters of SQL: an operand is repeated in the checks of its operation."""


def compile_arithmetic(left: Term, operator: str, right: Term) -> Term:
    """`left + right` and its like for `+ - * / %`."""
    if operator == "+" and (left.kinds | right.kinds) & k.STRING:
        return _compile_add(left, right)
    return _compile_numbers(left, operator, right)


def _compile_add(left: Term, right: Term) -> Term:
    for one, other in ((left, right), (right, left)):
        if not one.kinds & ~(k.STRING | k.NULL):
            return _compile_concatenation(left, right)
        if not one.kinds & ~(k.NUMBER | k.NULL) and other.tag is not None:
            return _compile_numbers(left, "+", right)
    raise CannotRun("The operator + over values that may be strings or numbers.")


def _compile_concatenation(left: Term, right: Term) -> Term:
    sides = [_render_text(each) for each in (left, right)]
    nullable = (left.kinds | right.kinds) & k.NULL
    return Term(k.STRING | nullable, f"({sides[0]} || {sides[1]})", assumed=is_assumed(left, right))


def _render_text(term: Term) -> str:
    """What concatenation makes of a value. A float's text is the evaluator's to write."""
    if not term.kinds & ~(k.STRING | k.INTEGER | k.NULL):
        return f"({term.value})"
    if not term.kinds & ~(k.BOOLEAN | k.NULL):
        return f"(CASE {term.value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
    if term.tag is None:
        raise CannotRun(f"Concatenation of a {k.render_kinds(term.kinds)}.")
    trap = render_trap("concatenation of a float, list or map")
    return (
        f"(CASE WHEN {term.tag} IN ('text','integer') THEN {term.value}"
        f" WHEN {term.tag} IN ('true','false') THEN {term.tag}"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
    )


def _compile_numbers(left: Term, operator: str, right: Term) -> Term:
    reason = f"the operator {operator}"
    a, b = read_as(left, k.NUMBER, reason), read_as(right, k.NUMBER, reason)
    if len(a) + len(b) > LARGEST_OPERAND:
        raise CannotRun(f"The operator {operator} in so deep an expression.")
    kinds = _find_number_kinds(left, right) | (left.kinds | right.kinds) & k.NULL
    if kinds == k.NULL:
        return Term(k.NULL, "NULL")
    overflow, undefined = render_trap("an integer overflow"), render_trap(f"{reason} undefined")
    both = f"typeof({a}) = 'integer' AND typeof({b}) = 'integer'"
    result = f"({a} {operator} {b})"
    whole = result
    if operator == "%":
        # NOTE: SQLite's remainder is one of integers, whatever the operands are.
        whole = f"CASE WHEN {both} THEN {result} ELSE {render_trap('a remainder of floats')} END"
    return Term(
        kinds,
        f"CASE typeof({result}) WHEN 'integer' THEN {whole}"
        f" WHEN 'real' THEN CASE WHEN {both} THEN {overflow} ELSE {whole} END"
        f" ELSE CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {undefined} END END",
        assumed=True,
    )


def is_assumed(*terms: Term) -> bool:
    """Whether something computed from the terms stands on a check in SQL."""
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
    if len(value) > LARGEST_OPERAND:
        raise CannotRun("The operator - in so deep an expression.")
    overflow = render_trap("an integer overflow")
    return Term(
        operand.kinds & (k.NUMBER | k.NULL),
        f"CASE WHEN typeof({value}) = 'integer' AND typeof(-{value}) = 'real' THEN {overflow}"
        f" ELSE -{value} END",
        assumed=True,
    )


def read_as(term: Term, kind_class: int, reason: str) -> str:
    """The native SQL value of a term that must be of `kind_class` or null; a trap otherwise."""
    if not term.kinds & ~(kind_class | k.NULL):
        return f"({term.value})" if term.value.startswith("CASE") else term.value
    if not term.kinds & kind_class:
        raise CannotRun(f"{reason.capitalize()} over a {k.render_kinds(term.kinds)}.")
    trap = render_trap(f"{reason} over another type")
    if term.tag is None:
        names = "'text'" if kind_class == k.STRING else "'integer','real'"
        tag = f"typeof({term.value})"
    else:
        names = {k.STRING: "'text'", k.NUMBER: "'integer','real'", k.BOOLEAN: "'true','false'"}[
            kind_class
        ]
        tag = term.tag
    return (
        f"(CASE WHEN {tag} IN ({names}) THEN {term.value}"
        f" WHEN {term.value} IS NOT NULL THEN {trap} END)"
    )
