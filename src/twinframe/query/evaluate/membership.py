"""Compiles `item IN items`, turning a list that is tested for many rows into a set."""

from __future__ import annotations

from typing import Final

from twinframe.model.comparison import build_equivalence_key, equals, name_type
from twinframe.model.values import Value
from twinframe.query.evaluate.failures import build_type_error
from twinframe.query.evaluate.member_sets import SIMPLE, Members
from twinframe.query.evaluate.ranges import EvaluateItems, is_in_range
from twinframe.query.evaluate.run import Evaluate, Row, Run

_FEW: Final = 8
"""The number of elements up to which comparing each is as fast."""


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
        if len(items) > _FEW and type(item) in SIMPLE:
            members = _find_members(place, items, run)
            if members is not None:
                return _is_member(item, members, run)
        return _is_element(item, items, run)

    return evaluate


def _find_members(place: object, items: list[Value], run: Run) -> Members | None:
    """Return the members of a list of simple values that was tested just before too."""
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
        members = Members(items, run.budget)
        run.memberships[place] = (items, members)
    return members if members.are_simple else None


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
