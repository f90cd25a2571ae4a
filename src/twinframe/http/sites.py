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

_READS: Final = ("GET", "HEAD")
_METHODS: Final = (*_READS, "OPTIONS")
_CODINGS: Final = ("br", "gzip")
"""Content codings, the best first."""

_KEPT: Final = b"public, max-age=31536000, immutable"
_ASKED: Final = b"no-cache"
_SAFETY: Final = (
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class SiteServer:
    """The ASGI server of all sites, mounted beside the API.

    It also leads browsers from `/` to the site that is the start, if there is one.
    """

    def __init__(self, sites: Iterable[Site]) -> None:
        self._sites = {site.path.removeprefix("/"): site for site in sites}
        self._start = next((site for site in self._sites.values() if site.is_start), None)

    def serves(self, scope: Scope) -> bool:
        """Whether a request is for a site: its first segment is the site's path, in any case.

        `/` is for the start if the client is a browser: one that asks for HTML by name.
        """
        segments = scope[SCOPE_KEY].target.segments
        if segments:
            return segments[0].lower() in self._sites
        return self._start is not None and scope["method"] in _READS and _asks_for_html(scope)

    def begin_drain(self) -> None:
        """Do nothing: no answer here is endless."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for which `serves` was true. Request bodies are not read."""
        del receive
        exchange: Exchange = scope[SCOPE_KEY]
        base, segments = exchange.target
        if not segments and self._start is not None:
            exchange.route = "/"
            await _redirect(send, f"{base}{self._start.path}/", (b"vary", b"Accept"))
            return
        site = self._sites[segments[0].lower()]
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
        query = f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
        await _redirect(send, f"{base}{site.path}/{query}")
        return
    content = await site.read(SiteRequest(base, tuple(segments[1:])))
    if content is None:
        raise RouteNotFound(f"{site.path} has nothing at {'/'.join(segments[1:])!a}.")
    await _write_content(send, scope, content)


async def _redirect(send: Send, target: str, *headers: tuple[bytes, bytes]) -> None:
    location = (b"location", target.encode("latin-1"))
    await _write(send, 307, [location, (b"content-length", b"0"), *headers, *_SAFETY])


def _asks_for_html(scope: Scope) -> bool:
    """Return whether `Accept` names HTML; `*/*`, which clients of the API send, does not."""
    ranges = _read_list(scope["headers"], b"accept")
    return any(one.partition(";")[0].strip().lower() == "text/html" for one in ranges)


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
