"""The declared kinds of a control store, and the checks that all drivers share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.storage.control import (
    MOST_VALUES,
    Comparison,
    Condition,
    Key,
    Order,
    Record,
    RecordConflict,
    RecordKind,
)

OWN_KEYS: Final = ("id", "version")
"""Keys that every kind has without declaration."""

_OWN_TYPES: Final[Mapping[str, type]] = {"id": str, "version": int}
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
_LARGEST: Final = 2**63 - 1


class DeclaredKinds:
    """All kinds a store was opened with. Raises `ValueError` for contradictory declarations.

    Drivers check with it first, so that all of them refuse the same.
    """

    def __init__(self, kinds: Sequence[RecordKind] = ()) -> None:
        self._kinds: Mapping[str, RecordKind] = {kind.name: kind for kind in kinds}
        if len(self._kinds) != len(kinds):
            raise ValueError("Two kinds of record have the same name.")
        for kind in kinds:
            _check_kind(kind)

    def find(self, name: str) -> RecordKind:
        """Return the kind of this name; `ValueError` if there is none."""
        kind = self._kinds.get(name)
        if kind is None:
            raise ValueError(_render_unknown("kind of record", name, self._kinds))
        return kind

    def build_keys(self, record: Record) -> dict[str, Key]:
        """All keys of the kind with the record's values, None where it has none."""
        kind = self.find(record.kind)
        for name in record.keys:
            if name not in kind.keys:
                raise ValueError(_render_unknown(f"key of {kind.name}", name, kind.keys))
        check_value("id", record.id)
        return {name: _build_plain(name, record.keys.get(name)) for name in kind.keys}

    def check_conditions(self, kind: str, conditions: Sequence[Condition]) -> None:
        """Raise `ValueError` for an undeclared key or a value that does not fit its comparison."""
        self.find(kind)
        for condition in conditions:
            self.check_key(kind, condition.key)
            value = condition.value
            if isinstance(value, tuple) != (condition.test is Comparison.IN):
                raise ValueError(f"{condition.key}: IN takes a tuple, and nothing else does.")
            values = value if isinstance(value, tuple) else (value,)
            if len(values) > MOST_VALUES:
                raise ValueError(f"{condition.key}: IN takes at most {MOST_VALUES} values.")
            for each in values:
                check_value(condition.key, each)
                own = _OWN_TYPES.get(condition.key)
                # NOTE: SQL would treat "5" as 5 here, which no other key does.
                if own is not None and each is not None and not isinstance(each, own):
                    raise ValueError(f"{condition.key} is a {own.__name__}, not {each!r}.")

    def check_page(self, kind: str, order: Order, offset: int, limit: int | None) -> None:
        """Raise `ValueError` for an order by an undeclared key, or a page below zero."""
        self.check_key(kind, order.key)
        for name, number in (("offset", offset), ("limit", limit)):
            if number is not None and not 0 <= number <= _LARGEST:
                raise ValueError(f"The {name} of a listing must not be {number}.")

    def check_key(self, kind: str, key: str) -> None:
        """Raise `ValueError` for a key that the kind does not have."""
        known = (*OWN_KEYS, *self.find(kind).keys)
        if key not in known:
            raise ValueError(_render_unknown(f"key of {kind}", key, known))


def check_value(name: str, value: Key) -> None:
    """`InvalidArgument` for a value that not every store can keep, `ValueError` for no key."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(
                f"{name} holds a lone surrogate, which is no Unicode character."
            ) from error
    elif isinstance(value, int) and not isinstance(value, bool):
        if not -_LARGEST - 1 <= value <= _LARGEST:
            raise InvalidArgument(f"{name} is an integer outside of the 64-bit range.")
    elif value is not None:
        raise ValueError(f"{name}: a key is a text, an integer or None, not {value!r}.")


def _build_plain(name: str, value: Key) -> Key:
    """Return the value itself, without the enumeration it may be a member of."""
    check_value(name, value)
    if isinstance(value, str):
        return str.__str__(value)
    return None if value is None else int(value)


def build_taken(record: Record) -> RecordConflict:
    """Build the error for an id that another record of the kind has."""
    return RecordConflict(
        f"There is a {record.kind} {record.id!r} already.",
        kind=record.kind,
        record_id=record.id,
    )


def build_shared(record: Record, keys: Sequence[str]) -> RecordConflict:
    """Build the error for unique keys that another record of the kind has."""
    shown = ", ".join(f"{key} {record.keys.get(key)!r}" for key in keys)
    return RecordConflict(
        f"Another {record.kind} has the same {shown}.", kind=record.kind, record_id=record.id
    )


def build_changed(kind: str, record_id: str) -> RecordConflict:
    """Build the error for a record that is gone or has another version than expected."""
    return RecordConflict(
        f"The {kind} {record_id!r} was changed or deleted meanwhile; read it again.",
        kind=kind,
        record_id=record_id,
    )


def _check_kind(kind: RecordKind) -> None:
    for name in (kind.name, *kind.keys):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a kind or key: a-z, 0-9 and _, a-z first.")
    if len(set(kind.keys)) != len(kind.keys) or set(kind.keys) & set(OWN_KEYS):
        raise ValueError(f"{kind.name}: keys must differ, from id and version too: {kind.keys}.")
    for group in (*kind.unique, *kind.indexes):
        if not group or len(set(group)) != len(group):
            raise ValueError(f"{kind.name}: a set of keys is not empty and has none twice: {group}")
    for name in (name for group in kind.unique for name in group):
        if name not in kind.keys:
            raise ValueError(_render_unknown(f"key of {kind.name}", name, kind.keys))
    for name in (name for group in kind.indexes for name in group):
        if name not in (*OWN_KEYS, *kind.keys):
            raise ValueError(_render_unknown(f"key of {kind.name}", name, kind.keys))


def _render_unknown(noun: str, name: str, known: Iterable[str]) -> str:
    return f"There is no {noun} named {name!r}. {render_hint(name, known, 'Declared are:')}"
