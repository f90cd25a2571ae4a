"""What the known clients send beyond the contract: explorer, command line, other SDKs."""

from __future__ import annotations

import http.client
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.clients import AsyncClient, SyncClient
from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.e2e.wire_world import (
    CLIMATE,
    MODELS,
    ROOM,
    SPACE,
    WORDS,
    check_no_content,
    check_refusal,
    edge_path,
    must,
    put_edge,
    put_room,
    room,
    twin_path,
)
from tests.e2e.world import World

Json = Any
VERSIONS = [
    "api-version=2020-10-31",
    "api-version=2021-06-30-preview",
    "api-version=2022-05-31",
    "api-version=2023-10-31",
    "api-version=",
    "",
]


# --- any client -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("base", ["", "/api", "/API"])
def test_every_version_and_base_answers_alike(
    wire: Wire, wire_server: Server, version: str, base: str
) -> None:
    twin = must(wire.call("PUT", f"{base}/digitaltwins/versions?{version}", room()))
    assert "$lastUpdateTime" in twin["$metadata"]
    assert must(wire.call("GET", f"{base}/DigitalTwins/versions?{version}")) == twin
    part = must(wire.call("GET", f"{base}/digitaltwins/versions/Components/Climate?{version}"))
    assert part == twin["Climate"]
    page = must(wire.call("GET", f"{base}/Models?{version}", max_items_per_page="1"))
    asked = version.removeprefix("api-version=") or "2023-10-31"
    assert page["nextLink"].startswith(f"{wire_server.url}{base}/Models?")
    assert page["nextLink"].endswith(f"api-version={asked}")


@pytest.mark.parametrize(
    ("method", "content_type", "status"),
    [
        ("PUT", "application/json", 200),
        ("PUT", "application/json; charset=utf-8", 200),
        ("PUT", 'application/JSON;charset="UTF-8"', 200),
        ("PUT", "application/json;odata=nometadata", 200),
        ("PUT", "text/plain", 415),
        ("PUT", "application/json; charset=utf-16", 415),
        ("PATCH", "application/json-patch+json", 204),
        ("PATCH", "application/json-patch+json; charset=utf-8", 204),
        ("PATCH", "application/json", 204),
        ("PATCH", "application/json; charset=utf-8", 204),
        ("PATCH", "application/merge-patch+json", 415),
    ],
)
def test_content_types_come_with_charsets(
    wire: Wire, method: str, content_type: str, status: int
) -> None:
    put_room(wire, "types")
    body: Json = room() if method == "PUT" else []
    answer = wire.call(method, twin_path("types"), body, Content_Type=content_type)
    if status == 415:
        check_refusal(answer, 415, "UnsupportedMediaType")
    else:
        must(answer, status)


def test_empty_parameters_ask_for_nothing_and_blanks_around_a_header_are_not_its_value(
    wire: Wire,
) -> None:
    put_room(wire, "empty")
    put_room(wire, "empty2")
    put_edge(wire, "empty", "e", "knows", "empty2")
    put_edge(wire, "empty", "f", "has", "empty2")
    path = f"{twin_path('empty', 'relationships')}&relationshipName=&continuationToken="
    assert len(must(wire.call("GET", path))["value"]) == 2
    query = {"query": "SELECT COUNT() FROM DIGITALTWINS WHERE $dtId = 'empty'"}
    page = must(wire.call("POST", "/query?", {**query, "continuationToken": ""}))
    assert page["value"] == [{"COUNT": 1}]
    page = must(wire.call("GET", path, max_items_per_page=" 1 "))
    assert len(page["value"]) == 1
    empty = "/models?dependenciesFor=&includeModelDefinition=&continuationToken=&api-version="
    everything = must(wire.call("GET", "/models"))
    assert must(wire.call("GET", empty)) == everything
    assert must(wire.call("GET", f"/models/{quote(ROOM)}?includeModelDefinition=&api-version="))
    reading = {"Message_Id": "", "Telemetry_Source_Time": ""}
    answer = wire.call("POST", twin_path("empty", "telemetry"), {"Humidity": 1}, **reading)
    check_no_content(answer, etag=False)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("dependenciesFor=", None),
        ("dependenciesFor=&dependenciesFor=", None),
        ("dependenciesFor=,", None),
        (f"dependenciesFor={ROOM}", {ROOM, SPACE, CLIMATE}),
        (f"dependenciesFor=&dependenciesFor={ROOM}", {ROOM, SPACE, CLIMATE}),
        (f"dependenciesFor={CLIMATE},{WORDS}", {CLIMATE, WORDS}),
        (f"dependenciesFor={CLIMATE}%2C{WORDS}", {CLIMATE, WORDS}),
        (f"dependenciesFor={CLIMATE},%20{WORDS},", {CLIMATE, WORDS}),
        (f"dependenciesFor={CLIMATE}&dependenciesFor={WORDS}", {CLIMATE, WORDS}),
        (f"dependenciesFor={CLIMATE},{WORDS}&dependenciesFor={SPACE}", {CLIMATE, WORDS, SPACE}),
    ],
)
def test_models_are_asked_for_with_commas_or_repeatedly_or_not_at_all(
    wire: Wire, asked: str, found: set[str] | None
) -> None:
    # The links are followed as they are, and with the parameters put behind as some clients do.
    path: str | None = f"/models?includeModelDefinition=false&{asked.replace(';', '%3B')}"
    ids: list[str] = []
    while path is not None:
        page = must(wire.call("GET", path, max_items_per_page="1"))
        ids += [model["id"] for model in page["value"]]
        link = page["nextLink"]
        path = None if link is None else link[link.index("/models") :]
    assert len(ids) == len(set(ids))
    assert set(ids) == found if found else set(ids) >= {model["@id"] for model in MODELS}


def test_a_model_that_is_not_there_is_named(wire: Wire) -> None:
    path = f"/models?dependenciesFor={quote(f'{ROOM},dtmi:com:wire:Nothing;1')}"
    answer = wire.call("GET", path)
    check_refusal(answer, 404, "ModelNotFound")
    assert "dtmi:com:wire:Nothing;1" in answer[2]["error"]["message"]
    check_refusal(wire.call("GET", "/models?dependenciesFor=Room"), 400, "InvalidArgument")


def test_head_is_get_without_its_body_and_options_names_the_methods(
    wire: Wire, wire_server: Server
) -> None:
    put_room(wire, "head")
    connection = http.client.HTTPConnection("127.0.0.1", wire_server.port, timeout=120)
    for path, status in ((twin_path("head"), 200), (twin_path("nobody"), 404)):
        connection.request("GET", path)
        answer = connection.getresponse()
        length = len(answer.read())
        connection.request("HEAD", path)
        head = connection.getresponse()
        assert (head.status, head.read()) == (status, b"")
        assert head.headers["content-length"] == str(length)
        assert head.headers["etag"] == answer.headers["etag"]
        assert head.headers["x-ms-error-code"] == answer.headers["x-ms-error-code"]
    connection.close()
    got, headers, _ = wire.call("OPTIONS", twin_path("head"))
    assert (got, headers["allow"]) == (204, "DELETE, GET, HEAD, OPTIONS, PATCH, PUT")
    check_refusal(wire.call("POST", twin_path("head"), {}), 405, "MethodNotAllowed")
    check_refusal(wire.call("GET", "/nowhere"), 404, "NotFound")


def test_chunked_bodies_and_trace_ids_are_taken(wire_server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", wire_server.port, timeout=120)
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "traceparent": f"00-{trace}-b7ad6b7169203331-01",
        "x-ms-client-request-id": "abc",
    }
    body = iter([b'{"$metadata":{"$mo', b'del":"' + CLIMATE.encode() + b'"}}'])
    connection.request("PUT", twin_path("chunked"), body, headers, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    assert answer.headers["traceresponse"].startswith(f"00-{trace}-")
    assert "x-ms-client-request-id" not in answer.headers
    connection.close()


@pytest.mark.parametrize("make", [SyncClient, AsyncClient])
def test_the_python_sdk_works_below_the_base_path(
    server: Server, unique: Any, make: type[SyncClient | AsyncClient]
) -> None:
    assert server.certificates is not None
    client = make(f"{server.url}/api", str(server.certificates.authority))
    try:
        check_sdk(client, server, unique)
    finally:
        client.close()


def check_sdk(client: SyncClient | AsyncClient, server: Server, unique: Any) -> None:
    world = World.named(unique)
    client.create_models(world.models())
    listed = client.list_models([world.room], headers={"max-items-per-page": "1"})
    assert {model.id for model in listed} == {world.room, world.climate}
    hub = unique("hub/ü ")
    client.upsert_digital_twin(hub, world.building_twin())
    rooms = [unique("room") for _ in range(3)]
    for twin in rooms:
        client.upsert_digital_twin(twin, world.room_twin())
        edge = {"$relationshipName": "has", "$targetId": twin}
        client.upsert_relationship(hub, f"to {twin}", edge)
    assert len(client.list_relationships(hub, headers={"max-items-per-page": "1"})) == 3
    (incoming,) = client.list_incoming_relationships(rooms[0])
    assert incoming.source_id == hub
    assert incoming.relationship_link.startswith(f"{server.url}/api/digitaltwins/")
    query = f"SELECT * FROM RELATIONSHIPS WHERE $sourceId = '{hub}'"
    assert len(client.query_twins(query, headers={"max-items-per-page": "1"})) == 3


# --- the command line -----------------------------------------------------------------------------


def test_the_command_line_edits_and_deletes_under_a_star(wire: Wire) -> None:
    put_room(wire, "cli")
    put_room(wire, "cli2")
    put_edge(wire, "cli", "e", "has", "cli2")
    kind = "application/json-patch+json; charset=utf-8"
    for path, operation in (
        (twin_path("cli"), {"op": "add", "path": "/Temperature", "value": 1.5}),
        (edge_path("cli", "e"), {"op": "add", "path": "/restricted", "value": True}),
        (
            twin_path("cli", "components", "Climate"),
            {"op": "add", "path": "/Mode", "value": "on"},
        ),
    ):
        answer = wire.call("PATCH", path, [operation], If_Match="*", Content_Type=kind)
        check_no_content(answer, etag=True)
    query = {"query": "select * from digitaltwins"}
    rows = must(wire.call("POST", "/query?api-version=2023-10-31", query))["value"]
    assert must(wire.call("GET", twin_path("cli"))) in rows
    # It deletes all relationships of a twin as it finds them in the two lists.
    for item in must(wire.call("GET", twin_path("cli2", "incomingrelationships")))["value"]:
        path = edge_path(item["$sourceId"], item["$relationshipId"])
        check_no_content(wire.call("DELETE", path, If_Match="*"), etag=False)
    for twin in ("cli", "cli2"):
        check_no_content(wire.call("DELETE", twin_path(twin), If_Match="*"), etag=False)


# --- the explorer ---------------------------------------------------------------------------------

PREVIEW = "api-version=2021-06-30-preview"


def explore(wire: Wire, text: str) -> list[Json]:
    """All rows of a query, as the explorer asks for them."""
    page = must(wire.call("POST", f"/query?{PREVIEW}", {"query": text}))
    rows = list(page["value"])
    while page["continuationToken"]:
        page = must(wire.call("POST", f"/query?{PREVIEW}", page))
        rows += page["value"]
    return rows


def test_the_explorer_starts_with_all_models_and_their_definitions(wire: Wire) -> None:
    page = must(wire.call("GET", f"/models?includeModelDefinition=true&{PREVIEW}"))
    found = {model["id"]: model["model"] for model in page["value"]}
    for model in MODELS:
        assert found[model["@id"]] == model


def test_the_explorer_finds_relationships_of_as_many_twins_as_it_shows(wire: Wire) -> None:
    put_room(wire, "explorer's")
    put_room(wire, "explored")
    edge = put_edge(wire, "explorer's", "e", "knows", "explored")
    strangers = ",".join(rf"'not\'{number}'" for number in range(1500))
    for end, twin in (("$sourceId", r"explorer\'s"), ("$targetId", "explored")):
        text = f"SELECT * FROM RELATIONSHIPS r WHERE r.{end} IN [{strangers},'{twin}']"
        assert explore(wire, text) == [edge]


def test_the_explorer_brings_its_export_back(wire: Wire) -> None:
    put_room(wire, "export", Temperature=1, Climate={"Mode": "auto"})
    put_room(wire, "export2")
    must(
        wire.call(
            "PUT",
            edge_path("export", "e"),
            {"$relationshipName": "has", "$targetId": "export2", "restricted": True},
        )
    )
    twin = must(wire.call("GET", f"/digitaltwins/export?{PREVIEW}"))
    edge = must(wire.call("GET", f"/digitaltwins/export/relationships/e?{PREVIEW}"))
    exported = {**twin, "$metadata": {"$model": ROOM}}
    check_no_content(wire.call("DELETE", edge_path("export", "e")), etag=False)
    check_no_content(wire.call("DELETE", twin_path("export")), etag=False)

    back = must(wire.call("PUT", f"/digitaltwins/export?{PREVIEW}", exported))
    assert back["$etag"] != twin["$etag"]
    now = back["$metadata"]["$lastUpdateTime"]
    assert now > twin["$metadata"]["$lastUpdateTime"]
    assert back["Temperature"] == 1
    assert back["Climate"] == {
        "Mode": "auto",
        "$metadata": {"$lastUpdateTime": now, "Mode": {"lastUpdateTime": now}},
    }
    again = must(wire.call("PUT", f"/digitaltwins/export/relationships/e?{PREVIEW}", edge))
    assert again == {**edge, "$etag": again["$etag"]}
    assert again["$etag"] != edge["$etag"]
