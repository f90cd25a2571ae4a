"""Events carry the trace of the request that they come of, by every way out, and no other."""

from __future__ import annotations

import asyncio
import http.client
import json
import operator
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.e2e.assistants import Kind, connect
from tests.e2e.receiver import Receiver
from tests.e2e.server import Server
from tests.e2e.test_event_streams import following
from tests.e2e.wire import Wire
from tests.e2e.wire_world import CLIMATE, ROOM, climate, must, room, seed

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}"
)

END = "the-end"
LAMP = "dtmi:com:wire:Lamp;1"
DECOMMISSION = [{"op": "replace", "path": "/decommissioned", "value": True}]


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Server]:
    """A service with two workers, MCP and a webhook that gets all events."""
    environment = {
        "Events__Endpoints__out__Type": "webhook",
        "Events__Endpoints__out__Url": receiver.url,
        "Jobs__LookSeconds": "0.1",
        "MCP__Enabled": "true",
    }
    folder = tmp_path_factory.mktemp("traces")
    with Server(folder, workers=2, environment=environment) as running:
        wire = Wire(running.port)
        seed(wire)
        body = {"endpointName": "out", "filter": "true"}
        must(wire.call("PUT", "/eventroutes/all", body), 204)
        wire.close()
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


def build_trace() -> str:
    return f"00-{uuid.uuid4().hex}-b7ad6b7169203331-01"


def wait_for(receiver: Receiver, key: str, count: int = 1) -> list[dict[str, Any]]:
    """The events that have the key in them, once so many came. NOTE: order holds within a twin."""
    end = time.monotonic() + 120
    while len(found := [each for each in receiver.taken if key in json.dumps(each)]) < count:
        assert time.monotonic() < end, receiver.taken
        time.sleep(0.02)
    return found


def list_writes(name: str) -> list[tuple[str, str, Any]]:
    """Each way to write, in an order in which all succeed; an event comes of each."""
    twin, other = f"/digitaltwins/{name}", f"/digitaltwins/{name}2"
    edge = {"$relationshipName": "has", "$targetId": f"{name}2"}
    change = [{"op": "add", "path": "/Temperature", "value": 3}]
    model = {"@context": "dtmi:dtdl:context;2", "@id": LAMP, "@type": "Interface"}
    return [
        ("PUT", twin, room()),
        ("PUT", twin, room(Temperature=1)),
        ("PATCH", twin, change),
        ("PATCH", f"{twin}/components/Climate", [{"op": "add", "path": "/Mode", "value": "on"}]),
        ("POST", "/digitaltwins", [{"$dtId": f"{name}2", **room()}]),
        ("PUT", f"{twin}/relationships/e", edge),
        ("PATCH", f"{twin}/relationships/e", [{"op": "add", "path": "/since", "value": "x"}]),
        ("POST", "/relationships", [{"$sourceId": name, "$relationshipId": "f", **edge}]),
        ("DELETE", f"{twin}/relationships/e", None),
        ("DELETE", f"{twin}/relationships/f", None),
        ("POST", f"{twin}/telemetry", {"Humidity": 1}),
        ("POST", f"{twin}/components/Climate/telemetry", {"Humidity": 1}),
        ("DELETE", other, None),
        ("POST", "/$transaction", {"operations": [{"op": "deleteTwin", "twinId": name}]}),
        ("POST", "/models", [model]),
        ("PATCH", f"/models/{quote(LAMP)}", DECOMMISSION),
        ("DELETE", f"/models/{quote(LAMP)}", None),
    ]


def test_each_write_is_told_with_the_trace_of_its_request(
    served: Server, receiver: Receiver
) -> None:
    wire = Wire(served.port)
    traces: list[str | None] = []
    lines: list[bytes] = []
    with following(served, "/events") as stream:
        for method, path, body in list_writes("traced"):
            # One with, one without: what a connection carried before is no trace of the next.
            trace = build_trace() if len(traces) % 2 == 0 else None
            headers = {} if trace is None else {"traceparent": trace}
            status, answered, document = wire.call(method, path, body, **headers)
            assert status in (200, 201, 204), document
            assert ("traceresponse" in answered) == (trace is not None)
            traces.append(trace)
        must(wire.call("PUT", f"/digitaltwins/{END}", climate()))
        stream.read_until(lambda: any(END.encode() in line for line in lines), lines.append)
    wire.close()
    followed = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
    assert [event.get("traceparent") for event in followed] == [*traces, None]
    ids = {event["id"] for event in followed}
    end = time.monotonic() + 120
    while len(told := [each for each in receiver.taken if each["id"] in ids]) < len(ids):
        assert time.monotonic() < end, receiver.taken
        time.sleep(0.02)
    key = operator.itemgetter("id")
    assert sorted(told, key=key) == sorted(followed, key=key)


def test_telemetry_names_the_model_of_what_sent_it(served: Server, receiver: Receiver) -> None:
    wire = Wire(served.port)
    must(wire.call("PUT", "/digitaltwins/measuring", room()))
    for path in ("telemetry", "components/Climate/telemetry"):
        answer = wire.call("POST", f"/digitaltwins/measuring/{path}", {"x": 1})
        assert answer[0] == 204, answer
    wire.close()
    events = wait_for(receiver, "measuring", 3)
    told = {
        event.get("subject"): event["dataschema"]
        for event in events
        if event["type"] == "microsoft.iot.telemetry"
    }
    assert told == {None: ROOM, "Climate": CLIMATE}


GOOD = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ([GOOD], GOOD),
        (["cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-what-more"], GOOD[:-1] + "1"),
        ([GOOD, GOOD], None),
        ([f"{GOOD}-more"], None),
        ([GOOD.upper()], None),
        ([GOOD.replace("00-", "ff-", 1)], None),
        (["00-" + "0" * 32 + "-b7ad6b7169203331-01"], None),
        (["00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01"], None),
        ([f'{GOOD}","data":"x'], None),
        ([""], None),
    ],
)
def test_only_a_well_formed_trace_is_told(
    served: Server, receiver: Receiver, sent: list[str], told: str | None
) -> None:
    twin = f"form-{uuid.uuid4().hex}"
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)
    connection.putrequest("PUT", f"/digitaltwins/{twin}")
    body = json.dumps(climate()).encode()
    for value in sent:
        connection.putheader("traceparent", value)
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    assert connection.getresponse().status == 200
    connection.close()
    (event,) = wait_for(receiver, twin)
    assert event.get("traceparent") == told


@pytest.mark.parametrize("kind", ["sse", "streamable"])
def test_what_an_assistant_writes_is_told_with_its_trace(
    served: Server, receiver: Receiver, kind: Kind
) -> None:
    trace, twin = build_trace(), f"assisted-{kind}"
    url = f"{served.url}/{'sse' if kind == 'sse' else 'mcp'}"

    async def write() -> None:
        async with connect(kind, url, headers={"traceparent": trace}) as client:
            arguments = {"twin_id": twin, "model_id": CLIMATE, "properties": {}}
            result = await client.call_tool("create_or_replace_digital_twin", arguments)
            assert not result.is_error, result

    asyncio.run(write())
    (event,) = wait_for(receiver, twin)
    assert event["traceparent"] == trace


def test_rows_of_data_history_carry_it_too(tmp_path: Path) -> None:
    receiver, trace = Receiver(), build_trace()
    receiver.start()
    environment = {
        "Events__Endpoints__out__Type": "webhook",
        "Events__Endpoints__out__Url": receiver.url,
        "Events__Endpoints__out__Form": "data-history",
        "Jobs__LookSeconds": "0.1",
    }
    try:
        with Server(tmp_path, environment=environment) as server:
            wire = Wire(server.port)
            seed(wire)
            body = {"endpointName": "out", "filter": "true"}
            must(wire.call("PUT", "/eventroutes/all", body), 204)
            must(wire.call("PUT", "/digitaltwins/rows", climate(Mode="on"), traceparent=trace))
            must(wire.call("PUT", "/digitaltwins/untraced", climate()))
            wire.close()
            rows = wait_for(receiver, "rows", 2)
            (untraced,) = wait_for(receiver, "untraced")
    finally:
        receiver.stop()
    assert [row["traceparent"] for row in rows] == [trace, trace]
    assert "traceparent" not in untraced
