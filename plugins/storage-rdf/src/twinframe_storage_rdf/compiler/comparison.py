"""Compiles equality, order and membership to SPARQL expressions that are true, false, or an error
for null.

Where SPARQL would answer differently from Cypher, the compiler raises `CannotRun`, or adds a guard
if that depends on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf.compiler.bindings import (
    EXACT,
    Bindings,
    Source,
    render_members,
    render_small,
)
from twinframe_storage_rdf.compiler.term import Term, render_is, render_is_nested, render_mark

Guard = Callable[[str], None]


def _build_widened(kinds: int) -> int:
    """`kinds` without null, and with integer and float taken together."""
    known = kinds & ~k.NULL
    return known | k.NUMBER if known & k.NUMBER else known


def _find_shared(left: Term, right: Term) -> int:
    return _build_widened(left.kinds) & _build_widened(right.kinds)


def build_small(term: Term, bindings: Bindings) -> Term:
    """The constant or parameter, checked to be distinguishable from other numbers."""
    if term.source is None or not term.kinds & k.NUMBER:
        return term
    return Term(term.kinds, bindings.bind(term.source, render_small), None, term.source)


def compile_equal(left: Term, right: Term, bindings: Bindings, guard: Guard) -> str:
    """`left = right`."""
    shared = _find_shared(left, right)
    left, right = build_small(left, bindings), build_small(right, bindings)
    mark = render_mark(left, right)
    same = f"sameTerm{mark}({left.text}, {right.text})"
    if shared & k.NESTED:
        if not (left.kinds | right.kinds) & ~(k.NESTED | k.NULL):
            raise CannotRun("An equality of lists or maps.")
        guard(f"{render_is_nested(left)} && {render_is_nested(right)}")
    if not shared & k.NUMBER:
        return same
    _guard_mixture(left, right, guard)
    equal = f"{left.text} = {right.text}"
    checks = [
        render_is(each, k.NUMBER) for each in (left, right) if each.kinds & ~(k.NUMBER | k.NULL)
    ]
    if not checks:
        return f"({equal})"
    return f"IF({' && '.join(checks)}, {equal}, {same})"


def _guard_mixture(left: Term, right: Term, guard: Guard) -> None:
    """SPEC: SPARQL compares an integer with a double as doubles, Cypher by exact value."""
    kinds = (left.kinds & k.NUMBER, right.kinds & k.NUMBER)
    if left.is_small or right.is_small or kinds in ((k.INTEGER,) * 2, (k.FLOAT,) * 2):
        return
    a, b = left.text, right.text
    guard(f"DATATYPE({a}) != DATATYPE({b}) && ABS({a}) >= {EXACT} && ABS({b}) >= {EXACT}")


def compile_order(left: Term, operator: str, right: Term, bindings: Bindings, guard: Guard) -> str:
    """Compile `left < right` and its like; values of different types are incomparable (null)."""
    shared = _find_shared(left, right)
    if shared & k.LIST and not (left.kinds | right.kinds) & ~(k.NESTED | k.NULL):
        raise CannotRun(f"The operator {operator} over lists.")
    left, right = build_small(left, bindings), build_small(right, bindings)
    if shared & k.NESTED:
        guard(f"{render_is_nested(left)} && {render_is_nested(right)}")
    if shared & k.NUMBER:
        _guard_mixture(left, right, guard)
    if not shared & (k.NUMBER | k.STRING | k.BOOLEAN):
        return "?null"
    text = f"{left.text} {operator}{render_mark(left, right)} {right.text}"
    if not shared & k.BOOLEAN:
        # SPEC: SPARQL 1.1 section 17.3: `<` over two types is a type error, which is Cypher's null.
        return f"({text})"
    both = " && ".join(render_is(each, k.BOOLEAN) for each in (left, right))
    numbers = f"IF({left.text}, 1, 0) {operator} IF({right.text}, 1, 0)"
    return f"IF({both}, {numbers}, {text})"


def compile_in(item: Term, members: Sequence[Term], bindings: Bindings, guard: Guard) -> str:
    """`item IN [a, b]`: SPARQL's `||` over errors is Cypher's OR over nulls."""
    if not members:
        return "false"
    tests = [compile_equal(item, each, bindings, guard) for each in members]
    return f"({' || '.join(tests)})"


def compile_in_parameter(
    item: Term, source: Source, elements: int, bindings: Bindings, guard: Guard
) -> str:
    """`item IN $list` for a list of scalars."""
    placeholder = bindings.bind(source, render_members)
    if item.kinds & k.NESTED:
        guard(render_is_nested(item))
    if _build_widened(item.kinds) & elements & k.ENTITIES:
        raise CannotRun("The operator IN over a list of nodes or relationships.")
    if elements & k.STRING and elements & ~(k.STRING | k.NULL):
        # NOTE: engines may answer an error where one literal is a number and the other a string.
        raise CannotRun("The operator IN over a parameter of several types.")
    return f"({item.text} IN {placeholder})"
