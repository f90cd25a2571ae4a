"""What changed, over HTTP: pages, lines, links, permissions, and what is refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from tests.unit.graph.conftest import World
from tests.unit.graph.events.test_outbox_reading import open_store
from tests.unit.http.conftest import Answered, Client
from tests.unit.http.test_access import ACCESS, ClaimedPermissions, NamedCaller, Trail
from tests.unit.http.test_as_of import build_world, connect, find_last, write
from twinframe.access.authentication.port import Headers
from twinframe.access.gate import Gate
from twinframe.access.permissions import Caller
from twinframe.http.application import build_application
from twinframe.runtime.instruments.base import CURRENT_SUBJECT
from twinframe.settings import Settings
from twinframe.testing.factories import SENSOR, build_building_interfaces

HISTORY = "/digitaltwins/a/history"
EDGE = "/digitaltwins/a/relationships/r/history"


@pytest.fixture(scope="module")
def world() -> Any:
    with open_store("sqlite") as store:
        world = build_world(store)
        token = CURRENT_SUBJECT.set("alice")
        for _ in write(world):
            pass
        CURRENT_SUBJECT.reset(token)
        yield world


@pytest.fixture
def client(world: World) -> Client:
    return connect(world)


class PatientClient(Client):
    """Stays until the answer has ended."""

    async def _exchange(self, scope: dict[str, Any], body: bytes, truncated: bool) -> Answered:
        sent: list[Any] = []
        asked = False

        async def receive() -> Any:
            nonlocal asked
            if asked:
                await asyncio.Event().wait()
            asked = True
            return {"type": "http.request", "body": body, "more_body": truncated}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answered(start["status"], headers, b"".join(m.get("body", b"") for m in rest))


def follow(client: Client, target: str, size: int) -> list[Any]:
    """All items of a listing, by its links."""
    found: list[Any] = []
    while target:
        answer = client.send("GET", target, headers={"max-items-per-page": str(size)})
        assert answer.status == 200, answer.body
        assert len(answer.json["value"]) <= size
        found += answer.json["value"]
        parts = urlsplit(answer.json["nextLink"] or "")
        target = f"{parts.path}?{parts.query}" if parts.path else ""
    return found


def test_the_history_of_a_twin_that_was_deleted_and_created_again(client: Client) -> None:
    items = follow(client, HISTORY, 2)
    assert [item["action"] for item in items] == ["created", "updated", "deleted", "created"]
    assert {item["who"] for item in items} == {"alice"}
    created, updated, deleted, _ = items
    assert {"path": "temperature", "after": 20.5} in created["changes"]
    assert updated["changes"] == [{"path": "temperature", "before": 20.5, "after": 21}]
    assert {"path": "temperature", "before": 21} in deleted["changes"]
    assert follow(client, f"{HISTORY}?order=newest", 1) == items[::-1]
    assert [
        item["changes"] for item in follow(client, f"{HISTORY}?path=temperature&order=newest", 3)
    ] == [
        [{"path": "temperature", "after": 1.5}],
        [{"path": "temperature", "before": 21}],
        updated["changes"],
        [{"path": "temperature", "after": 20.5}],
    ]
    some = f"{HISTORY}?from={created['time']}&to={deleted['position']}"
    assert follow(client, some, 1) == [updated, deleted]


def test_the_history_of_a_relationship_has_its_ends(client: Client) -> None:
    items = follow(client, EDGE, 2)
    assert [item["action"] for item in items] == ["created", "deleted", "created", "deleted"]
    assert items[2]["changes"] == [
        {"path": "$relationshipName", "after": "watchedBy"},
        {"path": "$targetId", "after": "c"},
    ]


def test_two_states_are_compared_in_pages_and_in_lines(world: World, client: Client) -> None:
    last = find_last(world)[0]
    every = follow(client, "/changes?from=0", 3)
    assert {item["action"] for item in every} == {"created"}
    assert {item.get("id") for item in every} >= {"a", "b", "c"}
    (removed,) = [
        item
        for item in follow(client, "/changes?from=7&to=11", 1)
        if item["kind"] == "relationship"
    ]
    assert (removed["sourceId"], removed["relationshipId"]) == ("a", "r")
    assert follow(client, f"/changes?from={last}", 1) == []
    page = client.send("GET", "/changes?from=0&include=models")
    assert (page.json["from"], page.json["to"]) == (0, last)
    assert {item["kind"] for item in page.json["value"]} == {"model"}
    patient = PatientClient(client.app)
    for accept in ("application/x-ndjson", "application/json;q=0.5, application/jsonl"):
        lines = patient.send(
            "GET", "/changes?from=0", headers={"accept": accept, "max-items-per-page": "1"}
        )
        assert lines.headers["content-type"] == "application/x-ndjson"
        assert [orjson.loads(line) for line in lines.body.splitlines()] == every
    for accept in ("*/*", "text/html", "application/json, application/x-ndjson"):
        page = client.send("GET", "/changes?from=0", headers={"accept": accept})
        assert page.json["value"] == every


def test_pages_compare_with_the_later_state_of_the_first_one(world: World, client: Client) -> None:
    asked = {"max-items-per-page": "1"}
    first = client.send("GET", "/changes?from=0&include=twins", headers=asked).json
    before = follow(client, f"/changes?from=0&include=twins&to={first['to']}", 99)
    world.put("c2")
    world.put("b", temperature=99.5)
    parts = urlsplit(first["nextLink"])
    assert first["value"] + follow(client, f"{parts.path}?{parts.query}", 1) == before


@pytest.mark.parametrize(
    ("target", "status", "code", "text"),
    [
        ("/changes", 400, "MissingArgument", "from is needed"),
        ("/changes?from=Tuesday", 400, "InvalidArgument", "from 'Tuesday' is neither"),
        ("/changes?from=0&to=99999", 400, "InvalidArgument", "to 99999 is beyond the last"),
        ("/changes?from=2&to=1", 400, "InvalidArgument", "from (2) must not be after to (1)"),
        ("/changes?from=2054-01-01T00:00:00Z", 400, "InvalidArgument", "in the future"),
        ("/changes?from=0&include=twin", 400, "InvalidArgument", "Did you mean twins?"),
        ("/changes?from=0&asOf=1", 400, "InvalidArgument", "asOf"),
        (f"{HISTORY}?form=1", 400, "InvalidArgument", "Did you mean from?"),
        (f"{HISTORY}?path=a//b", 400, "InvalidArgument", "joined by /"),
        (f"{HISTORY}?order=new", 400, "InvalidArgument", "order is oldest or newest"),
        (f"{HISTORY}?continuationToken=x", 400, "BadRequest", "continuation token"),
        ("/digitaltwins/none/history", 404, "DigitalTwinNotFound", "none"),
        ("/digitaltwins/none/relationships/r/history", 404, "DigitalTwinNotFound", "none"),
        ("/digitaltwins/b/relationships/r/history", 404, "RelationshipNotFound", "r"),
    ],
)
def test_a_wrong_question_says_what_would_be_right(
    client: Client, target: str, status: int, code: str, text: str
) -> None:
    answer = client.send("GET", target)
    assert (answer.status, answer.code) == (status, code)
    assert text in answer.json["error"]["message"]
    assert client.send("HEAD", target).status == status


def test_storage_without_history_and_states_before_it(world: World) -> None:
    off = build_world(world.store, history={"enabled": False})
    for target in (HISTORY, EDGE, "/changes?from=0"):
        answer = connect(off).send("GET", target)
        assert (answer.status, answer.code) == (501, "NotImplemented")
        assert "History__Enabled" in answer.json["error"]["message"]
    with open_store("memory") as store:
        young = build_world(store)
        for _ in write(young):
            pass
        store.write([lambda transaction: transaction.delete_events(up_to=8, limit=99)])
        for target in (f"{HISTORY}?from=3", f"{EDGE}?from=3", "/changes?from=3"):
            answer = connect(young).send("GET", target)
            assert (answer.status, answer.code) == (410, "HistoryNotKept")
            assert "position 9" in answer.json["error"]["message"]
        assert follow(connect(young), HISTORY, 9)


def test_each_kind_of_change_needs_the_permission_to_read_it(world: World) -> None:
    gate = Gate(NamedCaller(), ClaimedPermissions(), Trail().append)
    settings = Settings.model_validate(ACCESS)
    client = Client(build_application(world.graph, settings, gate=gate))
    twins, edges, models = "digitaltwins/read", "digitaltwins/relationships/read", "models/read"
    for target, needed in (
        (HISTORY, {twins}),
        (EDGE, {edges}),
        ("/changes?from=0&include=twins", {twins}),
        ("/changes?from=0&include=relationships,twins", {twins, edges}),
        ("/changes?from=0&include=models", {twins, models}),
        ("/changes?from=0", {twins, edges, models}),
    ):
        for missing in needed:
            caller = " ".join(["bob", *needed - {missing}])
            answer = client.send("GET", target, headers={"x-caller": caller})
            assert answer.status == 403, (target, missing)
        caller = " ".join(["bob", *needed])
        assert client.send("GET", target, headers={"x-caller": caller}).status == 200


@pytest.mark.parametrize(("name", "who"), [("", "some-id"), ("loader", "loader")])
def test_a_caller_is_named_as_people_name_it(name: str, who: str) -> None:
    class Named(NamedCaller):
        async def authenticate(self, headers: Headers) -> Caller:
            return replace(await super().authenticate(headers), name=name)

    with open_store("sqlite") as store:
        world = build_world(store)
        world.do(world.graph.models.create_models(build_building_interfaces()))
        gate = Gate(Named(), ClaimedPermissions(), Trail().append)
        client = Client(build_application(world.graph, Settings.model_validate(ACCESS), gate=gate))
        granted = {"x-caller": "some-id digitaltwins/read digitaltwins/write"}
        twin = orjson.dumps({"$metadata": {"$model": SENSOR}})
        assert client.send("PUT", "/digitaltwins/t", twin, granted).status == 200
        answer = client.send("GET", "/digitaltwins/t/history", None, granted)
        assert [item["who"] for item in answer.json["value"]] == [who]
