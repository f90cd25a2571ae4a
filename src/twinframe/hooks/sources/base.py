"""The interface of message sources, which bring messages of a broker into the graph.

One process of a service uses a source at a time. The caller maps messages to twins, writes them,
and connects again after a failure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from twinframe.errors import TwinframeError

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class SourceFailed(TwinframeError):
    """The broker cannot be used now. The source is closed, and opened again after a pause.

    The message is for the operator; it contains no secret.
    """

    code = "SourceFailed"


class SourceMessage(NamedTuple):
    """One message.

    `receipt` is the source's own, to acknowledge it by. `key`, `headers` and `time` are those of
    the broker, where it has such; `time` is in microseconds since 1970-01-01T00:00Z.
    """

    topic: str
    payload: bytes
    receipt: object = None
    key: str | None = None
    headers: Mapping[str, str] = NO_HEADERS
    time: int | None = None


@dataclass(frozen=True, slots=True)
class TopicForm:
    """How the broker writes topics: what separates levels, and what stands for one level or for all
    further ones in a filter. An empty text: it has no such thing.
    """

    separator: str
    one: str
    rest: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """What is subscribed to.

    `filters` are topics with wildcards of the source's form, `former` those of an earlier
    subscription that are no longer wanted. `identity` is a name of letters, digits and hyphens that
    is the same after each start and that no other graph or source has: under it the broker keeps
    what arrives while nobody listens. At most `max_messages` messages, of `max_bytes` together, may
    be received without being acknowledged.
    """

    filters: tuple[str, ...]
    former: tuple[str, ...]
    identity: str
    max_messages: int
    max_bytes: int


class MessageSource(ABC):
    """A source of messages. Its methods run on the event loop of a worker and never block it."""

    form: TopicForm
    """The form of its topics."""

    @abstractmethod
    async def open(self, subscription: Subscription) -> None:
        """Connect and subscribe. Raises `SourceFailed`."""

    @abstractmethod
    async def receive(self, limit: int) -> Sequence[SourceMessage]:
        """Wait for messages and return at most `limit` of them, in the order of the broker.

        It is never called twice at a time. What was received and not acknowledged when the source
        is closed or its connection breaks has to come again. Raises `SourceFailed`.
        """

    @abstractmethod
    async def acknowledge(self, messages: Sequence[SourceMessage]) -> None:
        """Tell the broker that these messages are stored, all that one `receive` returned.

        Raises `SourceFailed`. Without effect for messages of a connection that broke.
        """

    async def probe(self) -> None:  # noqa: B027  (a source may have nothing to try)
        """Connect as `open` does and leave, without a trace at the broker. Raises `SourceFailed`.

        `twinframe check` calls it, also while a service uses the same source.
        """

    async def close(self) -> None:  # noqa: B027  (likewise)
        """Disconnect. It may be opened again."""
