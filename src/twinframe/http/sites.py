"""The HTTP server of plugins' sites: methods, validators, content codings and security headers.

It requires no credentials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from twinframe.errors import TwinframeError
from twinframe.hooks.sites import Content, Site, SiteRequest
from twinframe.http.errors import MethodNotAllowed, RouteNotFound, build_answer
from twinframe.http.exchange import SCOPE_KEY, Exchange, Receive, Scope, Send
from twinframe.http.guard import read_raw_path, write_answer

_METHODS: Final = ("GET", "HEAD", "OPTIONS")
_CODINGS: Final = ("br", "gzip")
"""Content codings, the best first."""

_KEPT: Final = b"public, max-age=31536000, immutable"
_ASKED: Final = b"no-cache"
_SAFETY: Final = (
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class SiteServer:
    """The ASGI server of all sites, mounted beside the API."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._sites = {site.path.removeprefix("/"): site for site in sites}

    def serves(self, scope: Scope) -> bool:
        """Whether a request is for a site: its first segment is the site's path, in any case."""
        segments = scope[SCOPE_KEY].target.segments
        return bool(segments) and segments[0].lower() in self._sites

    def begin_drain(self) -> None:
        """Do nothing: no answer here is endless."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for which `serves` was true. Request bodies are not read."""
        del receive
        exchange: Exchange = scope[SCOPE_KEY]
        site = self._sites[exchange.target.segments[0].lower()]
        exchange.route = site.path
        try:
            await _serve(site, exchange, scope, send)
        except TwinframeError as error:
            await write_answer(send, build_answer(error))


async def _serve(site: Site, exchange: Exchange, scope: Scope, send: Send) -> None:
    method = scope["method"]
    if method == "OPTIONS":
        await _write(send, 204, [(b"allow", ", ".join(_METHODS).encode())])
        return
    if method not in _METHODS:
        raise MethodNotAllowed(method, _METHODS)
    base, segments = exchange.target
    if len(segments) == 1 and not read_raw_path(scope).endswith(b"/"):
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        place = f"{base}{site.path}/".encode("ascii") + query
        await _write(send, 307, [(b"location", place), (b"content-length", b"0"), *_SAFETY])
        return
    content = await site.read(SiteRequest(base, tuple(segments[1:])))
    if content is None:
        raise RouteNotFound(f"{site.path} has nothing at {'/'.join(segments[1:])!a}.")
    await _write_content(send, scope, content)


async def _write_content(send: Send, scope: Scope, content: Content) -> None:
    coding = _choose_coding(scope["headers"], content.codings)
    etag = f'"{content.etag}-{coding}"' if coding else f'"{content.etag}"'
    headers = [
        (b"etag", etag.encode("ascii")),
        (b"cache-control", _KEPT if content.lasting else _ASKED),
        (b"content-security-policy", content.policy.encode("ascii")),
        *_SAFETY,
    ]
    if content.codings:
        headers.append((b"vary", b"Accept-Encoding"))
    if content.status == 200 and _is_known(scope["headers"], etag):
        await _write(send, 304, headers)
        return
    headers.append((b"content-type", content.media_type.encode("ascii")))
    if coding:
        headers.append((b"content-encoding", coding.encode("ascii")))
    body = content.codings[coding] if coding else content.body
    headers.append((b"content-length", b"%d" % len(body)))
    await _write(send, content.status, headers, b"" if scope["method"] == "HEAD" else body)


def _choose_coding(headers: Iterable[tuple[bytes, bytes]], offered: Mapping[str, bytes]) -> str:
    """Return the best coding that the client accepts; empty sends the bytes unencoded.

    SPEC: RFC 9110 section 12.5.3; `*` does not select a coding, since plain bytes always match.
    """
    if not offered:
        return ""
    taken = set()
    for part in _read_list(headers, b"accept-encoding"):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if not any(_is_zero(parameter) for parameter in parameters):
            taken.add(name)
    return next((name for name in _CODINGS if name in taken and name in offered), "")


def _is_zero(parameter: str) -> bool:
    name, _, weight = parameter.partition("=")
    return name.strip() == "q" and weight.strip().rstrip("0") in ("", "0.")


def _is_known(headers: Iterable[tuple[bytes, bytes]], etag: str) -> bool:
    """Return whether the client has this content.

    SPEC: RFC 9110 section 13.1.2, weak comparison.
    """
    known = {part.removeprefix("W/") for part in _read_list(headers, b"if-none-match")}
    return etag in known or "*" in known


def _read_list(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[str]:
    values = [value.decode("latin-1") for name, value in headers if name == wanted]
    return [part.strip() for value in values for part in value.split(",")]


async def _write(
    send: Send, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes = b""
) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})
