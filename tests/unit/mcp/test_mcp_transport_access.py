"""Who is let through to the MCP server, and in which words everybody else is refused."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from tests.unit.mcp.transport_world import (
    Answer,
    Client,
    build_call,
    build_headers,
    call,
    call_tool,
    caller,
    in_an_hour,
    names_of,
    open_world,
    open_worlds,
    read_text,
)
from twinframe.access.permissions import API_KEY, Caller
from twinframe.settings import AuthorizationSettings, McpSettings, ServerSettings, Settings

METADATA = "http://127.0.0.1:8082/.well-known/oauth-protected-resource"


def ask(known: dict[str, Caller], token: str = "t", **more: Any) -> Answer:  # noqa: S107
    """The answer to one call of a tool."""

    async def run() -> Answer:
        async with open_world(known=known, settings=more.pop("settings", None)) as world:
            return await call_tool(world.endpoint, "whoami", token=token, **more)

    return asyncio.run(run())


@pytest.mark.parametrize("target", ["/mcp", "/sse", "/messages/00000000/", "/messages", "/"])
def test_whoever_shows_no_credentials_is_told_where_to_get_some(target: str) -> None:
    async def run() -> Answer:
        async with open_world(known={"t": caller()}) as world:
            method = "GET" if target == "/sse" else "POST"
            return await call(world.endpoint, method, target, {})

    answer = asyncio.run(run())
    assert answer.status == 401
    assert answer.json == {
        "error": "unauthorized",
        "error_description": "Authentication required. Please provide a valid Bearer token.",
        "resource_metadata": METADATA,
    }
    assert (
        answer.headers["www-authenticate"] == f'Bearer realm="mcp", resource_metadata="{METADATA}"'
    )
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("Jwt", "a valid Bearer token."),
        ("ApiKey", "a valid API key in the header X-API-Key."),
        ("Jwt,ApiKey", "a valid Bearer token or X-API-Key."),
    ],
)
def test_whoever_shows_no_credentials_is_told_which_kinds_are_taken(mode: str, text: str) -> None:
    settings = Settings.model_validate({"Authentication": {"Mode": mode}})
    answer = ask({"t": caller()}, "none", settings=settings)
    assert answer.json["error_description"] == f"Authentication required. Please provide {text}"


@pytest.mark.parametrize(
    ("url", "metadata"),
    [
        ("https://h.example", "https://h.example/.well-known/oauth-protected-resource"),
        ("https://h.example/", "https://h.example/.well-known/oauth-protected-resource"),
        ("https://h.example/mcp", "https://h.example/.well-known/oauth-protected-resource/mcp"),
    ],
)
def test_the_metadata_is_found_by_the_url_of_the_resource_and_not_by_the_host(
    url: str, metadata: str
) -> None:
    settings = Settings(mcp=McpSettings(resource_server_url=url))
    answer = ask({"t": caller()}, "none", settings=settings)
    assert answer.json["resource_metadata"] == metadata


def test_a_token_without_the_scope_is_refused_and_told_the_scope() -> None:
    answer = ask({"t": caller(scopes=frozenset(("mcp:resources",)))})
    assert answer.status == 403
    assert answer.json == {
        "error": "insufficient_scope",
        "error_description": "Required scopes: mcp:tools",
        "scope": "mcp:tools",
    }
    assert answer.headers["www-authenticate"] == (
        'Bearer realm="mcp", error="insufficient_scope", scope="mcp:tools", '
        f'resource_metadata="{METADATA}"'
    )
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "scope", ["mcp:toolsx", "xmcp:tools", "mcp:tools:read", "MCP:Tools", "mcp:*"]
)
def test_a_scope_that_is_not_the_one_is_none(scope: str) -> None:
    assert ask({"t": caller(scopes=frozenset((scope,)))}).status == 403


def test_all_scopes_of_the_settings_are_required_instead() -> None:
    settings = Settings(authorization=AuthorizationSettings(required_scopes=("a", "mcp:b")))
    assert ask({"t": caller(scopes=frozenset(("a", "mcp:b")))}, settings=settings).status == 200
    answer = ask({"t": caller(scopes=frozenset(("a", "mcp:tools")))}, settings=settings)
    assert (answer.status, answer.json["scope"]) == (403, "a mcp:b")
    assert answer.json["error_description"] == "Required scopes: a, mcp:b"


@pytest.mark.parametrize(
    "permissions",
    [
        None, [], ["digitaltwins/*"], ["mcp/read"], ["mcp/"], ["xmcp/*"], ["mcp/*/x"], ["*/*"],
        ["*"], 7, ["mcp/*", 7], {"mcp/*": True},
    ],
)  # fmt: skip
def test_whoever_does_not_hold_all_of_mcp_is_refused(permissions: object) -> None:
    claims = {} if permissions is None else {"permissions": permissions}
    answer = ask({"t": caller(claims=claims)})
    assert answer.status == 403
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.json == {
        "type": "https://tools.ietf.org/html/rfc7231#section-6.5.3",
        "title": "Forbidden",
        "status": 403,
        "detail": "User lacks required permission: mcp/*",
    }


def test_scopes_are_asked_for_before_permissions() -> None:
    answer = ask({"t": caller(scopes=frozenset(), claims={})})
    assert answer.json["error"] == "insufficient_scope"


def test_an_api_key_needs_the_permission_and_no_scope() -> None:
    for permission, status in (("mcp/*", 200), ("query/read", 403)):
        key = caller(kind=API_KEY, scopes=frozenset(), permissions=frozenset((permission,)))
        answer = ask({"t": key})
        assert answer.status == status
        assert b"insufficient_scope" not in answer.body


def test_tools_know_who_calls_and_the_trail_names_them() -> None:
    async def run() -> None:
        async with open_world(known={"t": caller(), "u": caller("bob", claims={})}) as world:
            answer = await call_tool(world.endpoint, "whoami", token="t")
            assert read_text(answer.json) == "ada POST /mcp"
            await call_tool(world.endpoint, "whoami", token="u")
            assert names_of(world.seen.audit) == [(True, "ada", "mcp/*"), (False, "bob", "mcp/*")]

    asyncio.run(run())


@pytest.mark.parametrize("transport", ["sse", "streamable"])
def test_permissions_are_asked_for_once_a_message_and_anew_for_the_next(transport: str) -> None:
    arguments = {"needed": ["mcp/use", "query/read", "models/read"]}
    rich = caller(claims={"permissions": ["mcp/*", "query/read"], "iss": "https://issuer.example/"})

    async def run() -> None:
        async with open_world(known={"t": rich}) as world:
            sse = await Client.open(world.endpoint, "t")

            async def ask() -> str:
                if transport == "streamable":
                    answer = await call_tool(world.endpoint, "check", arguments, token="t")
                    return str(answer.json["result"]["structuredContent"]["result"])
                await sse.post(world.endpoint, build_call("check", arguments), "t")
                message = await sse.stream.read_message()
                return str(message["result"]["structuredContent"]["result"])

            before = world.seen.reads
            assert await ask() == "[True, True, False]"
            assert world.seen.reads == before + 1
            world.tokens.known["t"] = caller()  # what it was granted was taken away
            assert await ask() == "[True, False, False]"
            assert world.seen.reads == before + 2

    asyncio.run(run())


@pytest.mark.parametrize("through", ["its own worker", "another worker"])
def test_a_session_serves_whom_it_was_opened_for_and_nobody_else(
    through: str, tmp_path: Any
) -> None:
    known = {"a": caller(), "a-new": caller(), "b": caller("bob"), "poor": caller(claims={})}

    async def run() -> None:
        async with open_worlds(tmp_path, known) as (first, second):
            app = first.endpoint if through == "its own worker" else second.endpoint
            client = await Client.open(first.endpoint, "a")
            for token, status in (("b", 404), ("none", 401), ("poor", 403)):
                answer = await client.post(app, build_call("whoami"), token)
                assert answer.status == status, token
            for token in ("a", "a-new"):
                assert (await client.post(app, build_call("whoami"), token)).status == 202
                assert read_text(await client.stream.read_message()).startswith(
                    "ada POST /messages/"
                )
            del first.tokens.known["a"], second.tokens.known["a"]
            assert (await client.post(app, build_call("whoami"), "a")).status == 401

    asyncio.run(run())


def test_a_stream_ends_properly_when_the_token_does() -> None:
    settings = Settings.model_validate({"Authentication": {"Leeway": 0}})
    known = {"long": caller(expires=in_an_hour())}

    async def run() -> None:
        async with open_world(settings, known) as world:
            lasting = await Client.open(world.endpoint, "long")
            world.tokens.known["short"] = caller(expires=time.time() + 2)
            ending = await Client.open(world.endpoint, "short")
            assert await ending.stream.read_event() == ("", "")
            assert ending.stream.task is not None
            await ending.stream.task
            await lasting.post(world.endpoint, build_call("whoami"))
            assert read_text(await lasting.stream.read_message()).startswith("ada ")

    asyncio.run(run())


def test_streams_are_bounded_for_each_caller_and_for_a_worker() -> None:
    settings = Settings(mcp=McpSettings(max_sessions=3, max_sessions_per_caller=2))
    known = {"a": caller(), "b": caller("bob")}

    async def run() -> None:
        async with open_world(settings, known) as world:
            clients = [await Client.open(world.endpoint, "a") for _ in range(2)]
            headers = {"accept": "text/event-stream", "authorization": "Bearer a"}
            refused = await call(world.endpoint, "GET", "/sse", headers)
            assert (refused.status, refused.headers["retry-after"]) == (503, "5")
            assert "2 sessions" in refused.json["error"]["message"]
            await Client.open(world.endpoint, "b")
            headers["authorization"] = "Bearer b"
            assert (await call(world.endpoint, "GET", "/sse", headers)).status == 503
            await clients[0].stream.leave()
            assert (await Client.open(world.endpoint, "a")).address

    asyncio.run(run())


def test_whoever_is_not_asked_who_he_is_shares_no_limit_with_others() -> None:
    settings = Settings(mcp=McpSettings(max_sessions=3, max_sessions_per_caller=1))

    async def run() -> None:
        async with open_world(settings) as world:
            clients = [await Client.open(world.endpoint) for _ in range(3)]
            headers = {"accept": "text/event-stream"}
            assert (await call(world.endpoint, "GET", "/sse", headers)).status == 503
            assert len({client.address for client in clients}) == 3

    asyncio.run(run())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "localhost:6274"}, 200),
        ({"host": "127.0.0.1:8082", "origin": "http://localhost:6274"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8082"}, 421),
        ({"host": "localhost.evil.example"}, 421),
        ({"host": "localhost:80:80"}, 421),
        ({"host": ""}, 421),
        ({"host": "127.0.0.1:8082", "origin": "http://evil.example"}, 403),
        ({"host": "127.0.0.1:8082", "origin": "null"}, 403),
        ({"host": "127.0.0.1:8082", "origin": "http://localhost.evil.example:8082"}, 403),
    ],
)
def test_hosts_and_origins_that_are_not_ours_are_refused(
    headers: dict[str, str], status: int
) -> None:
    async def run() -> Answer:
        async with open_world(known={"t": caller()}) as world:
            body = json.dumps(build_call("whoami")).encode()
            return await call(
                world.endpoint, "POST", "/mcp", build_headers("t", "whoami") | headers, body
            )

    answer = asyncio.run(run())
    assert answer.status == status
    assert answer.headers.get("access-control-allow-origin") == (
        headers.get("origin") if status == 200 else None
    )


def test_the_names_of_the_settings_are_ours() -> None:
    settings = Settings(
        mcp=McpSettings(
            bind="10.0.0.5:9000",
            resource_server_url="https://mcp.example/mcp",
            allowed_hosts=("svc.local", "pod:*"),
        ),
        server=ServerSettings(public_url="http://api.example:8443"),
    )

    async def run() -> dict[str, int]:
        async with open_world(settings) as world:
            hosts = (
                "mcp.example", "MCP.example:443", "mcp.example:80", "api.example:8443",
                "api.example", "10.0.0.5:9000", "svc.local", "svc.local:1", "pod:1", "pod",
                "localhost",
            )  # fmt: skip
            return {
                host: (await call_tool(world.endpoint, "whoami", host=host)).status
                for host in hosts
            }

    assert [host for host, status in asyncio.run(run()).items() if status == 200] == [
        "mcp.example", "MCP.example:443", "api.example:8443", "10.0.0.5:9000", "svc.local", "pod:1",
    ]  # fmt: skip


def test_a_preflight_is_answered_without_credentials() -> None:
    async def run() -> Answer:
        async with open_world(known={"t": caller()}) as world:
            headers = {
                "origin": "http://localhost:6274",
                "access-control-request-method": "POST",
                "access-control-request-headers": "authorization,mcp-protocol-version",
            }
            return await call(world.endpoint, "OPTIONS", "/mcp", headers)

    answer = asyncio.run(run())
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "http://localhost:6274"
    assert "authorization" in answer.headers["access-control-allow-headers"].lower()
    assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in answer.headers
