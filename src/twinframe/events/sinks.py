"""The seam of event sinks: what takes events out of the service. No sink is here.

A sink is one endpoint that the operator has configured, as one worker has it; routes of several
graphs may send to it at the same time. Retries, order and what is given up are not its matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from twinframe.errors import TwinframeError

STRUCTURED = "application/cloudevents+json; charset=utf-8"


class DeliveryFailed(TwinframeError):
    """The endpoint did not take an event now; it may later. `retry_after` is in seconds, if told.

    The message is shown to who looks after routes: it holds no secret. One that names a file of
    the installation is for the operator; `told` is what callers are told in its place.
    """

    code = "DeliveryFailed"

    def __init__(self, message: str, retry_after: float | None = None, *, told: str = "") -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self._told = told

    @property
    def public(self) -> str:
        """The message as callers who may read event routes are given it."""
        return self._told or self.message


class DeliveryRefused(TwinframeError):
    """The endpoint will never take this event: it is not sent again, and becomes a dead letter."""

    code = "DeliveryRefused"


class EndpointGone(TwinframeError):
    """The endpoint wants no event any more, not only this one: its routes stop until a caller has
    them go on. The event becomes a dead letter.
    """

    code = "EndpointGone"


@dataclass(frozen=True, slots=True)
class Message:
    """One event on its way out.

    `body` is a CloudEvent in structured mode, JSON in UTF-8; `key` is the id of the twin, for
    endpoints that keep an order by it. The others are attributes of the event; `subject` may be
    empty.
    """

    body: bytes
    key: str
    id: str
    type: str
    source: str
    subject: str


class EventSink(ABC):
    """An endpoint. Its methods run on the event loop of the worker and never block it."""

    async def open(self) -> None:  # noqa: B027  (a sink without a connection has nothing to do)
        """Make ready to send; `DeliveryFailed` when that does not work now. It is tried again.

        `EndpointGone` as of `send`.
        """

    @abstractmethod
    async def send(self, message: Message) -> None:
        """Return once the endpoint has taken the message for good.

        Called for several messages at a time, though for one `key` only one after the other. Raises
        `DeliveryFailed`, `DeliveryRefused`, `EndpointGone`. Cancelled, it may have sent the message
        or not.
        """

    async def close(self) -> None:  # noqa: B027  (likewise)
        """Give back what it holds. It may be opened again."""
