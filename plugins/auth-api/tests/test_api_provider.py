"""Permissions from a service, against a real HTTP server that answers well and that misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.hooks.drivers import load_plugin
from twinframe.hooks.manager import build_manager
from twinframe.hooks.seams import PERMISSION_PROVIDER
from twinframe.hooks.sections import read_section_class
from twinframe.permissions.base import Caller
from twinframe_auth_api.provider import AnswerRefusedError, ApiProvider, render_url
from twinframe_auth_api.settings import ApiProviderSettings


def render_answer(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def ask(
    answer: bytes, *, subject: str = "ann", hang: bool = False, **settings: object
) -> tuple[set[str], list[bytes]]:
    """What a provider says when the server sends `answer`, and the requests the server saw."""

    async def run() -> tuple[set[str], list[bytes]]:
        requests: list[bytes] = []
        done = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            with contextlib.suppress(ConnectionError):  # a client may give up early
                writer.write(answer)
                await writer.drain()
                if hang:
                    await reader.read()  # until the client gives up
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            done.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        section = ApiProviderSettings.model_validate(
            {"BaseUrl": f"http://127.0.0.1:{port}", **settings}
        )
        provider = ApiProvider(section)
        try:
            permissions = await provider.read_permissions(Caller(subject))
        finally:
            await provider.close()
            if requests:
                await done.wait()
            server.close()
            await server.wait_closed()
        return set(permissions), requests

    return asyncio.run(run())


GOOD = render_answer(json.dumps({"permissions": ["models/read", "query/*"]}).encode())


def test_the_permissions_of_the_answer_are_taken() -> None:
    permissions, _requests = ask(GOOD)
    assert permissions == {"models/read", "query/*"}


def test_subject_and_resource_go_into_the_query_encoded() -> None:
    _permissions, (request,) = ask(GOOD, subject="a&b=c/ü", ResourceName="my graph")
    assert request.startswith(
        b"GET /api/v1/permissions/check?scopeType=resource&scopeId=my%20graph"
        b"&userId=a%26b%3Dc%2F%C3%BC HTTP/1.1\r\n"
    )


def test_subject_and_resource_go_into_the_placeholders_encoded() -> None:
    _permissions, (request,) = ask(
        GOOD, subject="../../{resourceName}", CheckEndpoint="/r/{resourceName}/u/{userId}"
    )
    assert request.startswith(b"GET /r/default/u/..%2F..%2F%7BresourceName%7D HTTP/1.1\r\n")


def test_the_bearer_token_is_sent_only_when_set() -> None:
    _permissions, (request,) = ask(GOOD, BearerToken="s3cret")
    assert b"authorization: bearer s3cret\r\n" in request.lower()
    _permissions, (request,) = ask(GOOD)
    assert b"authorization" not in request.lower()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="the connection is closed"),
        pytest.param(b"\x00\x01\x02garbage\r\n\r\n", id="no HTTP"),
        pytest.param(GOOD.replace(b"200 OK", b"500 Oops"), id="500"),
        pytest.param(GOOD.replace(b"200 OK", b"404 Gone"), id="404"),
        pytest.param(GOOD.replace(b"200 OK", b"203 Hm"), id="203"),
        pytest.param(
            GOOD.replace(b"200 OK\r\n", b"302 Found\r\nLocation: http://127.0.0.1:1/\r\n"),
            id="redirect",
        ),
        pytest.param(render_answer(b""), id="empty"),
        pytest.param(render_answer(b"<html>"), id="no JSON"),
        pytest.param(render_answer(b'["models/read"]'), id="a bare array"),
        pytest.param(render_answer(b'{"permissions": "models/read"}'), id="text"),
        pytest.param(render_answer(b'{"permissions": ["models/read", 1]}'), id="mixed"),
        pytest.param(render_answer(b'{"permissions": null}'), id="null"),
        pytest.param(render_answer(b'{"Permissions": ["models/read"]}'), id="another case"),
        pytest.param(
            render_answer(b'{"permissions": ["a/b"], "permissions": ["c/d"]}'), id="doubled key"
        ),
        pytest.param(render_answer(b"[" * 100_000), id="too deep"),
        pytest.param(render_answer(b'{"permissions": ["\xff"]}'), id="no UTF-8"),
        pytest.param(GOOD[:-5], id="cut off"),
        pytest.param(
            render_answer(b"\x1f\x8bjunk", headers="Content-Encoding: gzip\r\n"), id="bad gzip"
        ),
    ],
)
def test_an_answer_that_is_not_usable_grants_nothing_and_is_logged(
    answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    permissions, requests = ask(answer)
    assert permissions == set()
    assert len(requests) == 1
    assert "the caller has no permissions" in caplog.text


def test_an_answer_that_never_ends_grants_nothing() -> None:
    permissions, _requests = ask(GOOD[:-1], hang=True, TimeoutSeconds=0.2)
    assert permissions == set()


def test_an_answer_that_is_too_long_grants_nothing() -> None:
    body = json.dumps({"permissions": ["models/read"], "padding": "x" * 5000}).encode()
    assert ask(render_answer(body), MaxAnswerBytes=4000)[0] == set()
    assert ask(render_answer(body), MaxAnswerBytes=6000)[0] == {"models/read"}


def test_a_service_that_is_not_there_grants_nothing() -> None:
    async def run() -> frozenset[str]:
        server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        provider = ApiProvider(ApiProviderSettings(base_url=f"http://127.0.0.1:{port}"))
        try:
            return await provider.read_permissions(Caller("ann"))
        finally:
            await provider.close()

    assert asyncio.run(run()) == frozenset()


@pytest.mark.parametrize("subject", ["", ".", "..", "\ud800"])
def test_a_subject_that_would_change_the_path_is_not_asked_for(subject: str) -> None:
    permissions, requests = ask(GOOD, subject=subject, CheckEndpoint="/u/{userId}")
    assert permissions == set()
    assert requests == []


@given(st.text(max_size=12))
def test_no_subject_leaves_its_place_in_the_address(subject: str) -> None:
    settings = ApiProviderSettings(
        base_url="http://service", check_endpoint="/u/{userId}/of/{resourceName}"
    )
    try:
        url = render_url(settings, subject)
    except AnswerRefusedError:
        surrogate = any("\ud800" <= character <= "\udfff" for character in subject)
        assert surrogate or subject in ("", ".", "..")
        return
    assert url.count("/") == 6
    assert url.startswith("http://service/u/")
    assert url.endswith("/of/default")
    assert not set(url) & set("?#{} \\")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("BaseUrl", "control.example"),
        ("CheckEndpoint", "check"),
        ("CheckEndpoint", "/check/{user}"),
        ("TimeoutSeconds", 0),
        ("ResourceName", ""),
    ],
)
def test_wrong_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=key):
        ApiProviderSettings.model_validate({"BaseUrl": "https://x", key: value})


def test_the_plugin_builds_a_provider_from_its_section() -> None:
    plugin = load_plugin(build_manager(), PERMISSION_PROVIDER, "api")
    assert read_section_class(plugin) is ApiProviderSettings
    provider = plugin.call(
        "twinframe_permission_provider",
        settings=ApiProviderSettings(base_url="https://x"),
        authorization=None,
    )
    assert isinstance(provider, ApiProvider)
    asyncio.run(provider.close())
