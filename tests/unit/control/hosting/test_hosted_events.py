"""Events of hosted graphs: under their own address, to endpoints that are offered to them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.control.hosting.hosting_app import (
    bring_up,
    build_graph,
    build_hosting,
    request,
    serving,
)
from twinframe.control.hosting import graphs
from twinframe.control.hosting.service import LocalGraphHost
from twinframe.graph.delivery.deliverer import RouteKind
from twinframe.graph.delivery.log_sink import LogSink
from twinframe.hooks.event_sinks.base import DeliveryFailed, Message
from twinframe.hooks.installation import Installation
from twinframe.http.guard import Guard

MODEL = [
    {
        "@context": "dtmi:dtdl:context;3",
        "@id": "dtmi:test:Lamp;1",
        "@type": "Interface",
        "contents": [{"@type": "Property", "name": "on", "schema": "boolean"}],
    }
]
LAMP = {"$metadata": {"$model": "dtmi:test:Lamp;1"}, "on": True}
ROUTE = {"endpointName": "shared", "filter": "STARTS_WITH(type, 'Microsoft')"}


def build_shared(tmp_path: Path) -> Installation:
    """Two endpoints, one of which is for hosted graphs too."""
    environment = {
        "Events__Endpoints__shared__Type": "log",
        "Events__Endpoints__shared__Hosted": "true",
        "Events__Endpoints__own__Type": "log",
        "Jobs__LookSeconds": "0.05",
    }
    return build_hosting(tmp_path, environment=environment)


async def ask(app: Guard, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request of JSON."""
    sent = b"" if body is None else orjson.dumps(body)
    status, content = await request(app, method, path, sent)
    return status, orjson.loads(content) if content else None


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """What endpoints of type `log` took."""
    found: list[Message] = []

    async def send(_sink: LogSink, message: Message) -> None:
        found.append(message)

    monkeypatch.setattr(LogSink, "send", send)
    return found


def test_each_hosted_graph_has_routes_and_events_of_its_own(
    tmp_path: Path, taken: list[Message]
) -> None:
    installation = build_shared(tmp_path)
    host = LocalGraphHost(installation)

    async def play() -> None:
        await bring_up(host, build_graph("a"))
        await bring_up(host, build_graph("b"))
        async with serving(installation) as app:
            for name in ("a", "b"):
                assert (await ask(app, "POST", f"/graphs/{name}/models", MODEL))[0] == 201
            assert (await ask(app, "PUT", "/graphs/a/eventroutes/r", ROUTE))[0] == 204
            refused = await ask(
                app, "PUT", "/graphs/b/eventroutes/r", {**ROUTE, "endpointName": "own"}
            )
            assert refused[0] == 400
            assert "Known are: shared" in refused[1]["error"]["message"]
            for name in ("a", "b"):
                path = f"/graphs/{name}/digitaltwins/of-{name}"
                assert (await ask(app, "PUT", path, LAMP))[0] == 200
            async with asyncio.timeout(120):
                while not taken:  # noqa: ASYNC110  (what is waited for is no event of asyncio)
                    await asyncio.sleep(0.02)
            assert (await ask(app, "GET", "/graphs/b/eventroutes"))[1]["value"] == []

    asyncio.run(play())
    assert [message.subject for message in taken] == ["of-a"]
    assert taken[0].source.endswith("/graphs/a")


def test_what_a_service_that_died_left_goes_on_after_the_next_start(
    tmp_path: Path, taken: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = build_shared(tmp_path)

    async def play() -> None:
        await bring_up(LocalGraphHost(installation), build_graph("a"))
        with monkeypatch.context() as patched:
            patched.setattr(RouteKind, "run", wait_for_ever)
            async with serving(installation) as app:
                assert (await ask(app, "POST", "/graphs/a/models", MODEL))[0] == 201
                assert (await ask(app, "PUT", "/graphs/a/eventroutes/r", ROUTE))[0] == 204
                assert (await ask(app, "PUT", "/graphs/a/digitaltwins/left", LAMP))[0] == 200
                await asyncio.sleep(0.3)
        assert taken == []
        async with serving(installation):  # nobody asks for the graph
            async with asyncio.timeout(120):
                while not taken:  # noqa: ASYNC110  (what is waited for is no event of asyncio)
                    await asyncio.sleep(0.02)

    asyncio.run(play())
    assert [message.subject for message in taken] == ["left"]


async def wait_for_ever(_kind: RouteKind, _key: str, _lease: object) -> None:
    """A delivery that gets nowhere."""
    await asyncio.sleep(3600)


def test_graphs_whose_endpoint_is_down_give_way_to_others_and_are_taken_up_again(
    tmp_path: Path, taken: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "_REOPEN_LOOKS", 2)
    environment = {
        "Events__Endpoints__shared__Type": "log",
        "Events__Endpoints__shared__Hosted": "true",
        "Jobs__LookSeconds": "0.05",
    }
    installation = build_hosting(tmp_path, environment=environment, MaxOpenGraphs=1, OpenWait=120)
    host = LocalGraphHost(installation)
    tried: list[Message] = []

    async def fail(_sink: LogSink, message: Message) -> None:
        tried.append(message)
        raise DeliveryFailed("it is down")

    async def play() -> None:
        for name in "ab":
            await bring_up(host, build_graph(name))
        async with serving(installation) as app:
            with monkeypatch.context() as patched:
                patched.setattr(LogSink, "send", fail)
                assert (await ask(app, "POST", "/graphs/a/models", MODEL))[0] == 201
                assert (await ask(app, "PUT", "/graphs/a/eventroutes/r", ROUTE))[0] == 204
                assert (await ask(app, "PUT", "/graphs/a/digitaltwins/x", LAMP))[0] == 200
                async with asyncio.timeout(120):
                    while not tried:  # noqa: ASYNC110  (what is waited for is no event of asyncio)
                        await asyncio.sleep(0.02)
                for name in ("b", "a", "b"):
                    assert (await ask(app, "GET", f"/graphs/{name}/models"))[0] == 200
            async with asyncio.timeout(120):
                while not taken:  # noqa: ASYNC110  (likewise)
                    await asyncio.sleep(0.02)

    asyncio.run(play())
    assert taken[0].subject == "x"
