"""Earlier states over HTTP: the same answers as then, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.unit.graph.conftest import World
from tests.unit.graph.events.test_outbox_reading import open_store
from tests.unit.http.conftest import Answered, Client
from twinframe.http.application import build_application
from twinframe.http.operations import AS_OF
from twinframe.http.routes import ROUTES
from twinframe.model.clock import render_update_time
from twinframe.settings import Settings
from twinframe.settings.history import HistorySettings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.factories import ROOM, SENSOR, build_building_interfaces, build_interface

LAMP = "dtmi:test:Lamp;1"
TARGETS = [
    "/digitaltwins/a",
    "/digitaltwins/b",
    "/digitaltwins/a/components/thermostat",
    "/digitaltwins/a/relationships/r",
    "/digitaltwins/a/relationships",
    "/digitaltwins/a/relationships?relationshipName=watchedBy",
    "/digitaltwins/b/incomingrelationships",
    "/models",
    f"/models/{LAMP}?includeModelDefinition=true",
    f"/models/{LAMP}?includeBaseModelContents=true",
    f"/models?dependenciesFor={ROOM}",
]


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with open_store(request.param) as store:
        yield build_world(store)


def build_world(store: GraphStore, **settings: Any) -> World:
    return World(store, Settings(**settings))


def connect(world: World) -> Client:
    return Client(build_application(world.graph, world.settings))


def ask(client: Client, target: str, as_of: str | int) -> Answered:
    mark = "&" if "?" in target else "?"
    return client.send("GET", f"{target}{mark}asOf={as_of}")


def write(world: World) -> Iterator[None]:
    """Write one thing after the other."""
    graph = world.graph
    world.do(graph.models.create_models(build_building_interfaces()))
    yield
    world.do(graph.models.create_models([build_interface(LAMP, extends=[ROOM])]))
    yield
    world.put("a", temperature=20.5)
    yield
    world.put("b")
    yield
    world.relate("a", "r", "b")
    yield
    world.put("c", SENSOR)
    world.relate("a", "r", "c", "watchedBy")
    yield
    world.patch("a", {"op": "replace", "path": "/temperature", "value": 21})
    yield
    patch = [{"op": "replace", "path": "/decommissioned", "value": True}]
    world.do(graph.models.decommission_model(LAMP, patch))
    yield
    world.do(graph.relationships.delete_relationship("a", "r"))
    yield
    world.do(graph.models.delete_model(LAMP))
    yield
    world.do(graph.twins.delete_twin("a"))
    yield
    world.put("a", temperature=1.5)
    yield


def find_last(world: World) -> tuple[int, int]:
    """Position and moment of the last event, in nanoseconds."""
    with reading(world.store) as session:
        found = session.read_moment(session.read_event_bounds()[1])
    assert found is not None
    return found


def simplify(answer: Answered) -> Any:
    """Status, etag and body of an answer, but for the address of an incoming relationship."""
    return answer.status, answer.headers.get("etag"), answer.body


def test_every_read_answers_as_it_did_then(world: World) -> None:
    client = connect(world)
    seen: list[tuple[int, str, list[Any]]] = []
    for _ in write(world):
        position, moment = find_last(world)
        answers = [simplify(client.send("GET", target)) for target in TARGETS]
        seen.append((position, render_update_time(moment), answers))
    for position, moment, answers in seen:
        for target, answer in zip(TARGETS, answers, strict=True):
            assert simplify(ask(client, target, position)) == answer, (target, position)
            assert simplify(ask(client, target, moment)) == answer, (target, moment)


def test_a_moment_between_two_writes_shows_the_state_after_the_first(world: World) -> None:
    client = connect(world)
    world.do(world.graph.models.create_models(build_building_interfaces()))
    first = world.put("a", temperature=1.5)
    moment = find_last(world)[1]
    world.put("a", temperature=2.5)
    for text in (
        render_update_time(moment + 100),
        render_update_time(moment)[:-1] + "%2B00:00",
        render_update_time(moment)[:-1] + "+00:00",
    ):
        assert orjson.loads(ask(client, "/digitaltwins/a", text).body) == first
    assert (
        ask(client, "/digitaltwins/a", render_update_time(moment - 100)).code
        == "DigitalTwinNotFound"
    )
    assert ask(client, "/digitaltwins/a", "1970-01-01T00:00:00Z").status == 404


def test_the_time_of_a_twin_is_a_moment_at_which_it_was(world: World) -> None:
    client = connect(world)
    world.do(world.graph.models.create_models(build_building_interfaces()))
    written = [world.put("a", temperature=float(at)) for at in range(9)]
    for twin in written:
        answer = ask(client, "/digitaltwins/a", twin["$metadata"]["$lastUpdateTime"])
        assert orjson.loads(answer.body) == twin
        assert answer.headers["etag"] == twin["$etag"]


def test_pages_go_on_in_the_state_of_the_first_one(world: World) -> None:
    client = connect(world)
    world.do(world.graph.models.create_models(build_building_interfaces()))
    world.put("a")
    for at in range(5):
        world.put(f"b{at}")
        world.relate("a", f"r{at}", f"b{at}")
        world.relate(f"b{at}", "x", "a")
    moment = render_update_time(find_last(world)[1])
    listings = ("/digitaltwins/a/relationships", "/digitaltwins/a/incomingrelationships", "/models")
    expected = [client.send("GET", target).body for target in listings]
    for target, whole in zip(listings, expected, strict=True):
        link: Any = f"{target}?asOf={moment}"
        found: list[Any] = []
        while link:
            if found and target.endswith("a/relationships"):  # what changes meanwhile is not seen
                world.patch("b1", {"op": "add", "path": "/temperature", "value": len(found)})
                world.do(world.graph.relationships.delete_relationship("a", f"r{len(found)}"))
            headers = {"max-items-per-page": "2"}
            page = orjson.loads(client.send("GET", link, headers=headers).body)
            found += page["value"]
            link = page["nextLink"] and page["nextLink"].partition("localhost:8080")[2]
        expected_items = orjson.loads(whole)["value"]
        assert sorted(map(orjson.dumps, found)) == sorted(map(orjson.dumps, expected_items))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("yesterday", "neither a date and time with an offset"),
        ("2026-03-01T14:05:00", "neither a date and time with an offset"),
        ("-1", "neither a date and time with an offset"),
        ("2999-01-01T00:00:00Z", "is in the future"),
        ("999999", "beyond the last event"),
        ("1&asOf=2", "more than once"),
    ],
)
def test_what_is_no_earlier_moment_is_refused(world: World, text: str, part: str) -> None:
    answer = ask(connect(world), "/digitaltwins/a", text)
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert part in answer.body.decode()


@pytest.mark.parametrize("name", ["asof", "as_of", "as-of", "AsOf"])
def test_a_near_miss_is_not_passed_over(world: World, name: str) -> None:
    answer = connect(world).send("GET", f"/digitaltwins/a?{name}=1")
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert "Did you mean asOf?" in answer.body.decode()


def query(client: Client, **body: Any) -> Answered:
    return client.send("POST", "/query", orjson.dumps(body))


def test_a_query_takes_it_in_its_body(world: World) -> None:
    client = connect(world)
    world.do(world.graph.models.create_models(build_building_interfaces()))
    first = world.put("a", temperature=1.5)
    position, moment = find_last(world)
    world.put("a", temperature=2.5)
    for text in ("MATCH (n) RETURN n", "SELECT n FROM digitaltwins n"):
        for as_of in (position, str(position), render_update_time(moment)):
            found = orjson.loads(query(client, query=text, asOf=as_of).body)
            assert found == {"value": [{"n": first}], "continuationToken": None}
        assert query(client, query=text, asOf=None).body.count(b"2.5") == 1


@pytest.mark.parametrize(
    ("member", "value", "part"),
    [
        ("asOf", True, "asOf of the type Boolean"),
        ("asOf", [1], "asOf of the type List"),
        ("asOf", 1.0, "asOf of the type Float"),
        ("asOf", "", "asOf '' is neither"),
        ("asOf", -1, "asOf '-1' is neither"),
        ("asOf", 2**62, "is neither"),
        ("as_of", 1, "Did you mean asOf?"),
        ("ASOF", "x", "Did you mean asOf?"),
    ],
)
def test_a_query_of_no_earlier_moment_is_refused(
    world: World, member: str, value: Any, part: str
) -> None:
    answer = query(connect(world), query="RETURN 1", **{member: value})
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert part in orjson.loads(answer.body)["error"]["message"]


def test_a_parameter_of_a_query_is_sent_to_its_body(world: World) -> None:
    answer = connect(world).send("POST", "/query?asOf=1", b'{"query": "RETURN 1"}')
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert "send asOf as a member of the body" in answer.body.decode()


OTHERS = [
    route for route in ROUTES if AS_OF not in route.parameters and route.permission is not None
]


@pytest.mark.parametrize("route", OTHERS, ids=lambda one: one.operation_id)
def test_all_other_operations_refuse_it(world: World, route: Any) -> None:
    path = route.path
    for name in route.path_parameters:
        path = path.replace(f"{{{name}}}", "x")
    answer = connect(world).send(route.method, f"{path}?asOf=1", b"{}")
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert "asOf" in answer.body.decode()


def test_before_the_kept_range_the_answer_is_gone(world: World) -> None:
    client = connect(world)
    world.do(world.graph.models.create_models(build_building_interfaces()))
    marks = []
    for at in range(5):
        world.put("a", temperature=float(at))
        marks.append(find_last(world))
    run(world.store, lambda t: t.delete_events(up_to=marks[2][0] - 1, limit=99))
    for position, moment in marks[2:]:
        assert ask(client, "/digitaltwins/a", position).status == 200
        assert ask(client, "/digitaltwins/a", render_update_time(moment)).status == 200
    assert ask(client, "/digitaltwins/a", marks[1][0]).status == 200
    first = render_update_time(marks[2][1])
    for text in (marks[0][0], 0, render_update_time(marks[2][1] - 100), "1970-01-01T00:00:00Z"):
        answer = ask(client, "/digitaltwins/a", text)
        assert (answer.status, answer.code) == (410, "HistoryNotKept")
        assert f"{first}, position {marks[2][0]}" in answer.body.decode()


def test_a_service_without_history_says_so() -> None:
    with open_store("sqlite") as store:
        client = connect(build_world(store, history=HistorySettings(enabled=False)))
        answer = ask(client, "/digitaltwins/a", 0)
        assert (answer.status, answer.code) == (501, "NotImplemented")
        assert "History__Enabled" in answer.body.decode()


def test_a_storage_without_history_says_so() -> None:
    with open_store("oxigraph") as store:
        answer = ask(connect(build_world(store)), "/digitaltwins/a", 0)
        assert (answer.status, answer.code) == (501, "NotImplemented")
        assert "keeps no history" in answer.body.decode()


def test_a_graph_that_was_upgraded_has_no_state_before() -> None:
    with open_store("sqlite") as store:
        world = build_world(store)
        world.do(world.graph.models.create_models(build_building_interfaces()))
        world.put("a")
        position, moment = find_last(world)
        run(store, lambda t: t.put_entry("history", "start", str(position).encode()))
        client = connect(world)
        assert ask(client, "/digitaltwins/a", position).status == 200
        assert ask(client, "/digitaltwins/a", render_update_time(moment)).status == 200
        assert ask(client, "/digitaltwins/a", position - 1).status == 410
        assert ask(client, "/digitaltwins/a", render_update_time(moment - 100)).status == 410


def test_bodies_of_the_past_come_from_another_process_too() -> None:
    with open_store("sqlite") as store:
        world = build_world(store)
        world.do(world.graph.models.create_models(build_building_interfaces()))
        first = world.put("a", temperature=1.5)
        position, _ = find_last(world)
        other = build_world(store)
        other.put("a", temperature=2.5)
        read = world.graph.twins.read_twin("a", position)
        assert orjson.loads(asyncio.run(read).body) == first


def test_a_large_document_of_the_past_is_built_in_a_thread(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.do(world.graph.models.create_models(build_building_interfaces()))
    written = [world.put("a", name=character * 100_000) for character in "abcde"]
    scanned: list[Any] = []
    scan = world.graph.twins._context.runner.scan

    async def count(function: Any, seconds: float) -> Any:
        scanned.append(function)
        return await scan(function, seconds)

    monkeypatch.setattr(world.graph.twins._context.runner, "scan", count)
    client = connect(world)
    for twin in written:
        answer = ask(client, "/digitaltwins/a", twin["$metadata"]["$lastUpdateTime"])
        assert orjson.loads(answer.body) == twin
    assert len(scanned) == len(written)
    small = world.put("b", name="x")
    world.put("b", name="y")
    scanned.clear()
    answer = ask(client, "/digitaltwins/b", small["$metadata"]["$lastUpdateTime"])
    assert orjson.loads(answer.body) == small
    assert bool(scanned) == isinstance(world.store, MemoryStore)  # which bounds no read
