"""The use cases of events as the responders call them. No implementation is here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from twinframe.graph.delivery.records import DeadLetter, Route
from twinframe.graph.event_routes import RouteStatus, Trial
from twinframe.graph.event_streams import Followed, Place
from twinframe.model.pages import Page, PageRequest
from twinframe.model.values import JsonValue


class EventRoutes(Protocol):
    """Event routes."""

    async def put_route(
        self,
        route_id: str,
        document: JsonValue,
        if_none_match: str | None,
        if_match: str | None,
    ) -> None:
        """Create or replace a route."""

    async def read_route(self, route_id: str) -> Route:
        """The route."""

    async def list_routes(self, page: PageRequest) -> Page[Route]:
        """Routes by id."""

    async def delete_route(self, route_id: str) -> None:
        """Delete a route."""

    async def read_status(self, route_id: str) -> RouteStatus:
        """How it stands."""

    async def replay(self, route_id: str, position: int) -> None:
        """Send again from a position on."""

    async def list_dead_letters(self, route_id: str, page: PageRequest) -> Page[DeadLetter]:
        """What it gave up."""

    async def replay_dead_letters(self, route_id: str) -> int:
        """Send that once more; how many."""

    async def delete_dead_letters(self, route_id: str) -> int:
        """Forget that; how many."""

    async def try_filter(self, text: str, limit: int) -> Trial:
        """Which of the last events a filter passes."""


class EventStreams(Protocol):
    """Following events."""

    def follow(
        self, filter_text: str | None, after: Place | None
    ) -> AbstractAsyncContextManager[AsyncIterator[Followed]]:
        """Events as they happen."""

    def end(self) -> None:
        """Let all who follow come to an end."""
