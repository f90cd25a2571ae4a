"""Compiles `item IN items`, turning a list that is tested for many rows into a set."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from twinframe.evaluator.failures import build_type_error
from twinframe.evaluator.ranges import EvaluateItems, is_in_range
from twinframe.evaluator.run import Evaluate, Row, Run
from twinframe.model.comparison import build_equivalence_key, equals, name_type
from twinframe.model.values import Value

_FEW: Final = 8
"""The number of elements up to which comparing each is as fast."""
_ENTRY: Final = 72
"""The bytes of an element's entry in a set, and of a number."""
_SCALARS: Final = frozenset({bool, int, float, str})


class Members:
    """The elements of one list, if `are_scalar`: scalars or null.

    `keys` are those that can be equal to something: neither null nor NaN.
    """

    __slots__ = ("are_scalar", "has_null", "keys", "size")

    def __init__(self, items: list[Value], run: Run) -> None:
        self.size = len(items) * _ENTRY
        """The bytes that the run accounts for as long as it keeps them."""
        run.budget.hold(0, self.size)
        self.has_null = None in items
        self.are_scalar = all(one is None or type(one) in _SCALARS for one in items)
        self.keys = set[Hashable]()
        for one in items if self.are_scalar else ():
            run.budget.tick()
            if one is not None and one == one:  # false for NaN
                self.keys.add(build_equivalence_key(one))


def compile_membership(left: Evaluate, right: EvaluateItems) -> Evaluate:
    """Compile `item IN items`: null when only a null could have been the match.

    PERF: a list that comes again is made a set: without, 100,000 elements take 3 ms a row. A list
    that each row builds is searched.
    """
    place = object()

    def evaluate(row: Row, run: Run) -> Value:
        item, items = left(row, run), right(row, run)
        if items is None:
            return None
        if type(items) is range:
            return is_in_range(item, items)
        if not isinstance(items, list):
            raise build_type_error(f"IN takes a List at its right, not {name_type(items)}.")
        if len(items) > _FEW and type(item) in _SCALARS:
            members = _find_members(place, items, run)
            if members is not None:
                return _is_member(item, members, run)
        return _is_element(item, items, run)

    return evaluate


def _find_members(place: object, items: list[Value], run: Run) -> Members | None:
    """Return the members of a list of scalars that was tested just before too."""
    seen, members = run.memberships.get(place, (None, None))
    if seen is not items:
        if members is not None:
            run.budget.release(0, members.size)
        run.memberships[place] = (
            items,
            None,
        )  # NOTE: kept, so that no other list gets its identity
        return None
    if members is None:
        members = Members(items, run)
        run.memberships[place] = (items, members)
    return members if members.are_scalar else None


def _is_member(item: Value, members: Members, run: Run) -> bool | None:
    run.budget.tick()
    if item == item and build_equivalence_key(item) in members.keys:
        return True
    return None if members.has_null else False


def _is_element(item: Value, items: list[Value], run: Run) -> bool | None:
    answer: bool | None = False
    for one in items:
        run.budget.tick()
        same = equals(item, one)
        if same:
            return True
        if same is None:
            answer = None
    return answer
