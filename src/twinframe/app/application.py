"""The composition root: an installation becomes an ASGI application. It alone knows all layers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from twinframe.app.access import build_access
from twinframe.app.installation import (
    Installation,
    build_installation,
    check_built,
    load_installation,
)
from twinframe.app.logs import configure_logging
from twinframe.errors import StorageError
from twinframe.graph import Graph
from twinframe.settings import Section, Settings
from twinframe.settings.shape import KeyPath
from twinframe.storage.base import GraphStore
from twinframe.storage.runner import StoreRunner
from twinframe.web.application import build_application
from twinframe.web.guard import Guard


def create_app(
    settings: Settings | None = None, sections: Mapping[KeyPath, Section] | None = None
) -> Guard:
    """The ASGI application of these settings; without any, of the process's file and environment.

    Raises `ConfigurationError` when they are wrong. The store is opened at the lifespan's start-up.
    """
    if settings is None:
        installation = load_installation()
        configure_logging(installation.settings.logging)
    else:
        installation = build_installation(settings, sections)
    return build_app(installation)


def build_app(installation: Installation) -> Guard:
    """The ASGI application of an installation. Call it in the process that serves.

    NOTE: nothing is opened and no thread runs before the lifespan's start-up.
    """
    settings = installation.settings
    check_built(settings)
    service = StoreService(installation.build_store(), settings)
    access = build_access(installation)
    return build_application(
        build_graph(installation, service),
        settings,
        gate=None if access is None else access.gate,
        start=[service.start, *([] if access is None else [access.start])],
        stop=[*([] if access is None else [access.stop]), service.stop],
        is_ready=service.is_ready,
    )


def build_graph(installation: Installation, service: StoreService) -> Graph:
    """The use cases over a store, with the query engine that its plugin offers for it."""
    engine = installation.build_query_engine(service.store)
    scratch = service.store.scratch
    return Graph(service.runner, installation.settings, engine=engine, scratch=scratch)


@asynccontextmanager
async def open_graph(installation: Installation) -> AsyncIterator[Graph]:
    """The use cases without a service: the store is open inside the context only."""
    service = StoreService(installation.build_store(), installation.settings)
    await service.start()
    try:
        yield build_graph(installation, service)
    finally:
        await service.stop()


class StoreService:
    """A store and its runner as the lifespan sees them: opened at the start, closed at the end."""

    def __init__(self, store: GraphStore, settings: Settings) -> None:
        self.store = store
        self.runner = StoreRunner(store, settings.storage)

    async def start(self) -> None:
        """Open the store: the process has forked, and nothing else runs yet that could wait."""
        self.store.open()

    async def stop(self) -> None:
        """Finish accepted work, then close the store."""
        await self.runner.close()
        self.store.close()

    async def is_ready(self) -> bool:
        """Whether the store answers."""
        try:
            await self.runner.read(lambda session: session.read_schema_version())
        except StorageError:
            return False
        return True
