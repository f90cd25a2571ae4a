"""One write for head and body: the same bytes as uvicorn's own way, and when it is not taken."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from twinframe.http.guard import Guard
from twinframe.http.whole_answer import find_cycle, take_whole, write_whole
from twinframe.settings import ServerSettings

LENGTH = (b"content-length", b"2")
TYPE = (b"content-type", b"application/json")


class Wire:
    """A transport that remembers what was written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def build_cycle(wire: Any, *, method: str = "GET", keep_alive: bool = True) -> RequestResponseCycle:
    return RequestResponseCycle(
        scope={"method": method},  # type: ignore[typeddict-item]  # all that an answer needs
        transport=wire,
        flow=FlowControl(wire),
        logger=logging.getLogger("test"),
        access_logger=logging.getLogger("test"),
        access_log=False,
        default_headers=[(b"date", b"now")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: None,
    )


@pytest.mark.parametrize(
    ("method", "keep_alive", "status", "headers", "body"),
    [
        ("GET", True, 200, [TYPE, LENGTH], b"{}"),
        ("GET", False, 200, [TYPE, LENGTH], b"{}"),
        ("HEAD", True, 200, [TYPE, LENGTH], b""),
        ("DELETE", True, 204, [(b"etag", b'W/"1"')], b""),
        ("GET", False, 404, [LENGTH], b"{}"),
    ],
)
def test_the_bytes_are_those_of_the_usual_way(
    method: str, keep_alive: bool, status: int, headers: Any, body: bytes
) -> None:
    async def write_both() -> None:
        usual, whole = Wire(), Wire()
        cycle = build_cycle(usual, method=method, keep_alive=keep_alive)
        await cycle.send({"type": "http.response.start", "status": status, "headers": headers})
        await cycle.send({"type": "http.response.body", "body": body, "more_body": False})
        assert write_whole(
            build_cycle(whole, method=method, keep_alive=keep_alive), status, headers, body
        )
        assert len(whole.written) == 1
        assert whole.written[0] == b"".join(usual.written)
        assert whole.closed is usual.closed is not keep_alive

    asyncio.run(write_both())


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ([], b"{}"),  # no length: chunked
        ([LENGTH], b"{}x"),
        ([LENGTH, (b"connection", b"close")], b"{}"),
        ([LENGTH, (b"x", b"a\r\nset-cookie: b")], b"{}"),
        ([LENGTH, (b"x", b"a\nb")], b"{}"),
        ([LENGTH, (b"x\r\ny", b"a")], b"{}"),
        ([LENGTH, (b"x", b"a\0")], b"{}"),
    ],
)
def test_an_answer_of_another_kind_goes_the_usual_way(headers: Any, body: bytes) -> None:
    async def refuse() -> None:
        wire = Wire()
        assert not write_whole(build_cycle(wire), 200, headers, body)
        assert wire.written == []

    asyncio.run(refuse())


def test_an_answer_behind_unsent_ones_waits_in_the_usual_way() -> None:
    async def refuse() -> None:
        cycle = build_cycle(Wire())
        cycle.flow.pause_writing()
        assert not write_whole(cycle, 200, [LENGTH], b"{}")

    asyncio.run(refuse())


def test_a_send_of_another_server_is_not_taken_for_the_known_one() -> None:
    async def send(_message: Any) -> None:
        """A send of nobody."""

    async def find() -> None:
        cycle = build_cycle(Wire())
        assert find_cycle(cycle.send) is cycle

    assert find_cycle(send) is None
    asyncio.run(find())


def serve(app: Any) -> list[bytes]:
    """What the guard over this application writes under uvicorn, event by event."""

    async def run() -> list[bytes]:
        wire = Wire()
        cycle = build_cycle(wire)
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "raw_path": b"/x",
            "query_string": b"",
            "headers": [],
            "client": None,
        }

        async def receive() -> Any:
            raise AssertionError("nobody asked for the body")

        await Guard(app, ServerSettings())(scope, receive, cycle.send)  # type: ignore[arg-type]  # ASGI's types differ
        return wire.written

    return asyncio.run(run())


def test_the_head_of_a_stream_is_sent_before_its_first_piece() -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    head, *pieces = serve(app)
    assert head.endswith(b"transfer-encoding: chunked\r\n\r\n")
    assert b"".join(pieces) == b"1\r\na\r\n0\r\n\r\n"


def test_pieces_of_a_declared_length_are_sent_in_order() -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [LENGTH]})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b"b"})

    assert b"".join(serve(app)).endswith(b"\r\n\r\nab")


def test_an_application_that_fails_after_its_head_is_still_answered_500() -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [LENGTH]})
        raise ZeroDivisionError

    (answer,) = serve(app)
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b'"code":"InternalError"' in answer


# --- bodies ---------------------------------------------------------------------------------------


def test_a_body_that_has_arrived_is_taken_as_the_server_gives_it() -> None:
    async def run() -> None:
        ours, theirs = build_cycle(Wire(), method="POST"), build_cycle(Wire(), method="POST")
        for cycle in (ours, theirs):
            cycle.body += b"{}"
            cycle.more_body = False
            cycle.message_event.set()
        received = await theirs.receive()
        assert take_whole(ours) == received["body"] == b"{}"  # type: ignore[typeddict-item]
        assert ours.body == theirs.body == b""
        assert not ours.message_event.is_set()
        assert not theirs.message_event.is_set()
        assert ours.transport.written == theirs.transport.written == []  # type: ignore[attr-defined]

    asyncio.run(run())


@pytest.mark.parametrize(
    "state", ["more_body", "disconnected", "response_complete", "waiting_for_100_continue"]
)
def test_a_body_that_the_server_must_be_asked_for_is_left_to_it(state: str) -> None:
    async def run() -> None:
        cycle = build_cycle(Wire(), method="POST")
        cycle.body += b"{}"
        cycle.more_body = False
        setattr(cycle, state, True)
        assert take_whole(cycle) is None
        assert cycle.body == b"{}"

    asyncio.run(run())
