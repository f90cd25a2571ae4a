"""OpenTelemetry spans of requests, queries and writes, exported as the standard variables say.

It joins traces that begin elsewhere (W3C `traceparent`). It installs nothing globally: other code
in the process has its own provider.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import Token
from importlib.metadata import entry_points
from os import environ
from typing import Any, Final

from opentelemetry import context, trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from twinframe.errors import ConfigurationError
from twinframe.runtime.instruments.base import Instruments, QueryRun, Write
from twinframe.runtime.instruments.slow_queries import mask_literals

_log = logging.getLogger(__name__)

_NANOSECONDS: Final = 1_000_000_000
_LONGEST_TEXT: Final = 2_000
_GROUP: Final = "opentelemetry_traces_exporter"
_PROTOCOLS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_STOP_MS: Final = 3_000
_SERVER_ERROR: Final = 500


class Traces(Instruments):
    """The spans of this process. Nothing is exported before `start`, which starts a thread."""

    def __init__(self, version: str, exporter: SpanExporter | None = None) -> None:
        """Without an `exporter`, the one that `OTEL_TRACES_EXPORTER` names, by default OTLP.

        Raises `ConfigurationError` for one that is not installed.
        """
        self._exporter = exporter or _build_exporter()
        name = environ.get("OTEL_SERVICE_NAME", "twinframe")
        # NOTE: the SDK reads sampler, attributes of the resource and limits from `OTEL_*`.
        self._provider = TracerProvider(
            resource=Resource.create({SERVICE_NAME: name}), shutdown_on_exit=False
        )
        self._tracer = self._provider.get_tracer("twinframe", version)
        self._propagator = TraceContextTextMapPropagator()

    def start(self) -> None:
        """Start to export. Call it in the process that serves."""
        if self._exporter is not None:
            self._provider.add_span_processor(BatchSpanProcessor(self._exporter))

    def stop(self) -> None:
        """Export what is left, for at most some seconds. It blocks: call it in a thread."""
        if not self._provider.force_flush(_STOP_MS):
            _log.warning("Not all spans could be exported before the end.")
        self._provider.shutdown()

    # --- requests ---------------------------------------------------------------------------------

    def begin_request(
        self, method: str, headers: Mapping[str, str], attributes: Mapping[str, Any]
    ) -> tuple[Span, Token[context.Context]]:
        """Begin the span of a request, which is the current one of this task from now on."""
        parent = self._propagator.extract(headers)
        span = self._tracer.start_span(
            method, context=parent, kind=SpanKind.SERVER, attributes=dict(attributes)
        )
        return span, context.attach(trace.set_span_in_context(span, parent))

    def end_request(
        self, span: Span, token: Token[context.Context], method: str, route: str, status: int
    ) -> None:
        """End the span of a request, answered by the route of this template (empty: by none)."""
        context.detach(token)
        if route:
            span.update_name(f"{method} {route}")
            span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        if status >= _SERVER_ERROR:
            span.set_status(Status(StatusCode.ERROR))
            span.set_attribute("error.type", str(status))
        span.end()

    # --- recording --------------------------------------------------------------------------------

    def note_query(self, run: QueryRun) -> None:
        """Add a span of the query, with one for compiling and one for running.

        SEC: its text is exported without literals, and its parameters not at all.
        """
        span = self._tracer.start_span("query", start_time=_build_moment(run.started))
        if span.is_recording():
            text = mask_literals(run.text)[:_LONGEST_TEXT]
            span.set_attributes(
                {
                    "db.query.text": text.encode("utf-8", "replace").decode(),
                    "twinframe.query.language": run.language,
                    "twinframe.query.engine": run.engine,
                    "twinframe.query.rows": run.rows,
                    "twinframe.query.charge": run.charge,
                }
            )
            inside = trace.set_span_in_context(span)
            for name, moments in (("query compile", run.compiling), ("query run", run.running)):
                if moments is not None:
                    self._add(name, moments[0], moments[1], inside)
        _end(span, run.started + run.seconds, run.error)

    def note_write(self, write: Write) -> None:
        """Add a span of the write, with one for the commit of its batch."""
        span = self._tracer.start_span("write", start_time=_build_moment(write.started))
        commit = write.commit
        if commit is not None and span.is_recording():
            span.set_attribute("twinframe.commit.works", commit.writes)
            end = commit.started + commit.seconds
            self._add("commit", commit.started, end, trace.set_span_in_context(span))
        _end(span, write.started + write.seconds, write.error)

    def _add(self, name: str, start: float, end: float, parent: context.Context) -> None:
        span = self._tracer.start_span(name, context=parent, start_time=_build_moment(start))
        span.end(_build_moment(end))


def _end(span: Span, moment: float, error: str) -> None:
    if error:
        span.set_status(Status(StatusCode.ERROR, error))
        span.set_attribute("error.type", error)
    span.end(_build_moment(moment))


def _build_moment(seconds: float) -> int:
    return int(seconds * _NANOSECONDS)


def _build_exporter() -> SpanExporter | None:
    """Build the exporter that the standard variables name; None for `none`."""
    wanted = environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower()
    if wanted == "none":
        return None
    name = wanted
    if wanted == "otlp":
        protocol = environ.get(
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        )
        name = _PROTOCOLS.get(protocol.strip().lower(), f"otlp ({protocol})")
    found = [one for one in entry_points(group=_GROUP) if one.name == name]
    if not found:
        known = ", ".join(sorted({one.name for one in entry_points(group=_GROUP)}))
        hint = (
            " Install it: pip install opentelemetry-exporter-otlp-proto-grpc."
            if name == "otlp_proto_grpc"
            else " Install it: pip install 'twinframe[otel]'."
        )
        raise ConfigurationError(
            f"Traces__Enabled=true: there is no exporter of spans named {name!r} "
            f"(OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_PROTOCOL). Installed: {known or 'none'}."
            + hint
        )
    exporter: SpanExporter = found[0].load()()
    return exporter
