"""Equality, equivalence, order and truth of values, as openCypher 9 defines them.

Three relations are kept apart. *Equality* (`=`) is three-valued. *Equivalence* (DISTINCT, grouping)
is two-valued: null is null and NaN is NaN. *Order* (ORDER BY, min, max) is total across types and
agrees with equivalence. Booleans are never numbers; integers and floats compare by exact value.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from typing import Any

from twinframe.model.temporal.durations import Duration, build_duration_key
from twinframe.model.temporal.instants import (
    Date,
    DateTime,
    LocalDateTime,
    LocalTime,
    Time,
    build_sort_key,
)
from twinframe.model.values import Node, Path, Relationship, Value

INTEGER_MINIMUM = -(2**63)
INTEGER_MAXIMUM = 2**63 - 1


def is_number(value: Value) -> bool:
    """Return whether the value is an integer or a float; a boolean is neither."""
    kind = type(value)
    return kind is int or kind is float


def is_integer(value: Value) -> bool:
    """Return whether the value is an integer; a boolean is not."""
    return type(value) is int


def name_type(value: Value) -> str:
    """The Cypher name of the value's type, for messages."""
    return _TYPE_NAMES[type(value)]


_TYPE_NAMES: dict[type, str] = {
    type(None): "Null",
    bool: "Boolean",
    int: "Integer",
    float: "Float",
    str: "String",
    list: "List",
    dict: "Map",
    Node: "Node",
    Relationship: "Relationship",
    Path: "Path",
    Date: "Date",
    LocalTime: "LocalTime",
    Time: "Time",
    LocalDateTime: "LocalDateTime",
    DateTime: "DateTime",
    Duration: "Duration",
}


def read_text(value: Value) -> str | None:
    """Return a string itself; of a temporal value that was read from a document, the text there.

    Compared with a string, a value that a model declares as a time is its stored string.
    """
    return value if isinstance(value, str) else getattr(value, "text", None)


# --- equality -----------------------------------------------------------------------------------


def equals(left: Value, right: Value) -> bool | None:
    """Compute `left = right`: None where a null hides it; types that differ are unequal.

    Lists and maps are unequal as soon as one pair of members is, whatever the other pairs hide.
    """
    if left is None or right is None:
        return None
    kind = type(left)
    if kind is not type(right):
        if kind is str or type(right) is str:
            return read_text(left) == read_text(right)
        # PERF: the exact comparison of an integer with a float is Python's own.
        return is_number(left) and is_number(right) and left == right
    if kind is list:
        return _equals_lists(left, right)  # type: ignore[arg-type]  # both are lists
    if kind is dict:
        return _equals_maps(left, right)  # type: ignore[arg-type]  # both are maps
    return left == right


def _equals_lists(left: list[Value], right: list[Value]) -> bool | None:
    if len(left) != len(right):
        return False
    answer: bool | None = True
    for one, other in zip(left, right, strict=True):
        same = equals(one, other)
        if same is False:
            return False
        if same is None:
            answer = None
    return answer


def _equals_maps(left: dict[str, Value], right: dict[str, Value]) -> bool | None:
    if left.keys() != right.keys():
        return False
    answer: bool | None = True
    for key, one in left.items():
        same = equals(one, right[key])
        if same is False:
            return False
        if same is None:
            answer = None
    return answer


# --- equivalence --------------------------------------------------------------------------------


class _Key(enum.Enum):
    TRUE = enum.auto()
    FALSE = enum.auto()
    NAN = enum.auto()
    LIST = enum.auto()
    MAP = enum.auto()


def build_equivalence_key(value: Value) -> Hashable:
    """Build a hashable that is equal for exactly the equivalent values, for DISTINCT and groups."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value  # type: ignore[return-value]  # hashable by the test above
    if kind is bool:
        return _Key.TRUE if value else _Key.FALSE
    if kind is float:
        return value if value == value else _Key.NAN  # type: ignore[return-value]  # NaN
    if isinstance(value, list):
        return (_Key.LIST, *(build_equivalence_key(item) for item in value))
    if isinstance(value, dict):
        return (
            _Key.MAP,
            frozenset((key, build_equivalence_key(item)) for key, item in value.items()),
        )
    # NOTE: nodes, relationships and paths hash by the identity of the stored entity, temporal
    # values by their components.
    return value


# --- total order --------------------------------------------------------------------------------


def build_order_key(value: Value) -> tuple[Any, ...]:
    """A tuple whose Python order is the order of ORDER BY, ascending, across all types.

    SPEC: openCypher 9, «Orderability»: map, node, relationship, list, path, datetime, local
    datetime, date, time, local time, duration, string, boolean, number, NaN, null. Lists by their
    elements, a shorter prefix first; maps by size, then names, then values; times by instant, then
    from west to east; durations by average length.
    """
    kind = type(value)
    if kind is str:
        return (11, value)
    if kind is int:
        return (13, value)
    if value is None:
        return (15,)
    if kind is bool:
        return (12, value)
    if isinstance(value, float):
        return (13, value) if value == value else (14,)  # false for NaN alone
    return _build_composite_order_key(value)


def _build_composite_order_key(value: Value) -> tuple[Any, ...]:
    match value:
        case list():
            return (3, *(build_order_key(item) for item in value))
        case dict():
            names = sorted(value)
            return (0, len(names), names, [build_order_key(value[name]) for name in names])
        case Node():
            return (1, value.id)
        case Relationship():
            return (2, value.source, value.id)
        case Path():
            nodes = tuple(node.id for node in value.nodes)
            crossed = tuple((one.source, one.id) for one in value.relationships)
            return (4, nodes, crossed)
        case DateTime() | LocalDateTime() | Date() | Time() | LocalTime():
            return (_TEMPORAL_RANKS[type(value)], *build_sort_key(value))
        case Duration():
            return (10, *build_duration_key(value))
        case _:
            raise TypeError(f"Not a value of the query languages: {type(value).__name__}.")


_TEMPORAL_RANKS: dict[type, int] = {DateTime: 5, LocalDateTime: 6, Date: 7, Time: 8, LocalTime: 9}


# --- comparability ------------------------------------------------------------------------------


def is_less(left: Value, right: Value) -> bool | None:
    """Compute `left < right`: None across types and for types without an order of their own.

    SPEC: instants of one type are comparable; durations are not, since months have no fixed length.
    """
    if _are_comparable(left, right):
        return left < right  # type: ignore[operator]  # both numbers, strings or booleans
    if isinstance(left, list) and isinstance(right, list):
        return _is_less_list(left, right, when_equal=False)
    if type(left) in _TEMPORAL_RANKS and type(left) is type(right):
        return build_order_key(left) < build_order_key(right)
    if type(left) is str or type(right) is str:
        one, other = read_text(left), read_text(right)
        return None if one is None or other is None else one < other
    return None


def is_less_or_equal(left: Value, right: Value) -> bool | None:
    """Compute `left <= right`: None across types and for types without an order of their own."""
    if _are_comparable(left, right):
        return left <= right  # type: ignore[operator]  # both numbers, strings or booleans
    if isinstance(left, list) and isinstance(right, list):
        return _is_less_list(left, right, when_equal=True)
    if type(left) in _TEMPORAL_RANKS and type(left) is type(right):
        return build_order_key(left) <= build_order_key(right)
    if type(left) is str or type(right) is str:
        one, other = read_text(left), read_text(right)
        return None if one is None or other is None else one <= other
    return None


def _are_comparable(left: Value, right: Value) -> bool:
    kind, other = type(left), type(right)
    if kind is int or kind is float:
        return other is int or other is float
    return kind is other and (kind is str or kind is bool)


def _is_less_list(left: list[Value], right: list[Value], *, when_equal: bool) -> bool | None:
    for one, other in zip(left, right, strict=False):
        same = equals(one, other)
        if same is None:
            return None
        if not same:
            return is_less(one, other)
    if len(left) == len(right):
        return when_equal
    return len(left) < len(right)


# --- three-valued logic -------------------------------------------------------------------------


def negate(value: bool | None) -> bool | None:
    """NOT: null stays null."""
    return None if value is None else not value
