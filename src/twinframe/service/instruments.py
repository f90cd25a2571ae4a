"""Builds the metrics, traces and slow-query log that the settings ask for.

Disabled instruments are not even imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Final

import twinframe
from twinframe.errors import ConfigurationError
from twinframe.http.exchange import Exchange
from twinframe.http.guard import Guard
from twinframe.http.server.side_listener import SideListener, build_document_app
from twinframe.runtime.instruments.base import Instruments, build_group
from twinframe.runtime.instruments.slow_queries import SlowQueryLog
from twinframe.runtime.memory import MemoryAccount
from twinframe.service.memory import MemoryLevels
from twinframe.service.relay_directory import open_private_directory
from twinframe.settings import Settings

if TYPE_CHECKING:
    from twinframe.runtime.instruments.metrics import Metrics
    from twinframe.runtime.instruments.traces import Traces

_log = logging.getLogger(__name__)

METRICS_PATH: Final = "/metrics"
_METRICS_PREFIX: Final = "twinframe-metrics-"
_METRICS_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_SAMPLE_SECONDS: Final = 5.0
_INSTALL: Final = "pip install 'twinframe[otel]'"


class InstrumentService:
    """Metrics, traces and slow queries of a worker, for the lifespan and the application.

    `instruments` is None when all are off: then requests are not recorded at all. Raises
    `ConfigurationError` for instruments that are enabled and not installed.
    """

    def __init__(self, settings: Settings, memory: MemoryAccount | None = None) -> None:
        self._settings = settings
        self._memory = None if memory is None else MemoryLevels(memory)
        self._own: TemporaryDirectory[str] | None = None
        self._listener: SideListener | None = None
        self._sampling: asyncio.Task[None] | None = None
        self.metrics = self._build_metrics()
        self.traces = build_traces(settings)
        members: list[Instruments] = [one for one in (self.metrics, self.traces) if one is not None]
        if settings.logging.slow_query:
            log = settings.logging
            members.append(SlowQueryLog(log.slow_query, log.slow_query_text))
        self.instruments = build_group(members)
        if self.instruments is not None and self._memory is not None:
            self.instruments.watch(self._memory)

    @property
    def on_refusal(self) -> Callable[[str], None] | None:
        """The callback for operations that are refused for their caller's rate."""
        return None if self.metrics is None else self.metrics.note_refusal

    def attach(self, guard: Guard) -> None:
        """Let the guard report its requests; without request instruments, nothing is added."""
        if self.metrics is not None:
            metrics = self.metrics

            def note(exchange: Exchange) -> None:
                metrics.note_request(
                    exchange.route,
                    exchange.scope["method"],
                    exchange.status or 499,
                    exchange.read_seconds(),
                    exchange.graph,
                )

            guard.observe(note)
        if self.traces is not None:
            layers = load_optional("twinframe.http.trace_layer")
            guard.wrap(partial(layers.TraceLayer, self.traces))

    async def start(self) -> None:
        """Export spans, serve metrics, sample levels periodically."""
        if self.traces is not None:
            self.traces.start()
        if self.metrics is None:
            return
        self.metrics.sample()
        app = build_document_app(METRICS_PATH, self.metrics.content_type, self._render)
        self._listener = SideListener(
            self._settings.metrics.bind, self._settings.server, app, key="Metrics__Bind"
        )
        await self._listener.start()
        self._sampling = asyncio.create_task(self._sample(), name="metrics")

    async def stop(self) -> None:
        """Export what is left, stop listening."""
        if self._sampling is not None:
            self._sampling.cancel()
        if self._listener is not None:
            await self._listener.stop()
        if self.traces is not None:
            await asyncio.to_thread(self.traces.stop)
        if self.metrics is not None:
            self.metrics.close()
        if self._own is not None:
            self._own.cleanup()

    async def _render(self) -> bytes:
        assert self.metrics is not None  # noqa: S101  # it is who listens
        self.metrics.sample()
        return await asyncio.to_thread(self.metrics.render)

    async def _sample(self) -> None:
        assert self.metrics is not None  # noqa: S101  # it is who starts this
        while True:
            await asyncio.sleep(_SAMPLE_SECONDS)
            self.metrics.sample()

    def _build_metrics(self) -> Metrics | None:
        wanted = self._settings.metrics
        if not wanted.enabled:
            return None
        directory = os.environ.get(_METRICS_VARIABLE, "")
        if not directory:  # no arbiter has made one: this process is the whole service
            self._own = TemporaryDirectory(prefix="twinframe-own-metrics-")
            directory = self._own.name
        made: Metrics = importlib.import_module("twinframe.runtime.instruments.metrics").Metrics(
            Path(directory), wanted.max_graphs, twinframe.__version__
        )
        return made


def build_traces(settings: Settings) -> Traces | None:
    """Build the traces of the settings. Raises `ConfigurationError` when they are not available."""
    if not settings.traces.enabled:
        return None
    made: Traces = load_optional("twinframe.runtime.instruments.traces").Traces(
        twinframe.__version__
    )
    return made


def load_optional(name: str) -> ModuleType:
    """Import a module of OpenTelemetry; `ConfigurationError` if it is not installed.

    PERF: imported here and not at the head of this file, since it takes 0.1 s and 20 MiB.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        raise ConfigurationError(
            f"Traces__Enabled=true needs the package {error.name}, which is not installed. "
            f"Install it: {_INSTALL}; or set Traces__Enabled=false."
        ) from error


@contextmanager
def open_metrics(settings: Settings) -> Iterator[None]:
    """Create a directory for the metrics of the workers, removed with this process.

    Where the environment names one already, that is used, and kept.
    """
    if not settings.metrics.enabled or os.environ.get(_METRICS_VARIABLE):
        yield
        return
    with open_private_directory(_METRICS_PREFIX) as directory:
        os.environ[_METRICS_VARIABLE] = str(directory)
        try:
            yield
        finally:
            with contextlib.suppress(KeyError):
                del os.environ[_METRICS_VARIABLE]
