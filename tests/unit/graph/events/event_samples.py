"""Events as the outbox has them, for tests of what reads them."""

from __future__ import annotations

from typing import Any

import orjson

from twinframe.graph.events.changes import build_patch_changes
from twinframe.graph.events.envelope import (
    EventType,
    build_rows,
    render_changes,
    render_event,
    render_telemetry,
)
from twinframe.graph.events.event import Event
from twinframe.model.patches import parse_patch
from twinframe.query.evaluate.functions.digitaltwins import holds_model

TIME = "2024-01-31T12:00:00.0000000Z"
ROOM = "dtmi:example:Room;1"
SPACE = "dtmi:example:Space;1"


class Ancestors:
    """A scope in which rooms are spaces."""

    def is_of_model(self, model_id: str, wanted: str) -> bool:
        bases = {SPACE} if model_id.startswith("dtmi:example:Room;") else set[str]()
        return holds_model(frozenset({model_id, *bases}), wanted)


def build_twin(twin_id: str = "room1", **members: Any) -> dict[str, Any]:
    return {"$dtId": twin_id, "$etag": 'W/"1"', **members, "$metadata": {"$model": ROOM}}


def build_lifecycle(kind: EventType = EventType.TWIN_CREATE, **members: Any) -> Event:
    data = orjson.dumps(build_twin(**members))
    return Event(1, "room1", render_event(kind, b'"host"', "room1", TIME, data))


def build_update(before: dict[str, Any], *operations: dict[str, Any], model: str = ROOM) -> Event:
    patch = parse_patch(list(operations), max_operations=100)
    notes = {"old": build_patch_changes(before, patch).old}
    data = render_changes(model, build_rows(patch))
    text = render_event(EventType.TWIN_UPDATE, b'"host"', "room1", TIME, data, notes)
    return Event(2, "room1", text)


def build_relationship(kind: EventType = EventType.RELATIONSHIP_CREATE, **members: Any) -> Event:
    data = {
        "$relationshipId": "r1", "$etag": 'W/"1"', "$sourceId": "room1",
        "$relationshipName": "has", "$targetId": "lamp", **members,
    }  # fmt: skip
    subject = "room1/relationships/r1"
    notes = {"model": ROOM}
    text = render_event(kind, b'"host"', subject, TIME, orjson.dumps(data), notes)
    return Event(3, "room1", text)


def build_telemetry(payload: dict[str, Any], component: str | None = None) -> Event:
    text = render_telemetry("host", "room 1", component, ROOM, "m1", TIME, payload)
    return Event(4, "room 1", text)


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}
