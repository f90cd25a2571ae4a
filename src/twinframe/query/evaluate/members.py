"""Reads parts of values: properties, subscripts, slices.

A missing member is null. Only `has_member` distinguishes a missing member from a null one.
"""

from __future__ import annotations

from collections.abc import Sequence

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import name_type
from twinframe.model.temporal.components import read_component
from twinframe.model.values import Node, Relationship, Temporal, Value
from twinframe.query.evaluate.failures import build_type_error


def read_member(subject: Value, key: str) -> Value:
    """`subject.key` of a node, relationship, map or temporal value; null of null."""
    if isinstance(subject, Node | Relationship):
        return subject.document.get(key)  # type: ignore[return-value]  # JSON values are values
    if isinstance(subject, dict):
        return subject.get(key)
    if subject is None:
        return None
    if isinstance(subject, Temporal):
        return read_component(subject, key)
    raise build_type_error(
        f"{name_type(subject)} has no properties: .{key} needs a Node, Relationship, Map or "
        "temporal value."
    )


def has_member(subject: Value, key: Value) -> bool:
    """Whether the member is present, null or not; False for subjects without members."""
    if not isinstance(key, str):
        return False
    if isinstance(subject, Node | Relationship):
        return key in subject.document
    return isinstance(subject, dict) and key in subject


def read_subscript(subject: Value | range, index: Value) -> Value:
    """`subject[index]`: negative list positions count from the end, outside ones are null."""
    if subject is None or index is None:
        return None
    if isinstance(subject, list | range):
        return _read_element(subject, index)
    if isinstance(subject, Node | Relationship | dict):
        if isinstance(index, str):
            return read_member(subject, index)
        raise build_type_error(
            f"{name_type(subject)} members are named by a String, not {name_type(index)}.",
            detail="MapElementAccessByNonString",
        )
    raise build_type_error(f"{name_type(subject)} cannot be subscripted.")


def read_slice(subject: Value | range, start: Value, end: Value) -> Value | range:
    """`subject[start..end]`, `end` exclusive; bounds outside of the list are its ends."""
    if subject is None or start is None or end is None:
        return None
    if not isinstance(subject, list | range):
        raise build_type_error(f"{name_type(subject)} cannot be sliced; a List can.")
    if type(start) is not int or type(end) is not int:
        raise _refuse_position(start if type(start) is not int else end)
    return subject[start:end]


def _read_element(items: Sequence[Value], index: Value) -> Value:
    if type(index) is not int:
        raise _refuse_position(index)
    try:
        return items[index]
    except IndexError:
        return None


def _refuse_position(index: Value) -> QueryInvalid:
    return build_type_error(f"A list position is an Integer, not {name_type(index)}.")
