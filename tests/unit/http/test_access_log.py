"""The access log: what a line says, that it is bounded, that it ends up written."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import orjson
import pytest

from twinframe.http.guard import Guard
from twinframe.http.line_log import AccessEntry, AccessLog, render_json, render_line
from twinframe.settings import ServerSettings

ENTRY = AccessEntry(1700000000.25, 0.0015, "GET", b"/models", 200, 42, b"id-1", "192.0.2.1")


def test_a_line_is_one_json_object() -> None:
    line = render_json(ENTRY)
    assert line.endswith(b"}\n")
    assert orjson.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "info",
        "message": "request",
        "method": "GET",
        "path": "/models",
        "status": 200,
        "milliseconds": 1.5,
        "bytes": 42,
        "request_id": "id-1",
        "client": "192.0.2.1",
    }


def test_a_line_of_text_holds_the_same() -> None:
    assert render_line(ENTRY) == (
        b"2023-11-14T22:13:20.250Z 192.0.2.1 GET /models 200 42B 1.500ms id-1\n"
    )


@pytest.mark.parametrize("render", [render_json, render_line])
def test_a_path_cannot_break_a_line(render: Any) -> None:
    line = render(ENTRY._replace(path=b"/a\xff"))
    assert line.count(b"\n") == 1
    assert b"\xff" not in line


def test_a_path_with_quotes_and_backslashes_stays_one_json_string() -> None:
    path = b'/a"b\\c","status":500,"x":"'
    line = orjson.loads(render_json(ENTRY._replace(path=path)))
    assert line["path"] == path.decode()
    assert line["status"] == 200


def test_stopping_writes_everything_that_is_queued() -> None:
    stream = io.BytesIO()
    log = AccessLog(stream)
    log.start()
    for _ in range(500):
        log.add(ENTRY)
    log.stop()
    assert len(stream.getvalue().splitlines()) == 500


def test_lines_beyond_the_capacity_are_dropped_and_counted() -> None:
    stream = io.BytesIO()
    log = AccessLog(stream, capacity=128)
    for _ in range(1000):
        log.add(ENTRY)
    log.start()
    log.stop()
    *lines, last = [orjson.loads(line) for line in stream.getvalue().splitlines()]
    assert 128 <= len(lines) < 256
    assert last["count"] == 1000 - len(lines)


def test_lines_come_in_the_order_of_their_requests() -> None:
    stream = io.BytesIO()
    log = AccessLog(stream)
    for number in range(300):
        log.add(ENTRY._replace(sent=number))
    log.start()
    log.stop()
    sent = [orjson.loads(line)["bytes"] for line in stream.getvalue().splitlines()]
    assert sent == list(range(300))


def test_a_stream_that_is_gone_does_not_end_the_service() -> None:
    stream = io.BytesIO()
    stream.close()
    log = AccessLog(stream)
    log.start()
    log.add(ENTRY)
    log.stop()


def test_the_guard_logs_each_request_with_status_size_and_id() -> None:
    stream = io.BytesIO()
    log = AccessLog(stream)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b"12345"})

    async def serve() -> None:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/a b",
            "raw_path": b"/a%20b",
            "query_string": b"secret=1",
            "headers": [(b"x-request-id", b"mine")],
            "client": None,
        }
        await Guard(app, ServerSettings(), access_log=log)(scope, receive, send)
        assert (b"x-request-id", b"mine") in sent[0]["headers"]

    asyncio.run(serve())
    log.start()
    log.stop()
    line = orjson.loads(stream.getvalue())
    assert line["path"] == "/a%20b"
    assert (line["status"], line["bytes"], line["request_id"]) == (201, 5, "mine")
    assert b"secret" not in stream.getvalue()
