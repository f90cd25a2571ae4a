"""Compiles equality, order and membership of terms in three-valued logic.

Every function takes `wanted` and renders SQL that is 1 exactly when the Cypher result is `wanted`;
otherwise it is 0 or NULL. That is all a condition needs, and lets the engine use an index.
"""

from __future__ import annotations

from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.select import Statement
from twinframe.query.sql.term import Term, check_path, may_fail
from twinframe.query.sql.texts import render_all, render_balanced

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_NESTED = k.LIST | k.MAP


def compile_equal(left: Term, right: Term, dialect: Dialect, *, wanted: bool) -> str:
    """`left = right`."""
    for term in (left, right):
        check_path(term)
    shared = find_shared(left, right)
    if not shared:
        test = f"({left.value} IS NOT NULL AND {right.value} IS NOT NULL)"
        return dialect.render_forced(dialect.no if wanted else test, left, right)
    if any(each & _NESTED for each in shared):
        test = _compile_equal_keys(left, right, dialect, wanted=wanted)
        return render_whole(test, left, right, dialect)
    if len(shared) > 1 or not wanted:
        test = _compile_equal_scalars(left, right, shared, dialect, wanted=wanted)
        return render_whole(test, left, right, dialect)
    if left.lookup is not None and right.source is not None:
        return f"{left.lookup.column} = ({left.lookup.query.format(right.value)})"
    if right.lookup is not None and left.source is not None:
        return f"{right.lookup.column} = ({right.lookup.query.format(left.value)})"
    test = render_all(*_render_native_test(left, "=", right, shared[0], dialect))
    return render_whole(test, left, right, dialect)


def render_whole(test: str, left: Term, right: Term, dialect: Dialect) -> str:
    """Render `test` of two terms such that an error of neither is skipped.

    NOTE: an engine may evaluate a check of one term before it computes the other. SQLite does not
    compute a subquery to compare it with a null.
    """
    sides = ((left, right), (right, left))
    return dialect.render_forced(
        test, *(each for each, other in sides if _may_precede(other, each, dialect))
    )


def _may_precede(term: Term, other: Term, dialect: Dialect) -> bool:
    """Return whether the value of `term` may keep the engine from computing `other`."""
    is_one_class = len(k.build_classes(term.kinds)) == 1
    if not is_one_class or term.kinds & (_NESTED | k.ENTITIES):
        return True
    return bool(term.kinds & k.NULL) and (dialect.folds_nulls or "SELECT" in other.value)


def find_shared(left: Term, right: Term) -> tuple[int, ...]:
    """Return the classes within which the two values can be equal."""
    widened = k.build_widened(right.kinds)
    return k.build_classes(k.build_widened(left.kinds) & widened & ~k.NULL)


def _compile_equal_scalars(
    left: Term, right: Term, shared: tuple[int, ...], dialect: Dialect, *, wanted: bool
) -> str:
    both = shared[0] | k.NULL
    if len(shared) == 1 and not (left.kinds | right.kinds) & ~both:
        values = [dialect.read(each, shared[0]) for each in (left, right)]
        return f"{values[0]} {'=' if wanted else '<>'} {values[1]}"
    # One side holds no list and no map: if the other does, they differ.
    sides = [dialect.render_key(each, traps=False) for each in (left, right)]
    return f"{sides[0]} {'=' if wanted else '<>'} {sides[1]}"


def _compile_equal_keys(left: Term, right: Term, dialect: Dialect, *, wanted: bool) -> str:
    check_comparable(left, right)
    if _is_nested(left) and _is_nested(right):
        return dialect.render_equal_nested(left, right, wanted=wanted)
    # NOTE: only two lists, or two maps, cannot be compared by keys.
    keys = [dialect.render_key(each, traps=False) for each in (left, right)]
    nested = dialect.render_equal_nested(left, right, wanted=wanted)
    tags = [render_nested_tag(each) for each in (left, right)]
    return (
        f"CASE WHEN {tags[0]} IN ('array','object') AND {tags[0]} = {tags[1]} THEN {nested}"
        f" ELSE {keys[0]} {'=' if wanted else '<>'} {keys[1]} END"
    )


def _is_nested(term: Term) -> bool:
    return not term.kinds & ~(_NESTED | k.NULL)


def render_nested_tag(term: Term) -> str:
    """Render the tag of a list or map; another text for other values, NULL for null."""
    if term.tag is not None:
        return term.tag
    name = {k.LIST: "array", k.MAP: "object"}.get(term.kinds & ~k.NULL, "scalar")
    return f"CASE WHEN {term.value} IS NOT NULL THEN '{name}' END"


def check_comparable(left: Term, right: Term) -> None:
    """Raise `CannotRun` for lists of row ids against lists of values."""
    for term in (left, right):
        if term.holds_entities:
            raise CannotRun("Equality of maps of nodes or relationships.")
    ids = [term.elements & k.ENTITIES if term.kinds & k.LIST else 0 for term in (left, right)]
    both = left.kinds & k.LIST and right.kinds & k.LIST
    if both and ids[0] != ids[1]:
        raise CannotRun("Equality of lists of nodes or relationships with other lists.")


def compile_order(left: Term, operator: str, right: Term, dialect: Dialect, *, wanted: bool) -> str:
    """`left < right` and its like; values of different types are incomparable (null)."""
    shared = tuple(each for each in find_shared(left, right) if each & ~k.MAP)
    if any(each & k.ENTITIES for each in shared):
        raise CannotRun(f"The operator {operator} over nodes or relationships.")
    if not shared:
        return dialect.render_forced(dialect.no, left, right)
    sql = operator if wanted else _NEGATED[operator]
    if len(shared) == 1 and shared[0] != k.LIST:
        test = render_all(*_render_native_test(left, sql, right, shared[0], dialect))
        return render_whole(test, left, right, dialect)
    if dialect.is_plain(left.kinds) and dialect.is_plain(right.kinds) and k.LIST in shared:
        raise CannotRun(f"The operator {operator} over lists.")
    return render_whole(dialect.render_mixed_test(left, sql, right, shared), left, right, dialect)


def _render_native_test(
    left: Term, operator: str, right: Term, kind_class: int, dialect: Dialect
) -> tuple[str | None, ...]:
    """Render the comparison of two values of one class, and checks that they are."""
    given = dialect.render_given_test(left, operator, right, kind_class)
    if given is not None:
        return (given,)
    sides = [dialect.read(each, kind_class) for each in (left, right)]
    checks = [dialect.render_guard(each, kind_class) for each in (left, right)]
    return (f"{sides[0]} {operator} {sides[1]}", *checks)


# --- strings ------------------------------------------------------------------------------------


def compile_string_test(
    left: Term, operator: str, right: Term, statement: Statement, *, wanted: bool
) -> str:
    """`STARTS WITH`, `ENDS WITH` and `CONTAINS`; null unless both sides are strings."""
    dialect = statement.dialect
    if not (left.kinds & k.STRING and right.kinds & k.STRING):
        return dialect.render_forced(dialect.no, left, right)
    checks = [dialect.render_check(each, k.STRING) for each in (left, right)]
    test = dialect.render_string_test(left, operator, right, statement.bindings, wanted=wanted)
    return render_whole(render_all(test, *checks), left, right, dialect)


# --- membership ---------------------------------------------------------------------------------


def compile_in(item: Term, members: Term, statement: Statement, *, wanted: bool) -> str:
    """`item IN members`."""
    dialect = statement.dialect
    if item.kinds & k.PATH:
        raise CannotRun("The operator IN for a path.")
    if members.kinds == k.NULL or members.items == ():
        is_false = wanted or members.kinds == k.NULL
        return dialect.render_forced(dialect.no if is_false else dialect.yes, item)
    if members.items is not None and not any(map(may_fail, members.items)):
        tests = [compile_equal(item, each, dialect, wanted=wanted) for each in members.items]
        return render_balanced(tests, "OR" if wanted else "AND")
    return dialect.compile_in_list(item, members, statement.bindings, wanted=wanted)
