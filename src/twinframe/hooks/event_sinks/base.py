"""The interface of event sinks, which deliver events to endpoints outside of the service.

A sink is one configured endpoint in one worker; routes of several graphs may send to it at the same
time. The caller handles retries, order and giving up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from twinframe.errors import TwinframeError

STRUCTURED = "application/cloudevents+json; charset=utf-8"


class DeliveryFailed(TwinframeError):
    """The endpoint did not accept an event now; `retry_after` is in seconds, if given.

    The message is shown to users who manage routes: it contains no secret. One that names a file of
    the installation is for the operator; `told` is the message for callers instead.
    """

    code = "DeliveryFailed"

    def __init__(self, message: str, retry_after: float | None = None, *, told: str = "") -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self._told = told

    @property
    def public(self) -> str:
        """Return the message for callers who may read event routes."""
        return self._told or self.message


class DeliveryRefused(TwinframeError):
    """The endpoint will never accept this event: it is not sent again but a dead letter."""

    code = "DeliveryRefused"


class EndpointGone(TwinframeError):
    """The endpoint wants no events at all any more: its routes stop until a caller restarts them.

    The event becomes a dead letter.
    """

    code = "EndpointGone"


@dataclass(frozen=True, slots=True)
class Message:
    """One event to be sent.

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


class Sink(ABC):  # noqa: B024  (its two kinds have the abstract methods)
    """An endpoint. Its methods run on the event loop of the worker and never block it."""

    async def open(self) -> None:  # noqa: B027  (a sink without a connection has nothing to do)
        """Prepare to send; raise `DeliveryFailed` when that fails now. It is tried again.

        Raises `EndpointGone` as `EventSink.send` does.
        """

    async def close(self) -> None:  # noqa: B027  (likewise)
        """Release its resources. It may be opened again."""


class EventSink(Sink):
    """An endpoint that takes one event after the other."""

    @abstractmethod
    async def send(self, message: Message) -> None:
        """Return once the endpoint has accepted the message for good.

        Called for several messages at a time, but for one `key` only one after the other. Raises
        `DeliveryFailed`, `DeliveryRefused`, `EndpointGone`. A cancelled call may have sent the
        message or not.
        """
