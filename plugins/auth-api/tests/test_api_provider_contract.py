"""The published contract, kept by this provider: asked by query and by path, with and without
a cache, against a service that answers well and one that fails in every way.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from urllib.parse import parse_qs, unquote, urlsplit

from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.testing.permission_contract import (
    Grants,
    OpenFailing,
    PermissionProviderContract,
)
from twinframe.testing.scripted_service import (
    Script,
    ScriptedRequest,
    ScriptedService,
    always,
    render_reply,
)
from twinframe_auth_api.provider import ApiProvider
from twinframe_auth_api.settings import ApiProviderSettings

GOOD = render_reply({"permissions": ["models/read"]})
PLAIN = b'{"permissions": ["models/read"]}'
DEADLINE = 0.3


def answer_by_subject(grants: Grants) -> Script:
    """A service that takes a subject for nothing but what it is."""

    async def respond(request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(request.target)
        named = parse_qs(parts.query, keep_blank_values=True, errors="strict").get("userId")
        subject = named[0] if named else unquote(parts.path.rpartition("/")[2], errors="strict")
        known = grants.get(subject)
        if known is None or len(named or ("",)) != 1:
            writer.write(render_reply({"error": "unknown user"}, status="404 Not Found"))
        else:
            writer.write(render_reply({"permissions": sorted(known)}))
        await writer.drain()

    return respond


@asynccontextmanager
async def opened(script: Script, **settings: object) -> AsyncIterator[ApiProvider]:
    """A provider of a service with this script."""
    async with ScriptedService(script) as service:
        section = ApiProviderSettings.model_validate({"BaseUrl": service.url, **settings})
        provider = ApiProvider(section)
        try:
            yield provider
        finally:
            await provider.close()


@asynccontextmanager
async def failing(
    script: Script, **settings: object
) -> AsyncIterator[tuple[PermissionProvider, Caller]]:
    async with opened(script, TimeoutSeconds=DEADLINE, **settings) as provider:
        yield provider, Caller("ann")


@asynccontextmanager
async def vanished() -> AsyncIterator[tuple[PermissionProvider, Caller]]:
    """A service that answered once and is gone."""
    async with ScriptedService(always(GOOD)) as service:
        provider = ApiProvider(ApiProviderSettings(base_url=service.url))
        assert await provider.read_permissions(Caller("ann")) == {"models/read"}
        await service.stop_listening()
        yield provider, Caller("ann")
        await provider.close()


async def hang(_request: ScriptedRequest, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def hang_within(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(GOOD[:-1])
    await writer.drain()
    await asyncio.Event().wait()


async def trickle(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
    for byte in GOOD * 5:  # each byte in time, the whole never
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(DEADLINE / 20)


async def headers_without_end(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while not writer.is_closing():
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def interim_without_end(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
    while not writer.is_closing():
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10)
        await writer.drain()
        await asyncio.sleep(0)


async def body_without_end(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    while not writer.is_closing():
        writer.write(b"1000\r\n" + b" " * 0x1000 + b"\r\n")
        await writer.drain()


async def reset(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def cut_off(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(GOOD[:-5])
    await writer.drain()
    writer.close()


def zipped(body: bytes, coding: str = "gzip") -> bytes:
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    return render_reply(gzip.compress(body), headers=headers)


def typed(content_type: str) -> bytes:
    return render_reply(PLAIN, headers={"Content-Type": content_type})


def redirected(status: str) -> bytes:
    headers = {"Content-Type": "application/json", "Location": "/elsewhere"}
    return render_reply(PLAIN, status=status, headers=headers)


REPLIES = {
    "no HTTP": b"\x00\x01\x02garbage\r\n\r\n",
    "a protocol that is not HTTP": GOOD.replace(b"HTTP/1.1", b"HTTQ/1.1"),
    "a status that is no number": GOOD.replace(b"200 OK", b"2x0 OK"),
    "two lengths": GOOD.replace(b"\r\n", b"\r\nContent-Length: 2\r\n", 1),
    "a negative length": render_reply(PLAIN, headers={"Content-Length": "-5"}),
    "201": render_reply(PLAIN, status="201 Created"),
    "203": render_reply(PLAIN, status="203 Hm"),
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "206": render_reply(PLAIN, status="206 Partial Content"),
    "301": redirected("301 Moved"),
    "302": redirected("302 Found"),
    "303": redirected("303 See Other"),
    "307": redirected("307 Temporary"),
    "308": redirected("308 Permanent"),
    "304": b"HTTP/1.1 304 Not Modified\r\n\r\n",
    "400": render_reply(PLAIN, status="400 Bad"),
    "401": render_reply(PLAIN, status="401 Unauthorized"),
    "403": render_reply(PLAIN, status="403 Forbidden"),
    "404": render_reply(PLAIN, status="404 Gone"),
    "429": render_reply(PLAIN, status="429 Slow down"),
    "500": render_reply(PLAIN, status="500 Oops"),
    "503": render_reply(PLAIN, status="503 Later"),
    "599": render_reply(PLAIN, status="599 What"),
    "ten megabytes": render_reply(b" " * 10_000_000 + PLAIN),
    "one byte too many": render_reply(b" " * (65537 - len(PLAIN)) + PLAIN),
    "a gzip bomb": zipped(b" " * 50_000_000 + PLAIN),
    "gzip, not asked for": zipped(PLAIN),
    "gzip that is none": render_reply(
        b"\x1f\x8bjunk", headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}
    ),
    "two codings": zipped(PLAIN, "identity, gzip"),
    "text/html": typed("text/html"),
    "text/plain": typed("text/plain"),
    "text/json": typed("text/json"),
    "application/jsonx": typed("application/jsonx"),
    "two content types": typed("text/html, application/json"),
    "no content type": render_reply(PLAIN, headers={}),
    "an empty body": render_reply(b""),
    "blanks": render_reply(b"  \n"),
    "HTML": render_reply(b"<html>"),
    "JSON and more": render_reply(PLAIN + b"x"),
    "half a JSON": render_reply(PLAIN[:-3]),
    "a bare array": render_reply(["models/read"]),
    "a bare text": render_reply("models/read"),
    "null": render_reply(None),
    "true": render_reply(True),
    "permissions are text": render_reply({"permissions": "models/read"}),
    "permissions are null": render_reply({"permissions": None}),
    "permissions are an object": render_reply({"permissions": {"models/read": True}}),
    "permissions are nested": render_reply({"permissions": [["models/read"]]}),
    "permissions are mixed": render_reply({"permissions": ["models/read", 1]}),
    "permissions with null": render_reply({"permissions": ["models/read", None]}),
    "another case": render_reply({"Permissions": ["models/read"]}),
    "one level down": render_reply({"data": {"permissions": ["models/read"]}}),
    "a doubled key": render_reply(b'{"permissions": ["models/read"], "permissions": ["a/b"]}'),
    "a doubled key, escaped": render_reply(
        b'{"permissions": ["models/read"], "p\\u0065rmissions": []}'
    ),
    "too deep": render_reply(b"[" * 30_000),
    "too many members": render_reply({f"k{at}": 1 for at in range(2000)} | {"permissions": ["a"]}),
    "a huge number": render_reply(b'{"permissions": ["models/read"], "n": ' + b"9" * 20_000 + b"}"),
    "NaN": render_reply(b'{"permissions": ["models/read"], "n": NaN}'),
    "no UTF-8": render_reply(b'{"permissions": ["models/read", "\xff"]}'),
    "UTF-16": render_reply(PLAIN.decode().encode("utf-16")),
    "a byte order mark": render_reply(b"\xef\xbb\xbf" + PLAIN),
    "a lone surrogate": render_reply(b'{"permissions": ["models/read", "\\ud800"]}'),
}

SCRIPTS = {
    "it never answers": hang,
    "it stops within the body": hang_within,
    "it answers a byte at a time": trickle,
    "its headers do not end": headers_without_end,
    "its interim answers do not end": interim_without_end,
    "its body does not end": body_without_end,
    "it resets the connection": reset,
    "it closes within the body": cut_off,
}


class ApiProviderContract(PermissionProviderContract):
    """`settings` and the ways of failing are those of a class."""

    settings: Mapping[str, object] = {}
    scripts: Mapping[str, Script] = {
        "it never answers": hang,
        "it closes within the body": cut_off,
        "404": always(REPLIES["404"]),
        "500": always(REPLIES["500"]),
    }

    def open_provider(self, grants: Grants) -> AbstractAsyncContextManager[PermissionProvider]:
        return opened(answer_by_subject(grants), **self.settings)

    def open_failing(self) -> Mapping[str, OpenFailing]:
        return {
            name: partial(failing, script, **self.settings) for name, script in self.scripts.items()
        }


class TestAskedByQuery(ApiProviderContract):
    """The default form of the address, with nothing remembered."""

    scripts: Mapping[str, Script] = SCRIPTS | {
        name: always(reply) for name, reply in REPLIES.items()
    }

    def open_failing(self) -> Mapping[str, OpenFailing]:
        return {**super().open_failing(), "it is gone": vanished}


class TestAskedByPath(ApiProviderContract):
    """The subject as a segment of the path."""

    settings: Mapping[str, object] = {"CheckEndpoint": "/of/{resourceName}/users/{userId}"}


class TestAskedWithACache(ApiProviderContract):
    """Answers are remembered."""

    settings: Mapping[str, object] = {"CacheExpirationMinutes": 1}


class TestAskedWithASmallCache(ApiProviderContract):
    """Answers push each other out."""

    settings: Mapping[str, object] = {"CacheExpirationMinutes": 1, "CacheSize": 1}
