"""The models and twins the wire tests share, and how an answer is judged; it calls no server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tests.e2e.wire import Wire

Json = Any
Answer = tuple[int, dict[str, str], Json]

VERSION = "api-version=2023-10-31"
JSON_TYPE = "application/json; charset=utf-8"
ETAG = re.compile(r'W/"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"')
UPDATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z")
UPLOAD_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,6}[1-9])?\+00:00")
OTHER_ETAG = 'W/"7e67a355-f19c-4c19-8a10-2d69b2d2253f"'

SPACE, ROOM, CLIMATE, WORDS = (
    f"dtmi:com:wire:{name};1" for name in ("Space", "Room", "Climate", "Words")
)


def interface(model_id: str, *contents: Json, version: int = 2, **more: Json) -> Json:
    """A DTDL interface."""
    context = f"dtmi:dtdl:context;{version}"
    return {
        "@context": context,
        "@id": model_id,
        "@type": "Interface",
        **more,
        "contents": list(contents),
    }


def prop(name: str, schema: Json) -> Json:
    """A DTDL property."""
    return {"@type": "Property", "name": name, "schema": schema}


def link(name: str, target: str | None = None, *properties: Json) -> Json:
    """A DTDL relationship."""
    made = {"@type": "Relationship", "name": name, "properties": list(properties)}
    return made if target is None else {**made, "target": target}


MODELS = [
    interface(
        ROOM,
        prop("Temperature", "double"),
        prop("Name", "string"),
        prop("Seats", "integer"),
        prop("Visits", "long"),
        prop("Open", "boolean"),
        prop("Gain", "float"),
        prop("Built", "date"),
        prop("Checked", "dateTime"),
        prop("Wakes", "time"),
        prop("Lease", "duration"),
        prop(
            "Address",
            {
                "@type": "Object",
                "fields": [
                    {"name": "street", "schema": "string"},
                    {"name": "number", "schema": "integer"},
                ],
            },
        ),
        prop(
            "Stock",
            {
                "@type": "Map",
                "mapKey": {"name": "key", "schema": "string"},
                "mapValue": {"name": "value", "schema": "integer"},
            },
        ),
        prop(
            "State",
            {
                "@type": "Enum",
                "valueSchema": "string",
                "enumValues": [{"name": "free", "enumValue": "f"}],
            },
        ),
        {"@type": "Telemetry", "name": "Humidity", "schema": "double"},
        {"@type": "Component", "name": "Climate", "schema": CLIMATE},
        link("has", ROOM, prop("restricted", "boolean"), prop("since", "string")),
        link("knows"),
        displayName="Room",
        extends=SPACE,
    ),
    interface(CLIMATE, prop("Mode", "string"), prop("Setpoint", "double")),
    interface(
        SPACE,
        prop("Area", "double"),
        link("part", "dtmi:com:wire:Nowhere;1"),
        displayName={"en": "Space", "de": "Raum"},
        description="where something is",
    ),
    interface(
        WORDS,
        *(
            prop(word, "string")
            for word in ("select", "from", "where", "order", "match", "join", "top", "count")
        ),
        prop("name", "string"),
        prop(
            "stock",
            {
                "@type": "Map",
                "mapKey": {"name": "key", "schema": "string"},
                "mapValue": {"name": "value", "schema": "integer"},
            },
        ),
    ),
]


def room(**contents: Json) -> Json:
    """The body of a room's PUT."""
    return {"$metadata": {"$model": ROOM}, "Climate": {}, **contents}


def climate(**contents: Json) -> Json:
    """The body of a climate's PUT, a twin of the smallest model."""
    return {"$metadata": {"$model": CLIMATE}, **contents}


def seed(wire: Wire) -> None:
    """Upload the models."""
    status, _, document = wire.call("POST", f"/models?{VERSION}", MODELS)
    assert status == 201, document


def twin_path(twin: str, *rest: str) -> str:
    """The path of a twin or of something below it, with the version."""
    below = "".join("/" + quote(part, safe="") for part in rest)
    return f"/digitaltwins/{quote(twin, safe='')}{below}?{VERSION}"


def edge_path(source: str, relationship: str) -> str:
    """The path of a relationship."""
    return twin_path(source, "relationships", relationship)


def must(answer: Answer, status: int = 200) -> Json:
    """The document of an answer that must have this status."""
    assert answer[0] == status, answer
    return answer[2]


def put_room(wire: Wire, twin: str, **contents: Json) -> Json:
    """Create or replace a room."""
    return must(wire.call("PUT", twin_path(twin), room(**contents)))


def put_edge(wire: Wire, source: str, relationship: str, name: str, target: str) -> Json:
    """Create or replace a relationship."""
    body = {"$relationshipName": name, "$targetId": target}
    return must(wire.call("PUT", edge_path(source, relationship), body))


def check_refusal(answer: Answer, status: int, code: str) -> None:
    """Judge an error of the service: status, envelope, and the code in body and header alike.

    Two have no header: `problem`, and `BadRequest` where there is no body.
    """
    got, headers, document = answer
    assert got == status, answer
    assert "etag" not in headers
    if code == "problem":
        assert headers["content-type"] == "application/problem+json; charset=utf-8"
        assert "x-ms-error-code" not in headers
        check_problem(document, headers)
        return
    assert headers["content-type"] == JSON_TYPE
    assert document.keys() == {"error"}
    error = document["error"]
    assert error["code"] == code
    assert error["message"]
    is_empty = code == "BadRequest" and "request body" in error["message"]
    assert headers.get("x-ms-error-code") == (None if is_empty else code)
    if code == "ValidationFailed":
        assert error["message"] == "Invalid twin specified"
        assert error["details"]
        assert all(detail.keys() - {"target"} == {"code", "message"} for detail in error["details"])


def check_problem(document: Json, headers: Mapping[str, str]) -> None:
    """Judge the RFC 7807 document for a patch of non-objects."""
    assert list(document) == [
        "errors",
        "type",
        "title",
        "status",
        "detail",
        "instance",
        "extensions",
    ]
    assert document["title"] == "One or more validation errors occurred."
    assert document["status"] == 400
    assert document["errors"]["[0]"]
    assert document["extensions"] == {"traceId": headers["x-request-id"]}


def check_no_content(answer: Answer, *, etag: bool) -> None:
    """Judge a 204: no body, length 0, no type; an ETag after PATCH only."""
    status, headers, document = answer
    assert (status, document, headers.get("content-length")) == (204, None, "0"), answer
    assert "content-type" not in headers
    assert ("etag" in headers) is etag
    assert not etag or ETAG.fullmatch(headers["etag"])
