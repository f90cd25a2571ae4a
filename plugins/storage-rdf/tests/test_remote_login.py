"""How the engine logs in to a SPARQL server, over real sockets: each way, TLS, and no leaks."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import re
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from twinframe.errors import ConfigurationError, StorageError
from twinframe.testing.scripted_service import (
    Script,
    ScriptedRequest,
    ScriptedService,
    always,
    render_reply,
)
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.engines.sparql import SparqlEngine
from twinframe_storage_rdf.settings import RdfSettings

YES = render_reply({"head": {}, "boolean": True})
BASIC = "Basic " + base64.b64encode(b"u:p").decode()


def build_engine(url: str, **settings: Any) -> SparqlEngine:
    """An engine whose server is at `url`, not yet opened."""
    given = RdfSettings(engine="sparql", query_url=f"{url}/query", retries=0, **settings)
    engine = build_store(given, "default").engine
    assert isinstance(engine, SparqlEngine)
    return engine


def open_and_ask(url: str, **settings: Any) -> bool:
    """Open and ask something."""
    engine = build_engine(url, **settings)
    try:
        engine.open()
        return engine.ask("ASK { }")
    finally:
        engine.close()


def serve(
    script: Script,
    use: Callable[[ScriptedService], Awaitable[None]],
    tls: ssl.SSLContext | None = None,
) -> None:
    """Use a server of this script."""

    async def run() -> None:
        async with ScriptedService(script, tls) as service:
            await use(service)

    asyncio.run(run())


def guarded(header: str) -> Script:
    """Yes to who sends this `Authorization`, to others 401."""

    async def respond(request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        is_known = request.headers.get("authorization") == header
        writer.write(YES if is_known else render_reply(b"who are you?", "401 Unauthorized"))
        await writer.drain()

    return respond


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({"authentication": "basic", "user": "u", "password": "p"}, BASIC),
        ({"authentication": "bearer", "password": "t0k3n"}, "Bearer t0k3n"),
    ],
)
def test_credentials_go_with_each_request(settings: dict[str, str], header: str) -> None:
    async def use(service: ScriptedService) -> None:
        assert await asyncio.to_thread(open_and_ask, service.url, **settings)
        assert {x.headers.get("authorization") for x in service.requests} == {header}
        with pytest.raises(ConfigurationError, match="401"):
            await asyncio.to_thread(open_and_ask, service.url)

    serve(guarded(header), use)


def digest(password: str) -> Script:
    """Yes to who answers the challenge with this password (RFC 7616, MD5 and qop=auth)."""

    async def respond(request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        given = request.headers.get("authorization", "")
        fields = dict(re.findall(r'(\w+)="?([^",]+)"?', given))
        first = hashlib.md5(f"u:sparql:{password}".encode()).hexdigest()  # noqa: S324
        second = hashlib.md5(f"POST:{request.target}".encode()).hexdigest()  # noqa: S324
        parts = (first, "n0nce", fields.get("nc"), fields.get("cnonce"), "auth", second)
        expected = hashlib.md5(":".join(map(str, parts)).encode()).hexdigest()  # noqa: S324
        if fields.get("response") == expected:
            writer.write(YES)
        else:
            challenge = 'Digest realm="sparql", nonce="n0nce", qop="auth", algorithm=MD5'
            writer.write(
                render_reply(b"", "401 Unauthorized", headers={"WWW-Authenticate": challenge})
            )
        await writer.drain()

    return respond


def test_digest_answers_the_challenge_and_never_sends_the_password() -> None:
    settings = {"authentication": "digest", "user": "u", "password": "p4ssw0rd"}

    async def use(service: ScriptedService) -> None:
        assert await asyncio.to_thread(open_and_ask, service.url, **settings)
        assert "p4ssw0rd" not in str(service.requests)
        with pytest.raises(ConfigurationError, match="401"):
            await asyncio.to_thread(open_and_ask, service.url, **settings | {"password": "other"})

    serve(digest("p4ssw0rd"), use)


def test_a_server_of_an_own_authority_is_trusted_by_its_file_alone(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)

    async def use(service: ScriptedService) -> None:
        known = {"ca_file": str(tmp_path / "ca.pem")}
        assert await asyncio.to_thread(open_and_ask, service.url, **known)
        with pytest.raises(StorageError, match="certificate verify failed"):
            await asyncio.to_thread(open_and_ask, service.url)
        elsewhere = service.url.replace("localhost", "127.0.0.1")
        with pytest.raises(StorageError, match="certificate verify failed"):
            await asyncio.to_thread(open_and_ask, elsewhere, **known)

    serve(always(YES), use, context)


@pytest.mark.parametrize("status", ["301 X", "302 X", "303 X", "307 X", "308 X"])
@pytest.mark.parametrize("way", ["basic", "bearer"])
def test_a_redirect_is_not_followed_and_takes_no_credentials_along(status: str, way: str) -> None:
    settings = {"authentication": way, "user": "u", "password": "p"}

    async def use(elsewhere: ScriptedService) -> None:
        reply = render_reply(b"", status, headers={"Location": f"{elsewhere.url}/query"})
        async with ScriptedService(always(reply)) as service:
            with pytest.raises(StorageError, match="redirects"):
                await asyncio.to_thread(open_and_ask, service.url, **settings)
        assert elsewhere.requests == []

    serve(always(YES), use)


@pytest.mark.parametrize("is_said", [True, False])
def test_an_answer_above_the_limit_is_refused_before_it_is_whole(is_said: bool) -> None:
    poured = 0

    async def pour(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        nonlocal poured
        length = b"Content-Length: 100000000\r\n" if is_said else b""
        writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n")
        for _ in range(1000):
            writer.write(b" " * 100_000)
            await writer.drain()
            poured += 1
        writer.close()

    async def use(service: ScriptedService) -> None:
        with pytest.raises(StorageError, match="more than 1000000 bytes"):
            await asyncio.to_thread(open_and_ask, service.url, max_answer_bytes=1_000_000)
        assert poured < 900  # NOTE: the kernel's buffers take some

    serve(pour, use)


def test_a_compressed_answer_is_measured_as_it_unfolds() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    async def use(service: ScriptedService) -> None:
        with pytest.raises(StorageError, match="more than 1000000 bytes"):
            await asyncio.to_thread(open_and_ask, service.url, max_answer_bytes=1_000_000)

    serve(always(render_reply(bomb, headers=headers)), use)
