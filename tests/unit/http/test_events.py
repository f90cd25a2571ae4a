"""Event routes and `GET /events` over HTTP: forms of bodies, streams, who may."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from tests.unit.graph.events.event_samples import build_lifecycle, build_update, replace
from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.test_access import ACCESS, EVENTS, ClaimedPermissions, NamedCaller, Trail
from twinframe.access.authentication.port import Headers
from twinframe.access.gate import Gate
from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated
from twinframe.graph import Graph
from twinframe.graph.delivery.endpoints import Endpoint, Endpoints
from twinframe.graph.delivery.log_sink import LogSink
from twinframe.graph.delivery.records import DeadLetter, put_dead_letter
from twinframe.graph.delivery.streams import Followed
from twinframe.graph.events.event import Event
from twinframe.http.application import build_application
from twinframe.http.graph import events as events_module
from twinframe.http.graph.events import render_followed
from twinframe.settings import Settings
from twinframe.storage.epochs import read_epoch, renew_epoch
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.base import run
from twinframe.testing.factories import SENSOR, build_building_interfaces, build_twin_document

SETTINGS = Settings.model_validate({"Events": {"Heartbeat": 0.05}})
GUARDED = Settings.model_validate({"Events": {"Heartbeat": 0.05}, **ACCESS})
PUT = {"endpointName": "lines", "filter": "true"}


class World:
    """A real graph in memory behind the application."""

    def __init__(self, gate: Gate | None = None) -> None:
        self.store = MemoryStore()
        endpoints = Endpoints({"lines": Endpoint("lines", "log", LogSink("lines"))})
        settings = SETTINGS if gate is None else GUARDED
        self.graph = Graph(InlineRunner(self.store), settings, endpoints=endpoints)
        self.app = build_application(self.graph, settings, gate=gate)
        interfaces: Any = build_building_interfaces()
        asyncio.run(self.graph.models.create_models(interfaces))

    def put(self, *twin_ids: str) -> None:
        for twin_id in twin_ids:
            asyncio.run(self.graph.twins.put_twin(twin_id, build_twin_document(SENSOR)))


@pytest.fixture
def world() -> World:
    return World()


def call(world: World, connect: Any, method: str, target: str, body: Any = None) -> Any:
    client = type(connect())(world.app)
    return client.send(method, target, None if body is None else orjson.dumps(body))


def test_a_route_has_the_vendors_form(world: World, connect: Any) -> None:
    answer = call(world, connect, "PUT", "/eventroutes/r%2F1", PUT)
    assert (answer.status, answer.headers["content-length"]) == (204, "0")
    answer = call(world, connect, "GET", "/EventRoutes/r%2F1")
    assert answer.json == {"id": "r/1", **PUT}
    assert call(world, connect, "GET", "/eventroutes").json == {
        "value": [{"id": "r/1", **PUT}],
        "nextLink": None,
    }
    assert call(world, connect, "DELETE", "/eventroutes/r%2F1").status == 204
    answer = call(world, connect, "DELETE", "/eventroutes/r%2F1")
    assert (answer.status, answer.code) == (404, "EventRouteNotFound")


def test_a_put_of_a_route_creates_or_replaces_only_where_it_is_to(
    world: World, connect: Any
) -> None:
    client = type(connect())(world.app)

    def put(name: str, filter_: str, **headers: str) -> Any:
        body = orjson.dumps({"endpointName": "lines", "filter": filter_})
        named = {header.replace("_", "-"): value for header, value in headers.items()}
        answer = client.send("PUT", f"/eventroutes/{name}", body, named)
        return answer.status, answer.code if answer.body else ""

    failed = (412, "PreconditionFailed")
    assert put("r", "true", if_match="*") == failed
    assert call(world, connect, "GET", "/eventroutes/r").status == 404
    assert put("r", "true", if_none_match="*")[0] == 204
    assert put("r", "false", if_none_match="*") == failed
    assert put("r", "false", if_match='W/"x"') == failed
    assert put("r", "false", if_unmodified_since="Sun, 06 Nov 1994 08:49:37 GMT") == failed
    assert put("r", "false", if_match="x") == (400, "InvalidArgument")
    assert call(world, connect, "GET", "/eventroutes/r").json["filter"] == "true"
    assert put("r", "false", if_match="*")[0] == 204
    assert call(world, connect, "GET", "/eventroutes/r").json["filter"] == "false"
    answer = client.send("DELETE", "/eventroutes/r", headers={"if-match": 'W/"x"'})
    assert (answer.status, answer.code) == failed
    assert client.send("DELETE", "/eventroutes/r", headers={"if-match": "*"}).status == 204


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"endpointName": "x", "filter": "true"}, "EventRouteEndpointInvalid"),
        ({"endpointName": "lines", "filter": "("}, "EventRouteFilterInvalid"),
        ({"endpointName": "lines", "filter": 5}, "EventRouteFilterInvalid"),
        ([], "InvalidArgument"),
    ],
)
def test_what_is_no_route_is_400(world: World, connect: Any, body: Any, code: str) -> None:
    answer = call(world, connect, "PUT", "/eventroutes/r", body)
    assert (answer.status, answer.code) == (400, code)


def test_listings_of_routes_link_to_their_next_page(world: World, connect: Any) -> None:
    for name in ("a", "b"):
        call(world, connect, "PUT", f"/eventroutes/{name}", PUT)
    client = type(connect())(world.app)
    page = client.send("GET", "/eventroutes", headers={"max-items-per-page": "1"})
    assert [route["id"] for route in page.json["value"]] == ["a"]
    link = page.json["nextLink"]
    following = client.send("GET", link[link.index("/eventroutes") :])
    assert [route["id"] for route in following.json["value"]] == ["b"]


def test_how_a_route_stands_and_replay(world: World, connect: Any) -> None:
    call(world, connect, "PUT", "/eventroutes/r", PUT)
    world.put("a", "b")
    status = call(world, connect, "GET", "/eventroutes/r/status").json
    assert (status["behind"], status["delivered"], status["error"]) == (2, 0, "")
    assert call(world, connect, "POST", "/eventroutes/r/replay", {"position": 0}).status == 204
    assert call(world, connect, "GET", "/eventroutes/r/status").json["behind"] > 2
    wrong: list[Any] = [{}, {"position": "1"}, {"position": True}, {"position": -1}, []]
    for body in wrong:
        answer = call(world, connect, "POST", "/eventroutes/r/replay", body)
        assert (answer.status, answer.code) == (400, "InvalidArgument")


def test_dead_letters_are_listed_sent_again_and_forgotten(world: World, connect: Any) -> None:
    call(world, connect, "PUT", "/eventroutes/r", PUT)
    event = build_update({"t": 1}, replace("/t", 2))
    for position in (3, 4):
        letter = DeadLetter(position, "a", event.text.decode(), "the answer was 400", 1, "now")
        run(world.store, lambda t, letter=letter: put_dead_letter(t, "r", letter, 9))  # type: ignore[misc]
    status = call(world, connect, "GET", "/eventroutes/r/status").json
    assert (status["deadLetters"], status["deadLettersKept"]) == (2, 2)
    found = call(world, connect, "GET", "/eventroutes/r/deadletters").json["value"]
    assert [one["position"] for one in found] == [3, 4]
    assert found[0]["error"] == "the answer was 400"
    assert found[0]["event"] == event.document
    assert call(world, connect, "POST", "/eventroutes/r/deadletters/replay").json == {"count": 2}
    assert call(world, connect, "GET", "/eventroutes/r/deadletters").json["value"] == []
    assert call(world, connect, "DELETE", "/eventroutes/r/deadletters").json == {"count": 0}
    assert call(world, connect, "GET", "/eventroutes/r/status").json["deadLettersKept"] == 0
    answer = call(world, connect, "GET", "/eventroutes/x/deadletters")
    assert (answer.status, answer.code) == (404, "EventRouteNotFound")


def test_a_filter_is_tried(world: World, connect: Any) -> None:
    world.put("a", "b")
    body = {"filter": "subject = 'b'"}
    found = call(world, connect, "POST", "/events/try", body).json
    assert found["examined"] >= 2
    assert [one["event"]["subject"] for one in found["value"]] == ["b"]
    refused: list[Any] = [{}, {"filter": 1}, {"filter": "true", "limit": "x"}, []]
    for wrong in refused:
        answer = call(world, connect, "POST", "/events/try", wrong)
        assert (answer.status, answer.code) == (400, "InvalidArgument")


class Follower:
    """Reads `GET /events` from the application as a server would have it."""

    def __init__(self, world: World, target: str, **headers: str) -> None:
        path, _, query = target.partition("?")
        self._world = world
        self._scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(b"host", b"h"), *((k.encode(), v.encode()) for k, v in headers.items())],
            "client": ("192.0.2.1", 1), "server": ("127.0.0.1", 80), "state": {},
        }  # fmt: skip
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        self.came = asyncio.Event()
        self._gone = asyncio.Event()

    async def follow(self, until: bytes, act: Any = None) -> None:
        """Read until these bytes came, then leave."""
        serving = asyncio.create_task(self._world.app(self._scope, self._receive, self._send))
        async with asyncio.timeout(120):
            if act is not None:
                await self.wait_for(b"retry")
                await act()
            await self.wait_for(until)
        self._gone.set()
        await asyncio.wait_for(serving, 120)

    async def read_to_the_end(self) -> None:
        await asyncio.wait_for(self._world.app(self._scope, self._receive, self._send), 120)

    async def wait_for(self, text: bytes) -> None:
        while text not in self.body:
            self.came.clear()
            await self.came.wait()

    async def _receive(self) -> Any:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        self.body += message.get("body", b"")
        self.came.set()


def test_events_are_streamed_as_they_happen(world: World) -> None:
    async def play() -> None:
        follower = Follower(world, "/events?filter=NOT%20subject%20%3D%20'b'")

        async def act() -> None:
            for twin_id in ("a", "b", "c"):
                await world.graph.twins.put_twin(twin_id, build_twin_document(SENSOR))

        await follower.follow(b'"subject":"c"', act)
        assert follower.status == 200
        assert follower.headers[b"content-type"].startswith(b"text/event-stream")
        assert follower.headers[b"cache-control"] == b"no-store"
        assert b'"subject":"b"' not in follower.body
        data = [line[6:] for line in follower.body.split(b"\n") if line.startswith(b"data: ")]
        assert [orjson.loads(line)["subject"] for line in data] == ["a", "c"]

    asyncio.run(play())


def test_a_stream_goes_on_behind_the_last_event_that_was_seen(world: World) -> None:
    world.put("a", "b")
    last = world.store.session().read_event_bounds()[1]

    async def play(**headers: str) -> bytes:
        target = "/events" if headers else f"/events?lastEventId={last - 1}"
        follower = Follower(world, target, **headers)
        await follower.follow(b'"subject":"b"')
        return follower.body

    for body in (asyncio.run(play()), asyncio.run(play(**{"last-event-id": str(last - 1)}))):
        assert b'"subject":"a"' not in body
        assert b"id: %b-%d\ndata: " % (read_epoch_id(world), last) in body


def read_epoch_id(world: World) -> bytes:
    return read_epoch(world.store.session()).id.encode()


def test_the_id_of_an_event_is_where_a_stream_goes_on(world: World) -> None:
    world.put("a", "b", "c")

    async def play(**headers: str) -> bytes:
        follower = Follower(world, "/events?lastEventId=0", **headers)
        await follower.follow(b'"subject":"c"')
        return follower.body

    whole = asyncio.run(play())
    of_b = next(part for part in whole.split(b"\n\n") if b'"subject":"b"' in part)
    seen = of_b.split(b"\n")[0].removeprefix(b"id: ").decode()
    rest = asyncio.run(play(**{"last-event-id": seen}))
    assert b'"subject":"b"' not in rest
    assert b"event: gap" not in rest


@pytest.mark.parametrize("ahead", [99, 0])
@pytest.mark.parametrize("named", [True, False])
def test_an_id_of_before_a_restore_is_answered_by_a_gap_and_the_present(
    world: World, ahead: int, named: bool
) -> None:
    world.put("a")
    last = world.store.session().read_event_bounds()[1]
    seen = f"{read_epoch_id(world).decode()}-{last + ahead}" if named else str(last + ahead)
    asyncio.run(InlineRunner(world.store).write(renew_epoch))

    async def play() -> None:
        follower = Follower(world, "/events", **{"last-event-id": seen})

        async def act() -> None:
            await world.graph.twins.put_twin("b", build_twin_document(SENSOR))

        await follower.follow(b'"subject":"b"', act)
        assert follower.status == 200
        gap = b'event: gap\ndata: {"missed":null}\n\n: at %d\nid: %b-%d\n\n'
        assert gap % (last, read_epoch_id(world), last) in follower.body
        assert b'"subject":"a"' not in follower.body

    asyncio.run(play())


def test_a_silent_stream_shows_that_it_is_alive(world: World) -> None:
    async def play() -> None:
        follower = Follower(world, "/events")
        await follower.follow(b": at ")

    asyncio.run(play())


def test_a_drain_ends_streams(world: World) -> None:
    async def play() -> None:
        asyncio.get_running_loop().call_later(0.1, world.graph.event_streams.end)
        await Follower(world, "/events").read_to_the_end()

    asyncio.run(play())


class ChangingCaller(NamedCaller):
    """Somebody whose credentials hold, and say what they say, for as long as they do."""

    def __init__(self) -> None:
        self.has_ended = False
        self.permissions = EVENTS

    async def authenticate(self, headers: Headers) -> Caller:
        if self.has_ended:
            raise Unauthenticated("it has expired")
        return await super().authenticate([(b"x-caller", f"ann {self.permissions}".encode())])


@pytest.mark.parametrize(
    ("change", "needed", "reason"),
    [
        ({"has_ended": True}, "", "it has expired"),
        ({"permissions": "digitaltwins/read models/read"}, "digitaltwins/relationships/read", ""),
    ],
)
def test_a_stream_ends_when_its_caller_may_follow_no_more(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], needed: str, reason: str
) -> None:
    monkeypatch.setattr(events_module, "RENEWAL_SECONDS", 0.0)
    callers, trail = ChangingCaller(), Trail()
    world = World(Gate(callers, ClaimedPermissions(), trail.append))

    async def play() -> None:
        follower = Follower(world, "/events")
        reading = asyncio.create_task(follower.read_to_the_end())
        await follower.wait_for(b": at ")
        entries = len(trail)
        await world.graph.twins.put_twin("before", build_twin_document(SENSOR))
        await follower.wait_for(b'"subject":"before"')
        assert len(trail) == entries  # that all is as it was is no news
        for name, value in change.items():
            setattr(callers, name, value)
        await world.graph.twins.put_twin("after", build_twin_document(SENSOR))
        await reading
        assert follower.status == 200
        assert b'"subject":"after"' not in follower.body
        (entry,) = trail[entries:]
        assert (entry.allowed, entry.needed) == (False, needed)
        assert reason in entry.reason

    asyncio.run(play())


def test_a_head_request_opens_no_stream(world: World, connect: Any) -> None:
    answer = call(world, connect, "HEAD", "/events")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize(
    "target",
    [
        "/events?filter=(",
        *(f"/events?lastEventId={seen}" for seen in ("x", "-1", "x-1", "ab-", "1-2-3", "1" * 19)),
    ],
)
def test_what_cannot_be_followed_is_400(world: World, connect: Any, target: str) -> None:
    assert call(world, connect, "GET", target).status == 400


def test_a_place_is_told_also_where_no_event_passes() -> None:
    created = build_lifecycle()
    other = Event(7, "a", created.text)
    assert render_followed(Followed((other,), 9, "e1")) == (
        b"id: e1-7\ndata: %b\n\n: at 9\nid: e1-9\n\n" % created.wire
    )
    assert render_followed(Followed((), 4, "e1", 2)) == (
        b'event: gap\ndata: {"missed":2}\n\n: at 4\nid: e1-4\n\n'
    )
