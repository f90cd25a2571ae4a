"""The event endpoints of a worker: sinks by name, each opened for its first event."""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from twinframe.errors import TwinframeError
from twinframe.graph.events.event import Event
from twinframe.graph.events.history import render_history
from twinframe.hooks.event_sinks.base import (
    DeliveryFailed,
    DeliveryRefused,
    EndpointGone,
    EventSink,
    Message,
    Sink,
)
from twinframe.hooks.event_sinks.tables import TableRow, TableSink

_log = logging.getLogger(__name__)


class EventForm(enum.Enum):
    """The form in which events are sent to an endpoint."""

    CLOUDEVENTS = "cloudevents"
    HISTORY = "data-history"


@dataclass(slots=True, eq=False)
class Endpoint:
    """One endpoint: its sink, the form it accepts, whether routes of hosted graphs may use it."""

    name: str
    kind: str
    sink: Sink
    form: EventForm = EventForm.CLOUDEVENTS
    hosted: bool = False
    _is_open: bool = False
    _told: str = ""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, event: Event, rows: Sequence[TableRow] = ()) -> None:
        """Send an event in the endpoint's form, of data history as these rows.

        Raises `DeliveryFailed`, `DeliveryRefused`, `EndpointGone`. Any other error of its sink,
        which may be third-party code, becomes a `DeliveryFailed`: retried, and reported. Details
        for the operator alone are logged once for all events.
        """

        async def send_all() -> None:
            if not isinstance(self.sink, EventSink):  # it was another type a moment ago
                raise DeliveryFailed(f"The endpoint {self.name} takes no single events.")
            for message in build_messages(event, self.form, rows):
                await self.sink.send(message)

        await self._attempt(send_all)

    async def write(self, name: str, rows: Sequence[TableRow]) -> None:
        """Store rows under a name, see `TableSink.write`. Raises as `send` does."""

        async def write_all() -> None:
            if not isinstance(self.sink, TableSink):
                raise DeliveryFailed(f"The endpoint {self.name} takes no rows of tables.")
            await self.sink.write(name, rows)

        await self._attempt(write_all)

    async def _attempt(self, call: Callable[[], Awaitable[None]]) -> None:
        try:
            if not self._is_open:
                await self._open()
            await call()
        except (DeliveryFailed, DeliveryRefused, EndpointGone) as error:
            if error.public != error.message and self._told != error.message:
                self._told = error.message
                _log.warning("The endpoint %s failed: %s", self.name, error.message)
            raise
        except Exception as error:
            raise self._log_failure(error) from error

    async def try_to_open(self) -> str:
        """Open the sink and close it again; return the error, for the operator, or nothing."""
        try:
            try:
                await self._open()
            finally:  # also if it was only partly opened
                self._is_open = False
                await self.sink.close()
        except TwinframeError as error:
            return error.message
        except Exception as error:  # noqa: BLE001  (a sink may come from a third party)
            return f"its sink failed with {type(error).__name__}: {error}."
        return ""

    async def close(self) -> None:
        """Close the sink if it was opened."""
        if self._is_open:
            self._is_open = False
            await self.sink.close()

    def _log_failure(self, error: Exception) -> DeliveryFailed:
        """Log an unforeseen error, once for all events. SEC: its text is for the log alone."""
        kind = type(error).__name__
        if self._told != kind:
            self._told = kind
            _log.error("The endpoint %s failed in its sink.", self.name, exc_info=error)
        return DeliveryFailed(
            f"The endpoint {self.name} failed with {kind}; the log of the service says where."
        )

    async def _open(self) -> None:
        async with self._lock:
            if not self._is_open:
                await self.sink.open()
                self._is_open = True


class Endpoints:
    """All configured endpoints, for one worker."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._endpoints = dict(endpoints)

    def find(self, name: str, *, hosted: bool = False) -> Endpoint | None:
        """Return an endpoint; for a hosted graph only one that the operator offers them."""
        found = self._endpoints.get(name)
        return found if found is not None and (found.hosted or not hosted) else None

    def list_names(self, *, hosted: bool = False) -> list[str]:
        """List the names that a route may use."""
        return sorted(name for name in self._endpoints if self.find(name, hosted=hosted))

    async def try_all(self) -> Mapping[str, str]:
        """Open all and close them again; return the error of each by its name, or nothing."""
        endpoints = self._endpoints.values()
        found = await asyncio.gather(*(endpoint.try_to_open() for endpoint in endpoints))
        return dict(zip(self._endpoints, found, strict=True))

    async def start(self) -> None:
        """Do nothing: endpoints are opened when needed; a broker that is down stops no start."""

    async def stop(self) -> None:
        """Close all. No delivery is running."""
        for endpoint in self._endpoints.values():
            try:
                await endpoint.close()
            except TwinframeError as error:
                _log.warning("The endpoint %s was not closed well: %s", endpoint.name, error)


NO_ENDPOINTS = Endpoints({})


def build_messages(event: Event, form: EventForm, rows: Sequence[TableRow] = ()) -> list[Message]:
    """Build the messages of an event: itself, or its rows of data history, which may be none."""
    envelope = event.document
    bodies = [event.wire] if form is EventForm.CLOUDEVENTS else render_history(event, rows)
    return [
        Message(
            body,
            event.key,
            envelope["id"] if form is EventForm.CLOUDEVENTS else f"{envelope['id']}-{number}",
            event.type,
            envelope["source"],
            envelope.get("subject", ""),
        )
        for number, body in enumerate(bodies)
    ]


def require_endpoint(endpoints: Endpoints, name: str, *, hosted: bool) -> Endpoint:
    """Return the endpoint of a route; raise `DeliveryFailed` when it is no longer configured."""
    found = endpoints.find(name, hosted=hosted)
    if found is None:
        raise DeliveryFailed(f"The endpoint {name} is not configured (Events__Endpoints).")
    return found
