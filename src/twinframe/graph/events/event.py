"""An event read from the outbox, with its attributes, data and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import orjson

from twinframe.graph.events.envelope import EventType

Path: TypeAlias = tuple[str, ...]

_RELATIONSHIPS: Final = "Microsoft.DigitalTwins.Relationship."
_BELOW: Final = "/relationships/"
_MOST_DIGITS: Final = 18
"""The most digits of an index: no list is longer, and Python parses no number of thousands of
digits.
"""


class _Absent:
    """The type of `ABSENT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""Stands for a missing value; JSON's null is a present one."""


@dataclass(frozen=True, slots=True)
class Change:
    """One operation of an update: its path, and the values before and after, or `ABSENT`."""

    path: Path
    old: Any
    new: Any


class Event:
    """One event: `wire` is its envelope as sent; the rest is parsed at first use.

    `position` is that in the outbox, `key` the entity of the event: order is kept within a key.
    """

    __slots__ = ("_changes", "_document", "_notes", "key", "position", "wire")

    def __init__(self, position: int, key: str, text: bytes) -> None:
        self.position = position
        self.key = key
        self.wire, _, self._notes = text.partition(b"\n")
        self._document: dict[str, Any] | None = None
        self._changes: tuple[Change, ...] | None = None

    @property
    def text(self) -> bytes:
        """Its text in the outbox."""
        return b"%b\n%b" % (self.wire, self._notes) if self._notes else self.wire

    @property
    def document(self) -> dict[str, Any]:
        """The envelope, parsed once. Do not change it."""
        if self._document is None:
            self._document = orjson.loads(self.wire)
        return self._document

    @property
    def type(self) -> str:
        """The `type` attribute."""
        found: str = self.document["type"]
        return found

    @property
    def data(self) -> Any:
        """The `data` member."""
        return self.document["data"]

    @property
    def model_id(self) -> str | None:
        """The model of the event's twin: of its source for a relationship, of the sending twin for
        telemetry, also of a component; for events of models the model itself.
        """
        data = self.data
        match self.type:
            case EventType.TWIN_CREATE.value | EventType.TWIN_DELETE.value:
                found = data["$metadata"]["$model"]
            case EventType.TWIN_UPDATE.value | EventType.RELATIONSHIP_UPDATE.value:
                found = data["modelId"]
            case EventType.TELEMETRY.value:
                found = self._read_notes().get("model", self.document.get("dataschema"))
            case EventType.RELATIONSHIP_CREATE.value | EventType.RELATIONSHIP_DELETE.value:
                found = self._read_notes().get("model")
            case _:
                found = data["id"]
        return found if isinstance(found, str) else None

    @property
    def entity(self) -> tuple[str, str]:
        """The id of its twin and an empty text, or source and id of its relationship."""
        subject = self.document.get("subject", "")
        is_relationship = self.type.startswith(_RELATIONSHIPS)
        return self.key, subject[len(self.key) + len(_BELOW) :] if is_relationship else ""

    @property
    def target_id(self) -> str:
        """The target of a changed relationship; empty for other events."""
        found = self._read_notes().get("target", "")
        return found if isinstance(found, str) else ""

    @property
    def changes(self) -> Sequence[Change]:
        """The changes of an update, in order; none for other events."""
        if self._changes is None:
            self._changes = self._read_changes()
        return self._changes

    def _read_notes(self) -> dict[str, Any]:
        notes: dict[str, Any] = orjson.loads(self._notes) if self._notes else {}
        return notes

    def _read_changes(self) -> tuple[Change, ...]:
        data = self.data
        if not isinstance(data, dict) or not isinstance(data.get("patch"), list):
            return ()
        if self.type not in (EventType.TWIN_UPDATE.value, EventType.RELATIONSHIP_UPDATE.value):
            return ()
        patch: list[dict[str, Any]] = data["patch"]
        olds: list[list[Any] | int] = self._read_notes().get("old", [[]] * len(patch))
        paths = [_parse_pointer(operation["path"]) for operation in patch]
        return tuple(
            Change(path, _read_old(path, old, paths, olds), operation.get("value", ABSENT))
            for operation, path, old in zip(patch, paths, olds, strict=True)
        )


def _read_old(
    path: Path, old: list[Any] | int, paths: Sequence[Path], olds: Sequence[list[Any] | int]
) -> Any:
    """See `changes.Changes`."""
    below: Path = ()
    if isinstance(old, int):
        below = path[len(paths[old]) :]
        old = olds[old]
    return find_value(old[0], below) if isinstance(old, list) and old else ABSENT


def _parse_pointer(pointer: str) -> Path:
    segments = pointer[1:].split("/")
    return tuple(segment.replace("~1", "/").replace("~0", "~") for segment in segments)


def find_value(value: Any, path: Sequence[str]) -> Any:
    """Return the value at a path of a JSON value, or `ABSENT`; digits may be an index."""
    for segment in path:
        if isinstance(value, dict) and segment in value:
            value = value[segment]
        elif isinstance(value, list) and segment.isascii() and segment.isdecimal():
            if len(segment) > _MOST_DIGITS or int(segment) >= len(value):
                return ABSENT
            value = value[int(segment)]
        else:
            return ABSENT
    return value
