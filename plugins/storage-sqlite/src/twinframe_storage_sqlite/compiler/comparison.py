"""Compiles equality, order and membership of terms in three-valued logic.

Every function takes `wanted` and renders SQL that is 1 exactly when the Cypher result is `wanted`;
otherwise it is 0 or NULL. That is all a condition needs, and lets SQLite use an index.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.bindings import Bindings, build_flat_json, build_json
from twinframe_storage_sqlite.compiler.guards import render_trap
from twinframe_storage_sqlite.compiler.nested import check_comparable, compile_equal_nested
from twinframe_storage_sqlite.compiler.term import (
    Term,
    check_path,
    may_fail,
    render_check,
    render_forced,
    render_key,
)
from twinframe_storage_sqlite.json_paths import render_balanced

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_NESTED = k.LIST | k.MAP
_CLASS_TAGS = (
    "WHEN 'integer' THEN 1 WHEN 'real' THEN 1 WHEN 'text' THEN 2 WHEN 'true' THEN 3"
    " WHEN 'false' THEN 3"
)


def render_all(*conditions: str | None) -> str:
    """The conjunction of the conditions that are not None."""
    kept = [each for each in conditions if each is not None]
    return f"({' AND '.join(kept)})" if len(kept) > 1 else kept[0]


def compile_equal(left: Term, right: Term, *, wanted: bool) -> str:
    """`left = right`."""
    for term in (left, right):
        check_path(term)
    shared = _find_shared(left, right)
    if not shared:
        test = f"({left.value} IS NOT NULL AND {right.value} IS NOT NULL)"
        return render_forced("0" if wanted else test, left, right)
    if any(each & _NESTED for each in shared):
        return render_whole(_compile_equal_keys(left, right, wanted=wanted), left, right)
    if len(shared) > 1 or not wanted:
        test = _compile_equal_scalars(left, right, shared, wanted=wanted)
        return render_whole(test, left, right)
    if left.lookup is not None and right.source is not None:
        return f"{left.lookup.column} = ({left.lookup.query.format(right.value)})"
    if right.lookup is not None and left.source is not None:
        return f"{right.lookup.column} = ({right.lookup.query.format(left.value)})"
    test = render_all(
        f"{left.value} = {right.value}",
        render_check(left, shared[0]),
        render_check(right, shared[0]),
    )
    return render_whole(test, left, right)


def render_whole(test: str, left: Term, right: Term) -> str:
    """Render `test` of two terms such that an error of neither is skipped.

    NOTE: SQLite may evaluate a check of one term before it computes the other, and does not compute
    a subquery to compare it with a null.
    """
    sides = ((left, right), (right, left))
    return render_forced(test, *(each for each, other in sides if _may_precede(other, each)))


def _may_precede(term: Term, other: Term) -> bool:
    """Return whether the value of `term` may keep SQLite from computing `other`."""
    is_one_class = len(k.build_classes(term.kinds)) == 1
    if not is_one_class or term.kinds & (_NESTED | k.ENTITIES):
        return True
    return bool(term.kinds & k.NULL) and "SELECT" in other.value


def _find_shared(left: Term, right: Term) -> tuple[int, ...]:
    widened = k.build_widened(right.kinds)
    return k.build_classes(k.build_widened(left.kinds) & widened & ~k.NULL)


def _compile_equal_scalars(
    left: Term, right: Term, shared: tuple[int, ...], *, wanted: bool
) -> str:
    both = shared[0] | k.NULL
    if len(shared) == 1 and not (left.kinds | right.kinds) & ~both:
        return f"{left.value} {'=' if wanted else '<>'} {right.value}"
    # One side holds no list and no map: if the other does, they differ.
    sides = [render_key(each, traps=False) for each in (left, right)]
    return f"{sides[0]} {'=' if wanted else '<>'} {sides[1]}"


def _compile_equal_keys(left: Term, right: Term, *, wanted: bool) -> str:
    check_comparable(left, right)
    if _is_nested(left) and _is_nested(right):
        return compile_equal_nested(left.value, right.value, wanted=wanted)
    # NOTE: only two lists, or two maps, cannot be compared by keys.
    keys = [render_key(each, traps=False) for each in (left, right)]
    nested = compile_equal_nested(left.value, right.value, wanted=wanted)
    tags = [_render_nested_tag(each) for each in (left, right)]
    return (
        f"CASE WHEN {tags[0]} IN ('array','object') AND {tags[0]} = {tags[1]} THEN {nested}"
        f" ELSE {keys[0]} {'=' if wanted else '<>'} {keys[1]} END"
    )


def _is_nested(term: Term) -> bool:
    return not term.kinds & ~(_NESTED | k.NULL)


def _render_nested_tag(term: Term) -> str:
    if term.tag is not None:
        return term.tag
    name = {k.LIST: "array", k.MAP: "object"}.get(term.kinds & ~k.NULL, "scalar")
    return f"CASE WHEN {term.value} IS NOT NULL THEN '{name}' END"


def compile_order(left: Term, operator: str, right: Term, *, wanted: bool) -> str:
    """`left < right` and its like; values of different types are incomparable (null)."""
    shared = tuple(each for each in _find_shared(left, right) if each & ~k.MAP)
    if any(each & k.ENTITIES for each in shared):
        raise CannotRun(f"The operator {operator} over nodes or relationships.")
    if not shared:
        return render_forced("0", left, right)
    sql = operator if wanted else _NEGATED[operator]
    compared = f"{left.value} {sql} {right.value}"
    if len(shared) == 1 and shared[0] != k.LIST:
        checks = [render_check(each, shared[0]) for each in (left, right)]
        return render_whole(render_all(compared, *checks), left, right)
    if k.is_plain(left.kinds) and k.is_plain(right.kinds) and k.LIST in shared:
        raise CannotRun(f"The operator {operator} over lists.")
    if k.LIST in shared:
        # NOTE: only two lists cannot be compared by native values.
        trap = render_trap("an order of lists")
        compared = f"CASE WHEN {_render_nested_tag(left)} = 'array' THEN {trap} ELSE {compared} END"
    test = f"({_render_class(left)} = {_render_class(right)} AND {compared})"
    return render_whole(test, left, right)


def _render_class(term: Term) -> str:
    if term.tag is None and term.kinds & ~k.NATIVE:
        number = 3 if term.kinds & k.BOOLEAN else 4
        return f"CASE WHEN {term.value} IS NOT NULL THEN {number} END"
    if term.tag is None:
        return f"CASE typeof({term.value}) WHEN 'text' THEN 2 WHEN 'null' THEN NULL ELSE 1 END"
    return f"CASE {term.tag} {_CLASS_TAGS} WHEN 'array' THEN 4 END"


# --- membership ---------------------------------------------------------------------------------


def compile_in(item: Term, members: Term, bindings: Bindings, *, wanted: bool) -> str:
    """`item IN members`."""
    if item.kinds & k.PATH:
        raise CannotRun("The operator IN for a path.")
    if members.kinds == k.NULL or members.items == ():
        return render_forced("0" if wanted or members.kinds == k.NULL else "1", item)
    if members.items is not None and not any(map(may_fail, members.items)):
        tests = [compile_equal(item, each, wanted=wanted) for each in members.items]
        return render_balanced(tests, "OR" if wanted else "AND")
    if members.tag is not None:
        trap = render_trap("the operator IN over no list")
        array = f"CASE WHEN {members.tag} = 'array' THEN {members.value}"
        other = f"WHEN {members.value} IS NOT NULL THEN {trap} END"
        members = Term(k.LIST | k.NULL, f"{array} {other}", assumed=True)
    if members.kinds & ~(k.LIST | k.NULL):
        raise CannotRun("The operator IN over a value that is no list.")
    if members.elements & (k.NODE | k.RELATIONSHIP):
        raise CannotRun("The operator IN over a list of nodes or relationships.")
    test = _compile_in_json(item, members, bindings, wanted=wanted)
    return render_whole(test, item, members)


def _compile_in_json(item: Term, members: Term, bindings: Bindings, *, wanted: bool) -> str:
    """Compile membership in the JSON text of a list; for a constant or a parameter an index can
    serve.
    """
    shared = _find_shared(item, Term(members.elements, members.value))
    each = Term(members.elements, "e.value", tag="e.type")
    if wanted and len(shared) == 1 and not shared[0] & (_NESTED | k.ENTITIES):
        return _compile_in_class(item, members, each, shared[0])
    # NOTE: a list and a value of another type simply differ; two lists need the evaluator.
    nested = bool(item.kinds & _NESTED)
    keys = f"SELECT {render_key(each, traps=nested)} FROM json_each({members.value}) AS e"
    sought = render_key(item, traps=False)
    if item.kinds & k.ENTITIES:
        # NOTE: a row id is no number of the list; nothing in it has this key.
        sought = f"CASE WHEN {item.value} IS NOT NULL THEN x'04' END"
    test = f"{sought} {'IN' if wanted else 'NOT IN'} ({keys})"
    if wanted and members.source is not None and item.tag is not None:
        # PERF: equal values are equal in SQLite too, so an index on a property serves; a second
        # test distinguishes booleans from numbers.
        flat = bindings.bind(members.source, build_flat_json if nested else build_json)
        return f"({item.value} IN (SELECT e.value FROM json_each({flat}) AS e) AND {test})"
    return test if not members.kinds & k.NULL else f"({members.value} IS NOT NULL AND {test})"


def _compile_in_class(item: Term, members: Term, each: Term, kind_class: int) -> str:
    """Compile membership of a value that can only equal elements of one class."""
    value, column = "e.value", item.value
    if item.lookup is not None:
        value, column = f"({item.lookup.query.format(value)})", item.lookup.column
    found = f"{column} IN (SELECT {value} FROM json_each({members.value}) AS e"
    wrong = members.elements & ~(kind_class | k.NULL)
    found += f" WHERE {render_check(each, kind_class)})" if wrong else ")"
    return render_all(found, None if item.lookup is not None else render_check(item, kind_class))
