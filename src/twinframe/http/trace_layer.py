"""The ASGI layer that makes an OpenTelemetry span for each request, if traces are wanted.

NOTE: it imports OpenTelemetry, so only `service` imports it, and only when it is needed.
"""

from __future__ import annotations

from typing import Any, Final

from twinframe.errors.masking import mask_path
from twinframe.http.exchange import SCOPE_KEY, Asgi, Exchange, Receive, Scope, Send
from twinframe.runtime.instruments.traces import Traces

# SPEC: W3C Trace Context; both may be repeated, and are then joined.
_CARRIED: Final = frozenset((b"traceparent", b"tracestate"))
_NO_ANSWER: Final = 499


class TraceLayer:
    """ASGI layer around the application, in which the request's span is the current one."""

    def __init__(self, traces: Traces, app: Asgi) -> None:
        self._traces = traces
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        exchange: Exchange = scope[SCOPE_KEY]
        method = scope["method"]
        span, token = self._traces.begin_request(
            method, read_carried(scope), build_attributes(scope, exchange)
        )
        own = span.get_span_context()
        if own.is_valid:
            exchange.join_trace(own.trace_id, own.span_id, own.trace_flags)
        try:
            await self._app(scope, receive, send)
        finally:
            status = exchange.status or _NO_ANSWER
            self._traces.end_request(span, token, method, exchange.route, status)


def read_carried(scope: Scope) -> dict[str, str]:
    """Return the headers that give the request's trace context."""
    carried: dict[str, str] = {}
    for name, value in scope["headers"]:
        if name in _CARRIED:
            key, text = name.decode("ascii"), value.decode("latin-1")
            carried[key] = f"{carried[key]},{text}" if key in carried else text
    return carried


def build_attributes(scope: Scope, exchange: Exchange) -> dict[str, Any]:
    """Return the request attributes of OpenTelemetry's semantic conventions.

    SEC: without the query, which may contain private data.
    """
    client = scope.get("client")
    attributes: dict[str, Any] = {
        "http.request.method": scope["method"],
        "url.path": mask_path((scope.get("raw_path") or b"").decode("ascii", "backslashreplace")),
        "url.scheme": scope.get("scheme", "http"),
        "twinframe.request_id": exchange.request_id.decode("ascii"),
    }
    if client:
        attributes["client.address"] = client[0]
    return attributes
