"""The day of the sample campus as a file with history, in the form of `twinframe export`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from twinframe.demo.building import Building, Document, load_ontology
from twinframe.demo.day import DAY, Path, Update, iterate_points, list_updates

BUILDERS: Final = "commissioning"
"""Who created all at the beginning of the day."""
_METADATA: Final = "$metadata"
_TOUCHED: Final = "$lastUpdateTime"


def render_past(campus: Building, now: datetime) -> Iterator[bytes]:
    """Yield the lines of a file whose changes end at `now`."""
    return (orjson.dumps(line) + b"\n" for line in _list_lines(campus, now))


def render_points(campus: Building, now: datetime) -> Iterator[bytes]:
    """Yield the telemetry of that day as lines of bulk requests."""
    for time, twin, path, value in iterate_points(campus, now):
        line = {"twinId": twin, "path": path, "value": value, "time": _render_time(time)}
        yield orjson.dumps(line) + b"\n"


def _list_lines(campus: Building, now: datetime) -> Iterator[Document]:
    updates = list_updates(campus, now)
    at = _render_time((now - DAY).timestamp())
    twins = _build_beginning(campus, updates, at)
    own: Document = {"exact": True, "models": {}, "deletedModels": {}}
    yield {"Section": "Header"}
    yield {"fileVersion": "1.0.0", "twinframe": {**own, "history": f"sample campus of {at}"}}
    yield {"Section": "History"}
    yield {"fileVersion": "1.0.0", "twinframe": own}
    yield {"Section": "Changes"}
    count = 0
    for line in _list_creations(campus, twins, at):
        count += 1
        yield line
    for line in _list_changes(twins, updates):
        count += 1
        yield line
    yield {"changes": count}


def _list_creations(campus: Building, twins: dict[str, Document], at: str) -> Iterator[Document]:
    facts: Document = {"time": at, "who": BUILDERS}
    for model in load_ontology():
        yield {
            "change": "ModelCreated", **facts, "id": model["@id"], "uploadTime": at,
            "document": model,
        }  # fmt: skip
    for twin, document in twins.items():
        yield {"change": "TwinCreated", **facts, "id": twin, "document": document}
    for edge in campus.edges:
        own = {"$sourceId": edge.source, "$relationshipId": edge.id, **edge.document}
        yield {
            "change": "RelationshipCreated", **facts, "id": edge.source,
            "relationshipId": edge.id, "document": own,
        }  # fmt: skip


def _list_changes(twins: dict[str, Document], updates: Sequence[Update]) -> Iterator[Document]:
    for time, twin, values, who in updates:
        document: Any = twins[twin]
        news = {path: value for path, value in values.items() if _read(document, path) != value}
        if not news:
            continue
        at = _render_time(time)
        for path, value in news.items():
            _write(document, path, value)
            _write_time(document, path, at)
        yield {"change": "TwinUpdated", "time": at, "who": who, "id": twin, "document": document}


def _build_beginning(campus: Building, updates: Sequence[Update], at: str) -> dict[str, Document]:
    """The twins of the campus as they were created at `at`, with the first values of the day."""
    twins: dict[str, Document] = {
        twin: {"$dtId": twin, **deepcopy(document)} for twin, document in campus.twins.items()
    }
    known: set[tuple[str, Path]] = set()
    for _, twin, values, _ in updates:
        for path, value in values.items():
            if (twin, path) not in known:
                known.add((twin, path))
                _write(twins[twin], path, value)
    components = _list_components()
    for document in twins.values():
        for owner in (document, *(document[name] for name in components & document.keys())):
            _write_beginning(owner, at)
    return twins


def _list_components() -> frozenset[str]:
    """The names of all components of the sample's interfaces."""
    contents: Any = (one for model in load_ontology() for one in model.get("contents", ()))  # type: ignore[attr-defined]
    return frozenset(one["name"] for one in contents if one["@type"] == "Component")


# --- documents ------------------------------------------------------------------------------------


def _read(document: Any, path: Path) -> Any:
    for name in path:
        document = document[name]
    return document


def _write(document: Any, path: Path, value: object) -> None:
    _read(document, path[:-1])[path[-1]] = value


def _write_beginning(owner: Any, at: str) -> None:
    """Give an owner of properties the times of its creation."""
    names = [name for name in owner if not name.startswith("$")]
    given = owner.get(_METADATA, {})
    owner[_METADATA] = {
        **given, _TOUCHED: at, **{name: {"lastUpdateTime": at} for name in names}
    }  # fmt: skip


def _write_time(document: Any, path: Path, at: str) -> None:
    """Set the times that a patch of a property sets."""
    owner = _read(document, path[:-1])
    owner[_METADATA][path[-1]] = {"lastUpdateTime": at}
    for one in (document, owner):
        one[_METADATA][_TOUCHED] = at


def _render_time(time: float) -> str:
    """Render seconds since 1970 as the service writes times."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "0Z"
