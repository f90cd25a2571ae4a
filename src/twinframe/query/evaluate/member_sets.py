"""The elements of a list as a set, so that many rows can ask whether a value is among them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from twinframe.model.comparison import build_equivalence_key
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.evaluate.limits import Budget

_ENTRY: Final = 72
"""The bytes of an element's entry in a set, and of a number."""


SIMPLE: Final = frozenset({bool, int, float, str, Node, Relationship})
"""Types whose values are equal when their keys are."""


class Members:
    """The elements of one list, if they `are_simple`: scalars, nodes, relationships or null.

    `keys` are those that can be equal to something: neither null nor NaN.
    """

    __slots__ = ("are_simple", "has_null", "keys", "size")

    def __init__(self, items: list[Value], budget: Budget) -> None:
        self.size = len(items) * _ENTRY
        """The bytes that the run accounts for as long as it keeps them."""
        budget.hold(0, self.size)
        self.has_null = None in items
        self.are_simple = all(one is None or type(one) in SIMPLE for one in items)
        self.keys = set[Hashable]()
        for one in items if self.are_simple else ():
            budget.tick()
            if one is not None and one == one:  # false for NaN
                self.keys.add(build_equivalence_key(one))
