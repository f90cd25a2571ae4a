"""Any request to the twin, relationship and model operations is answered, and as documented.

`TWINFRAME_EXAMPLES` is how many sequences of requests are tried.
"""

from __future__ import annotations

import asyncio
import json
import os
from functools import cache
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.conftest import Answered, Client
from twinframe.graph import Graph
from twinframe.http.application import build_application
from twinframe.http.graph.schemas import ErrorResponse, Problem
from twinframe.http.operations import Route
from twinframe.http.routes import ROUTES
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryGraph, MemoryStore
from twinframe.storage.memory_state import GraphState
from twinframe.testing.factories import (
    FLOOR,
    ROOM,
    SENSOR,
    build_building_interfaces,
    build_interface,
    build_property,
    build_twin_document,
)

EXAMPLES = int(os.environ.get("TWINFRAME_EXAMPLES", "120"))
OPERATIONS = [
    route
    for route in ROUTES
    if route.path.split("/")[1] in ("digitaltwins", "relationships", "models", "$transaction")
    and route.tag != "Series"  # it needs a point store: tests/unit/graph/series
]
WRITES = [
    route
    for route in OPERATIONS
    if route.method != "GET" and route.operation_id != "DigitalTwinModels_DeleteAll"
]
TWINS = ("a", "b", "c")

# --- what is sent ---------------------------------------------------------------------------------

ODD = st.one_of(
    st.sampled_from(
        ["", ".", "..", "$dtId", "a b", "ü/ö", "\u202e", "a\x00", "x" * 3000, "'; --", "null", "*"]
    ),
    st.text(max_size=5),
)
ID = st.one_of(st.sampled_from([*TWINS, "new", "r", "thermostat", ROOM, SENSOR]), ODD)
SCALAR = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), ODD,
    st.sampled_from(["2024-01-31T12:00:00Z", ROOM, FLOOR, 1.5, 2**63, -1e308]),
)  # fmt: skip
NAME = st.one_of(
    st.sampled_from(
        ["name", "temperature", "tags", "thermostat", "$metadata", "$model", "$dtId", "$etag", "op",
         "$relationshipName", "$targetId", "$sourceId", "$relationshipId", "since", "value"]
    ),
    ODD,
)  # fmt: skip
VALUE: st.SearchStrategy[Any] = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=3),
    max_leaves=6,
)
POINTER = st.one_of(
    st.sampled_from(
        ["/name", "/temperature", "/tags/k", "/thermostat", "/thermostat/mode", "/$metadata/$model",
         "/$metadata/name/sourceTime", "/decommissioned", "/readings/-", "/readings/99999999999"]
    ),
    st.lists(NAME, max_size=3).map(lambda parts: "".join(f"/{part}" for part in parts)),
    ODD,
)  # fmt: skip
FITTING_CHANGE = st.sampled_from(
    [
        {"op": "add", "path": "/name", "value": "n"},
        {"op": "add", "path": "/mode", "value": "m"},
        {"op": "add", "path": "/since", "value": "2024-01-31"},
        {"op": "replace", "path": "/decommissioned", "value": True},
        {"op": "replace", "path": "/$metadata/$model", "value": FLOOR},
    ]
)
PATCH = st.lists(FITTING_CHANGE, max_size=1) | st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "replace", "remove"]), "path": POINTER, "value": VALUE}
        ),
        VALUE,
    ),
    max_size=3,
)
SOME = st.just({}) | st.dictionaries(NAME, VALUE, max_size=2)
TWIN = st.builds(
    lambda model, more: {**build_twin_document(model), **more},
    st.sampled_from([ROOM, SENSOR, FLOOR]),
    SOME,
)
EDGE = st.builds(
    lambda name, target, more: {"$relationshipName": name, "$targetId": target, **more},
    st.sampled_from(["relatedTo", "watchedBy", "hasPart"]),
    st.sampled_from(TWINS) | ID,
    SOME,
)
MODEL = st.builds(
    build_interface,
    st.sampled_from(["dtmi:com:example:New;1", "dtmi:com:example:Other;1", ROOM]) | ODD,
    st.one_of(
        st.lists(st.builds(build_property, NAME, st.sampled_from(["string", "long"])), max_size=2),
        st.lists(VALUE, max_size=2),
    ),
)
ETAG = st.one_of(
    st.sampled_from(["*", 'W/"x"', '"x", W/"y"', "", "x", 'W/"']),
    st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f")),
)
OPERATION = st.fixed_dictionaries(
    {
        "op": st.sampled_from(
            ["putTwin", "patchTwin", "deleteTwin", "patchComponent", "putRelationship",
             "patchRelationship", "deleteRelationship"]
        )
    },
    optional={
        "twinId": ID,
        "sourceId": ID,
        "relationshipId": ID,
        "component": ID,
        "document": TWIN | EDGE,
        "patch": PATCH,
        "ifMatch": ETAG,
        "ifNoneMatch": ETAG,
    },
)  # fmt: skip
TRANSACTION = st.builds(
    lambda found: {"operations": found},
    st.lists(OPERATION, max_size=3) | st.lists(OPERATION | VALUE, max_size=2),
)
BULK_TWIN = st.builds(lambda twin_id, twin: {**twin, "$dtId": twin_id}, ID, TWIN)
BULK_EDGE = st.builds(
    lambda source, key, edge: {**edge, "$sourceId": source, "$relationshipId": key}, ID, ID, EDGE
)
FITTING: dict[str, st.SearchStrategy[Any]] = {
    "DigitalTwins_Add": TWIN,
    "DigitalTwins_AddRelationship": EDGE,
    "DigitalTwinModels_Add": st.lists(MODEL, min_size=1, max_size=2),
    "Bulk_PutTwins": st.lists(BULK_TWIN | VALUE, max_size=3),
    "Bulk_PutRelationships": st.lists(BULK_EDGE | VALUE, max_size=3),
    "Transactions_Run": TRANSACTION,
    "DigitalTwins_SendTelemetry": st.dictionaries(NAME, VALUE, max_size=2),
    "DigitalTwins_SendComponentTelemetry": st.dictionaries(NAME, VALUE, max_size=2),
}
NAMED = {
    "twin_id": st.sampled_from([*TWINS, "new"]),
    "relationship_id": st.sampled_from(["r", "s"]),
    "component": st.just("thermostat"),
    "model_id": st.sampled_from([ROOM, SENSOR]),
}


def render(value: Any) -> bytes:
    """JSON as a careless client writes it: lone surrogates and integers of any size too."""

    return json.dumps(value).encode()


HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "if-match": ETAG,
        "if-none-match": ETAG,
        "max-items-per-page": st.sampled_from(["1", "0", "-1", "x", "99999999999", " 2 ", ""]),
        "message-id": st.sampled_from(["m", "", "x" * 2000]),
        "content-type": st.sampled_from([*["application/json"] * 3, "text/plain", "a/json;x"]),
    },
)
QUERY = st.one_of(
    st.just(""),
    st.sampled_from(
        ["?api-version=2023-10-31", "?continuationToken=x", "?includeModelDefinition=maybe",
         "?dependenciesFor=" + quote(ROOM), "?relationshipName=relatedTo", "?%zz", "?&&=&a"]
    ),
)  # fmt: skip


@st.composite
def requests(draw: Any) -> tuple[Route, str, bytes | None, dict[str, str]]:
    route = draw(st.sampled_from(WRITES) | st.sampled_from(OPERATIONS))
    path = route.path
    for name in route.path_parameters:
        found = draw(NAMED[name] | NAMED[name] | ID.filter(bool))  # empty: another path
        path = path.replace(f"{{{name}}}", quote(found.encode("utf-8", "surrogatepass"), safe=""))
    fitting = FITTING.get(route.operation_id, PATCH).map(render)
    other = st.one_of(VALUE.map(render), st.binary(max_size=20), st.none())
    body = draw(st.one_of(fitting, fitting, fitting, other))
    headers = draw(st.one_of(st.just({}), st.just({}), HEADERS))
    return route, path + draw(st.just("") | QUERY), body, headers


# --- where it goes --------------------------------------------------------------------------------


@cache
def build_seed() -> GraphState:
    """Three twins, a component, a relationship, the building's models."""
    inner = MemoryGraph()
    graph = Graph(InlineRunner(MemoryStore(inner)), Settings())

    async def seed() -> None:
        await graph.models.create_models(build_building_interfaces())  # type: ignore[arg-type]
        for twin_id, model in zip(TWINS, (ROOM, ROOM, SENSOR), strict=True):
            await graph.twins.put_twin(twin_id, build_twin_document(model))
        body: Any = {"$relationshipName": "relatedTo", "$targetId": "b"}
        await graph.relationships.put_relationship("a", "r", body)

    asyncio.run(seed())
    return inner.state


def serve() -> tuple[Client, MemoryGraph]:
    """A client of a new graph that is as the seed."""
    inner = MemoryGraph()
    inner.state = build_seed()
    settings = Settings.model_validate({"logging": {"access": False}})
    graph = Graph(InlineRunner(MemoryStore(inner)), settings)
    return Client(build_application(graph, settings)), inner


# --- what is answered -----------------------------------------------------------------------------


@cache
def find_shape(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def check_answer(route: Route, answer: Answered) -> None:
    """The answer is one that the document promises for the operation."""
    assert answer.status < 500, answer.body
    if answer.status == route.answer.status:
        if route.answer.kind is None:
            assert answer.body == b""
        else:
            assert answer.headers["content-type"] == "application/json; charset=utf-8"
            find_shape(route.answer.kind).validate_python(answer.json)
        if route.method in ("GET", "PUT") and "etag" in answer.headers and "$etag" in answer.json:
            assert answer.json["$etag"] == answer.headers["etag"]
        return
    assert answer.status >= 400, answer.status
    if answer.headers["content-type"].startswith("application/problem+json"):
        find_shape(Problem).validate_python(answer.json)
        return
    find_shape(ErrorResponse).validate_python(answer.json)
    assert answer.json["error"]["message"]
    code = answer.headers.get("x-ms-error-code", "BadRequest")
    assert answer.code == code
    if answer.status in route.errors and "x-ms-error-code" in answer.headers:
        assert code in route.errors[answer.status].split(", "), (route.operation_id, code)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(requests(), min_size=1, max_size=6))
def test_every_answer_is_a_documented_one_and_the_graph_stays_sound(sent: list[Any]) -> None:
    client, inner = serve()
    for route, target, body, headers in sent:
        before = inner.state
        answer = client.send(route.method, target, body, headers)
        check_answer(route, answer)
        if answer.status >= 400:
            assert inner.state is before or inner.state == before
    assert list(MemoryStore(inner).verify()) == []
    for twin_id, record in inner.state.twins.items():
        twin = orjson.loads(record.body)
        assert (twin["$dtId"], twin["$etag"]) == (twin_id, record.etag)
        assert client.send("GET", f"/digitaltwins/{quote(twin_id, safe='')}").body == record.body


# --- etags ----------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(
    st.lists(st.sampled_from(["own", "other", "third"]), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.sampled_from(["", " ", "\t ", "  "]),
    st.sampled_from(["PUT", "PATCH", "DELETE"]),
)
def test_a_write_goes_through_exactly_when_a_named_etag_is_the_stored_one(
    names: list[str], weak: list[bool], blank: str, method: str
) -> None:
    client, _ = serve()
    twin = client.send("GET", "/digitaltwins/c")
    etag = twin.headers["etag"]
    opaque = {"own": etag.removeprefix("W/"), "other": '"x"', "third": '""'}
    tags = [("W/" if w else "") + opaque[name] for name, w in zip(names, weak, strict=False)]
    header = f"{blank},{blank}".join(tags)
    body = {"PUT": twin.body, "PATCH": b"[]", "DELETE": None}[method]
    if method != "PUT":  # the other way round first: it writes nothing where "own" is named
        none = client.send(method, "/digitaltwins/c", body, {"if-none-match": header})
        assert none.status == (412 if "own" in names else 204)
        if "own" not in names:
            return
    answer = client.send(method, "/digitaltwins/c", body, {"if-match": header})
    done = 200 if method == "PUT" else 204
    assert answer.status == (done if "own" in names else 412)
    if method != "DELETE" and answer.status == done:
        stale = client.send(method, "/digitaltwins/c", body, {"if-match": header})
        assert stale.status == 412
    if answer.status == 412:
        assert client.send("GET", "/digitaltwins/c").body == twin.body


# --- pages ----------------------------------------------------------------------------------------


LISTS = ["/digitaltwins/a/relationships", "/digitaltwins/c/incomingrelationships", "/models"]


@pytest.mark.parametrize("path", LISTS)
@settings(max_examples=max(20, EXAMPLES // 6))
@given(data=st.data())
def test_the_links_of_pages_lead_through_the_whole_list_once(path: str, data: Any) -> None:
    client, _ = serve()
    count = data.draw(st.integers(0, 7))
    edges = [
        {
            "$sourceId": "a",
            "$relationshipId": data.draw(ODD.filter(lambda text: text.isprintable())) or f"e{at}",
            "$relationshipName": data.draw(st.sampled_from(["relatedTo", "watchedBy"])),
            "$targetId": "c",
        }
        for at in range(count)
    ]
    put = client.send("POST", "/relationships", orjson.dumps(edges))
    assert put.status == 200
    whole = client.send("GET", path, headers={"max-items-per-page": "2000"}).json["value"]
    found: list[Any] = []
    target = path
    for _ in range(60):
        size = data.draw(st.integers(1, 3))
        page = client.send("GET", target, headers={"max-items-per-page": str(size)})
        assert page.status == 200
        assert len(page.json["value"]) <= size
        found += page.json["value"]
        if page.json["nextLink"] is None:
            break
        target = page.json["nextLink"].removeprefix("https://localhost:8080")
    assert found == whole
