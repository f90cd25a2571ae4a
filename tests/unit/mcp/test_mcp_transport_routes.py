"""Which transport answers where, how workers pass messages on, and how streams end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.unit.mcp.transport_world import (
    ACCEPT,
    MODERN,
    Answer,
    Client,
    Request,
    build_call,
    build_headers,
    call,
    call_tool,
    caller,
    open_world,
    open_worlds,
    read_text,
)
from tests.waiting import PATIENCE
from twinframe.errors import ConfigurationError
from twinframe.http.exchange import Message
from twinframe.mcp.app import McpEndpoint, find_prefix
from twinframe.mcp.relay import Relay
from twinframe.mcp.sessions import MOST_PENDING
from twinframe.settings import McpSettings, Settings

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize("target", ["/mcp", "/"])
def test_tools_are_called_by_streamable_http_at_the_path_and_at_the_root(target: str) -> None:
    async def run() -> Answer:
        async with open_world() as world:
            return await call_tool(world.endpoint, "echo", {"text": "hé"}, target=target)

    answer = asyncio.run(run())
    assert (answer.status, read_text(answer.json)) == (200, "hé")
    assert answer.headers["cache-control"] == "no-store"


def test_blanks_around_a_header_of_the_protocol_are_not_of_its_value() -> None:
    async def run() -> Answer:
        async with open_world() as world:
            return await call_tool(
                world.endpoint, "echo", {"text": "x"}, mcp_method=" tools/call\t ", mcp_name="echo "
            )

    assert asyncio.run(run()).status == 200


def test_a_client_of_the_older_era_shakes_hands_without_getting_a_session() -> None:
    async def run() -> Answer:
        async with open_world() as world:
            headers = {"content-type": "application/json", "accept": ACCEPT}
            body = json.dumps(INITIALIZE).encode()
            return await call(world.endpoint, "POST", "/mcp", headers, body)

    answer = asyncio.run(run())
    assert answer.status == 200
    assert b'"protocolVersion":"2025-06-18"' in answer.body
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("path", ["/sse", "/"])
def test_a_session_is_opened_at_its_path_and_at_the_root(path: str) -> None:
    async def run() -> None:
        async with open_world() as world:
            client = await Client.open(world.endpoint, path=path)
            assert (await client.post(world.endpoint, INITIALIZE)).status == 202
            result = (await client.stream.read_message())["result"]
            assert result["protocolVersion"] == "2025-06-18"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("method", "path", "headers", "ours"),
    [
        ("GET", "/mcp", {}, True),
        ("GET", "/sse", {}, True),
        ("POST", "/messages/00000000/", {}, True),
        ("POST", "/", {}, True),
        ("GET", "/", {"accept": "text/event-stream"}, True),
        ("OPTIONS", "/", {"access-control-request-method": "POST"}, True),
        ("GET", "/", {"accept": "text/html"}, False),
        ("GET", "/", {}, False),
        ("OPTIONS", "/", {}, False),
        ("PUT", "/", {}, False),
        ("GET", "/mcpx", {}, False),
        ("GET", "/messagesx", {}, False),
        ("GET", "/digitaltwins/mcp", {}, False),
    ],
)
def test_what_is_not_for_mcp_is_left_to_the_api(
    method: str, path: str, headers: dict[str, str], ours: bool
) -> None:
    async def run() -> bool:
        async with open_world() as world:
            request = Request(world.endpoint, method, path, headers)
            return world.endpoint.serves(request._scope)

    assert asyncio.run(run()) is ours


@pytest.mark.parametrize(
    ("method", "target", "headers", "allowed"),
    [
        ("GET", "/mcp", {}, "POST"),
        ("DELETE", "/mcp", {}, "POST"),
        ("GET", "/", {"accept": ACCEPT, "mcp-protocol-version": MODERN}, "POST"),
        ("GET", "/", {"accept": ACCEPT, "mcp-session-id": "x"}, "POST"),
        ("POST", "/sse", {}, "GET"),
        ("HEAD", "/sse", {}, "GET"),
        ("GET", "/messages/00000000/", {}, "POST"),
    ],
)
def test_a_method_that_a_transport_has_not_is_refused_with_the_one_it_has(
    method: str, target: str, headers: dict[str, str], allowed: str
) -> None:
    async def run() -> Answer:
        async with open_world() as world:
            return await call(world.endpoint, method, target, headers)

    answer = asyncio.run(run())
    assert (answer.status, answer.headers["allow"]) == (405, allowed)


def test_a_body_larger_than_the_limit_is_refused_by_every_transport(tmp_path: Path) -> None:
    async def run() -> list[int]:
        body = b" " * (4 * 1024 * 1024 + 1)
        async with open_worlds(tmp_path) as (first, second):
            client = await Client.open(first.endpoint)
            headers = {"content-type": "application/json"}
            return [
                (await call(app.endpoint, "POST", target, build_headers() | headers, body)).status
                for app, target in (
                    (first, "/mcp"),
                    (first, client.address),
                    (second, client.address),
                )
            ]

    assert asyncio.run(run()) == [413, 413, 413]


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"1,", b"[" * 30 + b"]" * 30 + b","])
def test_a_message_of_too_many_values_is_refused_by_every_transport_before_it_is_parsed(
    tmp_path: Path, piece: bytes
) -> None:
    async def run() -> list[Answer]:
        start = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":['
        body = start + piece * (2_000_000 // len(piece)) + b"1]}}"
        async with open_worlds(tmp_path) as (first, second):
            client = await Client.open(first.endpoint)
            headers = {"content-type": "application/json"}
            return [
                await call(app.endpoint, "POST", target, build_headers() | headers, body)
                for app, target in (
                    (first, "/mcp"),
                    (first, client.address),
                    (second, client.address),
                )
            ]

    for answer in asyncio.run(run()):
        assert answer.status == 400
        assert b"more than 10000 elements and members (of a message to an MCP" in answer.body


def test_text_in_a_message_counts_as_one_value_whatever_it_is() -> None:
    async def run() -> Answer:
        async with open_world() as world:
            text = json.dumps("[{," * 20_000)
            body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":{text}}}}}'
            headers = build_headers() | {"content-type": "application/json"}
            return await call(world.endpoint, "POST", "/mcp", headers, body.encode())

    assert b"elements and members" not in asyncio.run(run()).body


def test_the_path_of_the_public_url_is_ours_whether_a_proxy_takes_it_away_or_not() -> None:
    settings = Settings(mcp=McpSettings(resource_server_url="https://h.example/twins/mcp"))

    async def run() -> None:
        async with open_world(settings) as world:
            for target in ("/twins/mcp", "/mcp", "/twins"):
                answer = await call_tool(world.endpoint, "echo", {"text": "x"}, target=target)
                assert answer.status == 200, target
            client = await Client.open(world.endpoint, path="/twins/sse")
            assert client.address.startswith("/twins/messages/")
            assert (await client.post(world.endpoint, build_call("whoami"))).status == 202

    asyncio.run(run())
    assert find_prefix("https://h.example") == find_prefix("https://h.example/mcp") == ""


# --- workers --------------------------------------------------------------------------------------


def test_a_message_for_a_session_of_another_worker_reaches_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with open_worlds(tmp_path) as (first, second):
            clients = [await Client.open(first.endpoint) for _ in range(3)]
            for turn in range(4):
                for number, client in enumerate(clients):
                    message = build_call("echo", {"text": f"{number}.{turn}"}, turn)
                    assert (await client.post(second.endpoint, message)).status == 202
            for number, client in enumerate(clients):
                for turn in range(4):
                    answer = await client.stream.read_message()
                    assert (answer["id"], read_text(answer)) == (turn, f"{number}.{turn}")

    asyncio.run(run())


def test_a_session_that_is_busy_does_not_hold_up_the_messages_of_others(tmp_path: Path) -> None:
    async def run() -> None:
        async with open_worlds(tmp_path) as (first, second):
            slow, quick = [await Client.open(first.endpoint) for _ in range(2)]
            assert (await slow.post(second.endpoint, build_call("wait"))).status == 202
            await first.seen.started.wait()
            assert (await quick.post(second.endpoint, build_call("whoami"))).status == 202
            assert "POST" in read_text(await quick.stream.read_message())

    asyncio.run(run())


@pytest.mark.parametrize(
    "worker", ["00000000", "..", "%2e%2e", "0000000g", "00000000/x", "", "A0000000"]
)
def test_a_message_for_a_worker_that_is_not_there_finds_no_session(
    worker: str, tmp_path: Path
) -> None:
    async def run() -> Answer:
        async with open_worlds(tmp_path) as (first, _second):
            target = f"/messages/{worker}/?session_id={'0' * 32}"
            return await call(first.endpoint, "POST", target, {"content-type": "application/json"})

    answer = asyncio.run(run())
    assert (answer.status, answer.body) == (404, b"Could not find session")


def test_a_message_for_a_worker_that_has_ended_finds_no_session(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    async def run() -> None:
        async with open_world(relay=tmp_path) as left:
            async with open_world(relay=tmp_path) as ended:
                client = await Client.open(ended.endpoint)
                message = build_call("whoami")
                assert (await client.post(left.endpoint, message)).status == 202
                killed = tmp_path / "deadbeef.sock"  # a socket file that nobody listens at
                server = await asyncio.start_unix_server(lambda _r, w: w.close(), killed)
            assert (await client.post(left.endpoint, message)).status == 404
            server.close()
            await server.wait_closed()
            killed.touch()
            client.address = f"/messages/deadbeef/?session_id={'0' * 32}"
            assert (await client.post(left.endpoint, message)).status == 404

    asyncio.run(run())


def test_connections_to_workers_that_have_ended_are_not_kept(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    async def run() -> None:
        async with open_world(relay=tmp_path) as left:
            relay = left.endpoint._relay
            for _ in range(3):
                async with open_world(relay=tmp_path) as ended:
                    client = await Client.open(ended.endpoint)
                    assert (await client.post(left.endpoint, build_call("whoami"))).status == 202
                    assert [len(kept) for kept in relay._idle.values()] == [1]

    asyncio.run(run())


def test_the_sockets_are_for_this_user_alone_and_go_with_the_worker(tmp_path: Path) -> None:
    def list_modes() -> list[int]:
        return [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()]

    async def run() -> None:
        async with open_worlds(tmp_path):
            assert list_modes() == [0o600, 0o600]
        assert list_modes() == []

    asyncio.run(run())


def test_a_place_for_sockets_that_others_may_enter_stops_the_start(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)

    async def answer_nothing(*_args: object) -> None:
        raise AssertionError

    with pytest.raises(ConfigurationError, match="0700"):
        asyncio.run(Relay(tmp_path, 1000).start(answer_nothing))


# --- ends -----------------------------------------------------------------------------------------


def test_a_client_that_leaves_cancels_its_tools_by_either_transport() -> None:
    async def run() -> None:
        async with open_world() as world:
            client = await Client.open(world.endpoint)
            await client.post(world.endpoint, build_call("wait"))
            await world.seen.started.wait()
            await client.stream.leave()
            await asyncio.wait_for(world.seen.cancelled.wait(), 120)
        async with open_world() as world:
            body = json.dumps(build_call("wait")).encode()
            request = Request(world.endpoint, "POST", "/mcp", build_headers(name="wait"), body)
            request.start()
            await world.seen.started.wait()
            await request.leave()
            await asyncio.wait_for(world.seen.cancelled.wait(), 120)

    asyncio.run(run())


def test_a_drain_ends_idle_streams_at_once_and_busy_ones_after_their_answer() -> None:
    async def run() -> None:
        async with open_world() as world:
            idle, busy = [await Client.open(world.endpoint) for _ in range(2)]
            await busy.post(world.endpoint, build_call("wait"))
            await world.seen.started.wait()
            world.endpoint.begin_drain()
            assert await idle.stream.read_event() == ("", "")
            headers = {"accept": "text/event-stream"}
            assert (await call(world.endpoint, "GET", "/sse", headers)).status == 503
            world.seen.release.set()
            assert read_text(await busy.stream.read_message()) == "done"
            assert await busy.stream.read_event() == ("", "")

    asyncio.run(run())


def test_a_call_that_was_cancelled_holds_up_no_drain() -> None:
    async def run() -> None:
        async with open_world() as world:
            client = await Client.open(world.endpoint)
            await client.post(world.endpoint, build_call("wait", number=7))
            await world.seen.started.wait()
            world.endpoint.begin_drain()
            params = {"requestId": 7}
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            assert (await client.post(world.endpoint, notice)).status == 202
            await asyncio.wait_for(world.seen.cancelled.wait(), 120)
            while await client.stream.read_event() != ("", ""):
                pass

    asyncio.run(run())


@pytest.mark.parametrize("body", [json.dumps(build_call("echo", {"text": "a"})), "{"])
def test_a_session_may_end_while_the_answer_to_its_message_is_sent(body: str) -> None:
    class Leaving(asyncio.Queue[Message]):
        async def put(self, item: Message) -> None:
            await client.stream.leave()
            await super().put(item)

    async def run() -> None:
        nonlocal client
        async with open_world() as world:
            client = await Client.open(world.endpoint)
            headers = {"content-type": "application/json"}
            post = Request(world.endpoint, "POST", client.address, headers, body.encode())
            post.events = Leaving()
            assert (await post.start().read_answer()).status in {202, 400}
            assert (await client.post(world.endpoint, build_call("echo"))).status == 404

    client: Client
    asyncio.run(run())


def test_a_stop_ends_streams_with_calls_that_do_not_end() -> None:
    async def run() -> None:
        async with open_world(known={"t": caller()}) as world:
            client = await Client.open(world.endpoint, "t")
            await client.post(world.endpoint, build_call("wait"))
            await world.seen.started.wait()
        assert client.stream.task is not None
        await asyncio.wait_for(client.stream.task, 120)

    asyncio.run(run())


def test_a_message_that_is_no_json_is_refused_and_the_session_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        async with open_world() as world:
            client = await Client.open(world.endpoint)
            headers = {"content-type": "application/json"}
            answer = await call(world.endpoint, "POST", client.address, headers, b"{" * 9000)
            assert answer.status == 400
            await client.post(world.endpoint, build_call("whoami"))
            message = await client.stream.read_message()
            assert "POST" in read_text(message)

    asyncio.run(run())
    assert "Traceback" not in caplog.text


# --- clients that do not read ---------------------------------------------------------------------


class Slow(Request):
    """A client that takes one event of its stream and then no more, until it is told to."""

    def __init__(self, app: McpEndpoint) -> None:
        super().__init__(app, "GET", "/sse", {"accept": "text/event-stream"})
        self.events = asyncio.Queue(maxsize=1)

    async def open(self) -> Client:
        """Start, and read where messages go."""
        _, address = await self.start().read_event()
        return Client(self, address, {})


async def post_until_refused(client: Client, app: McpEndpoint, address: str = "") -> int:
    """Calls that were taken before one was refused."""
    client.address = address or client.address
    for number in range(200):
        answer = await client.post(app, build_call("echo", {"text": "x"}, number))
        if answer.status != 202:
            assert (answer.status, answer.json["error"]["code"]) == (503, "TooManyCalls")
            assert answer.headers["retry-after"] == "1"
            return number
    raise AssertionError("nothing holds back a client that does not read")


@pytest.mark.parametrize("through", ["its own worker", "another worker"])
def test_whoever_does_not_read_answers_cannot_go_on_calling(
    through: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twinframe.mcp.sse._PATIENCE", 0.05)

    async def run() -> None:
        async with open_worlds(tmp_path) as (first, second):
            app = first.endpoint if through == "its own worker" else second.endpoint
            slow = Slow(first.endpoint)
            client = await slow.open()
            taken = await post_until_refused(client, app)
            assert taken <= MOST_PENDING
            # The same session by another spelling of its id, and what wants no answer.
            path, _, session = client.address.partition("session_id=")
            dashed = f"{path}session_id=%7B{session[:8]}-{session[8:].upper()}%7D"
            assert await post_until_refused(client, app, dashed) == 0
            notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert (await client.post(app, notice)).status == 202
            # Others are not held up, and it may go on once it has read.
            monkeypatch.setattr("twinframe.mcp.sse._PATIENCE", PATIENCE)
            quick = await Client.open(first.endpoint)
            assert (await quick.post(app, build_call("whoami"))).status == 202
            answers = [await slow.read_message() for _ in range(taken)]
            assert {answer["id"] for answer in answers} == set(range(taken))
            assert (await client.post(app, build_call("whoami"))).status == 202

    asyncio.run(run())


def test_a_call_waits_for_those_under_way() -> None:
    async def run() -> None:
        async with open_world() as world:
            client = await Client.open(world.endpoint)
            for number in range(MOST_PENDING):
                await client.post(world.endpoint, build_call("wait", number=number))
            late = asyncio.create_task(client.post(world.endpoint, build_call("whoami", number=99)))
            await asyncio.sleep(0.05)
            assert not late.done()
            params = {"requestId": 7}
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            assert (await client.post(world.endpoint, notice)).status == 202
            assert (await asyncio.wait_for(late, 120)).status == 202

    asyncio.run(run())


def test_a_session_whose_calls_under_way_share_an_id_is_ended() -> None:
    async def run() -> None:
        async with open_world() as world:
            client = await Client.open(world.endpoint)
            await client.post(world.endpoint, build_call("wait", number=7))
            await world.seen.started.wait()
            await client.post(world.endpoint, build_call("wait", number=7))
            while await client.stream.read_event() != ("", ""):
                pass
            await asyncio.wait_for(world.seen.cancelled.wait(), 120)
            again = await Client.open(world.endpoint)
            for _ in range(2):  # one after the other it may be used again
                await again.post(world.endpoint, build_call("whoami", number=7))
                assert "POST" in read_text(await again.stream.read_message())

    asyncio.run(run())
