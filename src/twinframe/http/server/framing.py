"""Limits, faults and the header check of the HTTP protocol guard.

Connections and timers are those of `protocol`.
"""

from __future__ import annotations

import http
import re
from dataclasses import dataclass

from twinframe.errors import MemoryExhausted
from twinframe.http.errors import render_envelope
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.settings import ServerSettings

Headers = list[tuple[bytes, bytes]]

# A chunked body may spend this much on sizes, extensions and line ends; more is an attack.
CHUNK_OVERHEAD_BYTES = 64 * 1024
# Requests that may queue on a connection; data after them is not parsed yet.
MAX_PIPELINED = 32

_HOST = re.compile(rb"[A-Za-z0-9._~\-]{1,255}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_WATCHED = frozenset((b"host", b"content-length", b"transfer-encoding"))


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one connection: bytes, counts and seconds, as `ServerSettings` explains them."""

    url_bytes: int
    head_bytes: int
    head_fields: int
    body_bytes: int
    connections: int
    header_seconds: float
    body_seconds: float
    idle_seconds: float
    write_seconds: float
    body_rate: int
    address_connections: int

    @property
    def sweep_seconds(self) -> float:
        """Return the seconds between checks of connections: at most a quarter of a limit."""
        shortest = min(
            self.header_seconds, self.body_seconds, self.idle_seconds, self.write_seconds
        )
        return min(1.0, shortest / 4)


def build_limits(settings: ServerSettings, memory: MemoryAccount) -> Limits:
    """Return the limits of a connection, from the server's settings and the available memory."""
    return Limits(
        url_bytes=settings.max_url_bytes,
        head_bytes=settings.max_header_bytes,
        head_fields=settings.max_header_count,
        body_bytes=min(settings.max_body_bytes, memory.read_limit(Part.REQUESTS)),
        connections=settings.max_connections,
        header_seconds=settings.header_timeout,
        body_seconds=settings.body_timeout,
        idle_seconds=settings.idle_timeout,
        write_seconds=settings.write_timeout,
        body_rate=settings.min_body_rate,
        address_connections=settings.max_connections_per_address
        or max(1, settings.max_connections * 3 // 4),
    )


@dataclass(frozen=True, slots=True)
class Fault:
    """A reason to refuse a request and close its connection; `answer` is the whole response."""

    status: int
    code: str
    message: str
    answer: bytes


def build_fault(status: int, code: str, message: str) -> Fault:
    """Return a fault with its answer in the vendor's error envelope."""
    body = render_envelope(code, message)
    retry = "retry-after: 1\r\n" if status == 503 else ""
    head = (
        f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n"
        "content-type: application/json; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\n"
        f"x-ms-error-code: {code}\r\n"
        "x-content-type-options: nosniff\r\n"
        f"{retry}connection: close\r\n\r\n"
    )
    return Fault(status, code, message, head.encode("ascii") + body)


MALFORMED = build_fault(400, "InvalidArgument", "The request is not well-formed HTTP/1.1.")
BAD_HOST = build_fault(400, "InvalidArgument", "Exactly one well-formed Host header is required.")
BAD_LENGTH = build_fault(400, "InvalidArgument", "The framing headers of the body are not valid.")
TRAILERS = build_fault(400, "InvalidArgument", "Trailer fields are not accepted.")
CHUNKING = build_fault(400, "InvalidArgument", "The body's chunks are too small.")
BAD_METHOD = build_fault(405, "MethodNotAllowed", "CONNECT is not accepted.")
TIMED_OUT = build_fault(
    408,
    "RequestTimeout",
    "The request did not arrive in time (Server__HeaderTimeout, Server__BodyTimeout, "
    "Server__MinBodyRate).",
)
BODY_LARGE = build_fault(
    413,
    "RequestBodyTooLarge",
    "The request body is larger than the settings Server__MaxBodyBytes and Memory__Requests allow.",
)
URL_LONG = build_fault(
    414,
    "RequestTargetTooLong",
    "The request target is longer than the setting Server__MaxUrlBytes allows.",
)
HEAD_LARGE = build_fault(
    431,
    "RequestHeadTooLarge",
    "The request head is larger than the settings Server__MaxHeaderBytes and "
    "Server__MaxHeaderCount allow.",
)
BUSY = build_fault(
    503,
    "ServiceUnavailable",
    "The worker serves as many connections as the settings Server__MaxConnections and "
    "Server__MaxConnectionsPerAddress allow.",
)
CROWDED = build_fault(
    503,
    "ServiceUnavailable",
    "There are too many connections (Server__MaxConnections, Server__MaxConnectionsPerAddress), "
    "and this one has waited longest without a request.",
)
SHORT_OF_MEMORY = build_fault(
    503, MemoryExhausted.code, MemoryExhausted(Part.REQUESTS, Part.REQUESTS.setting).message
)
BAD_VERSION = build_fault(505, "HttpVersionNotSupported", "HTTP/1.1 or HTTP/1.0 is required.")


def is_host(value: bytes) -> bool:
    """Whether a Host header is a name or address with an optional port (RFC 9110 section 7.2)."""
    return _HOST.fullmatch(value) is not None


def check_head(version: str, method: bytes, headers: Headers, limits: Limits) -> Fault | None:
    """Return the fault of a complete head, or None.

    SEC: one Host, one framing of the body, a length within the limit: what a proxy in front and
    this server could read differently is refused, not interpreted (RFC 9112 section 6.3).
    """
    if version not in ("1.1", "1.0"):
        return BAD_VERSION
    if method == b"CONNECT":
        return BAD_METHOD
    if len(headers) > limits.head_fields:
        return HEAD_LARGE
    hosts: list[bytes] = []
    lengths: list[bytes] = []
    codings: list[bytes] = []
    for name, value in headers:
        if name in _WATCHED:
            found = hosts if name == b"host" else lengths if name == b"content-length" else codings
            found.append(value)
    if len(hosts) != 1 and (hosts or version == "1.1"):
        return BAD_HOST
    if hosts and not is_host(hosts[0]):
        return BAD_HOST
    if lengths or codings:
        return _check_framing(version, lengths, codings, limits)
    return None


def _check_framing(
    version: str, lengths: list[bytes], codings: list[bytes], limits: Limits
) -> Fault | None:
    if len(lengths) + len(codings) != 1:
        return BAD_LENGTH
    if codings:
        plain = codings[0].lower() == b"chunked" and version == "1.1"
        return None if plain else BAD_LENGTH
    if not lengths[0].isdigit() or len(lengths[0]) > 18:
        return BAD_LENGTH
    return BODY_LARGE if int(lengths[0]) > limits.body_bytes else None
