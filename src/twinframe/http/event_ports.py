"""The use cases of events as interfaces that the responders call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from twinframe.graph.delivery.records import DeadLetter, Route
from twinframe.graph.delivery.routes import RouteStatus, Trial
from twinframe.graph.delivery.streams import Followed, StreamPosition
from twinframe.model.pages import Page, PageRequest
from twinframe.model.values import JsonValue


class EventRoutes(Protocol):
    """Use cases of event routes."""

    async def put_route(
        self,
        route_id: str,
        document: JsonValue,
        if_none_match: str | None,
        if_match: str | None,
    ) -> None:
        """Create or replace a route."""

    async def read_route(self, route_id: str) -> Route:
        """Return the route."""

    async def list_routes(self, page: PageRequest) -> Page[Route]:
        """Return a page of routes by id."""

    async def delete_route(self, route_id: str) -> None:
        """Delete a route."""

    async def read_status(self, route_id: str) -> RouteStatus:
        """Return the route's delivery state."""

    async def replay(self, route_id: str, position: int) -> None:
        """Send events again from a position."""

    async def list_dead_letters(self, route_id: str, page: PageRequest) -> Page[DeadLetter]:
        """Return a page of the events that the route gave up."""

    async def replay_dead_letters(self, route_id: str) -> int:
        """Send the dead letters again; return their number."""

    async def delete_dead_letters(self, route_id: str) -> int:
        """Delete the dead letters; return their number."""

    async def try_filter(self, text: str, limit: int) -> Trial:
        """Return which of the last events a filter passes."""


class EventStreams(Protocol):
    """Use cases of following events."""

    def follow(
        self, filter_text: str | None, after: StreamPosition | None
    ) -> AbstractAsyncContextManager[AsyncIterator[Followed]]:
        """Return a stream of events as they happen."""

    def end(self) -> None:
        """End all streams."""
