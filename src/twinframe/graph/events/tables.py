"""Builds the rows of data history from events: those of the vendor's three tables.

SPEC: the vendor's data history. A row of a property has the name of the property as its key, and
its whole value, also if a part of it changed; a property of a component has the name of the
component and a dot before its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from twinframe.graph.events.envelope import EventType
from twinframe.graph.events.event import ABSENT, Change, Event, Path, find_value
from twinframe.hooks.event_sinks.tables import (
    PROPERTY_EVENTS,
    RELATIONSHIP_EVENTS,
    TWIN_EVENTS,
    TableRow,
)

Document = Mapping[str, Any]

_METADATA: Final = "$metadata"
_SOURCE_TIME: Final = "sourceTime"
_CREATE: Final = "Create"
_UPDATE: Final = "Update"
_DELETE: Final = "Delete"

_UPDATES: Final = frozenset({EventType.TWIN_UPDATE.value, EventType.RELATIONSHIP_UPDATE.value})
_TWINS: Final = {EventType.TWIN_CREATE.value: _CREATE, EventType.TWIN_DELETE.value: _DELETE}
_RELATIONSHIPS: Final = {
    EventType.RELATIONSHIP_CREATE.value: _CREATE,
    EventType.RELATIONSHIP_DELETE.value: _DELETE,
}


def build_table_rows(event: Event, document: Document | None = None) -> list[TableRow]:
    """Build the rows of an event; none for models and telemetry.

    A creation has a row for the twin or relationship and one for each of its properties, an update
    one for each property that it changed. `document` is that of the twin or relationship after the
    event, for those of which `needs_document` says so. If it is no longer known, the key of a part
    that changed is its path.
    """
    if event.type in _TWINS or event.type in _RELATIONSHIPS:
        return [*_build_lifecycle_rows(event)]
    if event.type not in _UPDATES:
        return []
    relationship = event.target_id, event.entity[1]
    values: dict[Path, Any] = {}
    times: dict[Path, str] = {}
    for change in event.changes:
        _collect_change(change, document, values, times)
    return [_build_property_row(event, key, values[key], times, relationship) for key in values]


def needs_document(event: Event) -> bool:
    """Whether an event alone does not say which property changed, and to what."""
    return event.type in _UPDATES and any(_is_partial(change) for change in event.changes)


def _is_partial(change: Change) -> bool:
    if _METADATA in change.path[:2]:
        return False
    return len(change.path) > 1 or (isinstance(change.new, dict) and not _is_part(change.new))


def _build_lifecycle_rows(event: Event) -> Iterator[TableRow]:
    data: dict[str, Any] = event.data
    time, service = event.document["time"], event.document["source"]
    relationship = ("", "")
    if event.type in _TWINS:
        action, model = _TWINS[event.type], event.model_id or ""
        yield TableRow(TWIN_EVENTS, (data["$dtId"], action, time, service, model))
    else:
        action = _RELATIONSHIPS[event.type]
        relationship = data["$targetId"], data["$relationshipId"]
        ends = data["$sourceId"], data["$targetId"]
        name = data["$relationshipName"]
        row = (data["$relationshipId"], name, action, time, service, *ends)
        yield TableRow(RELATIONSHIP_EVENTS, row)
    if action == _DELETE:
        return
    values: dict[Path, Any] = {}
    times: dict[Path, str] = {}
    _collect_times((), data, times)
    for name, value in data.items():
        if _is_part(value):
            _collect_part(name, ABSENT, value, values, times)
        elif not name.startswith("$"):
            values[name,] = value
    for key, value in values.items():
        yield _build_property_row(event, key, value, times, relationship)


def _collect_change(
    change: Change, document: Document | None, values: dict[Path, Any], times: dict[Path, str]
) -> None:
    """Add the properties that a change gives another value, and the times of their sources."""
    path = change.path
    if _METADATA in path[:2]:
        if path[-1] == _SOURCE_TIME and isinstance(change.new, str):
            times[tuple(name for name in path[:-1] if name != _METADATA)] = change.new
        return
    if path[0].startswith("$"):
        return
    stored = None if document is None else document.get(path[0])
    if not (_is_part(stored) or _is_part(change.old) or _is_part(change.new)):
        _collect_value(path, 1, change, document, values)
    elif len(path) > 1:
        _collect_value(path, 2, change, document, values)
    else:
        _collect_part(path[0], change.old, change.new, values, times)


def _collect_value(
    path: Path, length: int, change: Change, document: Document | None, values: dict[Path, Any]
) -> None:
    """Add the value of a property, whose path has this length; `path` may lead below it."""
    if len(path) > length and document is not None:
        values[path[:length]] = find_value(document, path[:length])
    else:
        values[path] = change.new


def _collect_part(
    name: str, old: Any, new: Any, values: dict[Path, Any], times: dict[Path, str]
) -> None:
    """Add the properties of a component that was put or removed as a whole."""
    before = old if isinstance(old, dict) else {}
    after = new if isinstance(new, dict) else {}
    for inner in (*after, *(key for key in before if key not in after)):
        if not inner.startswith("$"):
            values[name, inner] = after.get(inner, ABSENT)
    _collect_times((name,), after, times)


def _collect_times(under: Path, document: Document, times: dict[Path, str]) -> None:
    metadata = document.get(_METADATA)
    for name, entry in metadata.items() if isinstance(metadata, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get(_SOURCE_TIME), str):
            times[*under, name] = entry[_SOURCE_TIME]


def _is_part(value: Any) -> bool:
    """Whether it is a component: only these have metadata of their own."""
    return isinstance(value, dict) and isinstance(value.get(_METADATA), dict)


def _build_property_row(
    event: Event, key: Path, value: Any, times: Mapping[Path, str], relationship: tuple[str, str]
) -> TableRow:
    is_absent = value is ABSENT
    return TableRow(
        PROPERTY_EVENTS,
        (
            event.document["time"],
            times.get(key),
            event.document["source"],
            event.key,
            event.model_id or "",
            ".".join(key),
            None if is_absent else orjson.dumps(value).decode(),
            *relationship,
            _DELETE if is_absent else _UPDATE,
        ),
    )
