"""The messages of a client: their names, fields and the states in which they may come.

SPEC: https://neo4j.com/docs/bolt/current/bolt/message/ and .../bolt/server-state/.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Final, NamedTuple, TypeVar

from twinframe.bolt.packstream import PackValue, Structure, unpack
from twinframe.errors import BadRequest

T = TypeVar("T")

FIRST_BYTES: Final = 8 * 1024
"""The largest message before a login."""


class Request(IntEnum):
    """The tags of messages from clients."""

    HELLO = 0x01
    GOODBYE = 0x02
    RESET = 0x0F
    RUN = 0x10
    BEGIN = 0x11
    COMMIT = 0x12
    ROLLBACK = 0x13
    DISCARD = 0x2F
    PULL = 0x3F
    TELEMETRY = 0x54
    ROUTE = 0x66
    LOGON = 0x6A
    LOGOFF = 0x6B


class Answer(IntEnum):
    """The tags of messages to clients."""

    SUCCESS = 0x70
    RECORD = 0x71
    IGNORED = 0x7E
    FAILURE = 0x7F


class State(Enum):
    """The states of a connection."""

    NEGOTIATION = "NEGOTIATION"
    AUTHENTICATION = "AUTHENTICATION"
    READY = "READY"
    STREAMING = "STREAMING"
    TX_READY = "TX_READY"
    TX_STREAMING = "TX_STREAMING"
    FAILED = "FAILED"
    DEFUNCT = "DEFUNCT"


_TRANSACTION: Final = frozenset((Request.RUN, Request.COMMIT, Request.ROLLBACK))
_PULLS: Final = frozenset((Request.PULL, Request.DISCARD))
_ALWAYS: Final = frozenset((Request.RESET, Request.TELEMETRY))

ALLOWED: Final[dict[State, frozenset[Request]]] = {
    State.NEGOTIATION: frozenset((Request.HELLO,)),
    State.AUTHENTICATION: frozenset((Request.LOGON,)),
    State.READY: frozenset((Request.RUN, Request.BEGIN, Request.ROUTE, Request.LOGOFF)) | _ALWAYS,
    State.STREAMING: _PULLS | _ALWAYS,
    State.TX_READY: _TRANSACTION | _ALWAYS,
    State.TX_STREAMING: _TRANSACTION | _PULLS | _ALWAYS,
}
"""The messages that a state admits; in FAILED all but RESET are ignored."""

_PULL_TAGS: Final = frozenset((bytes((Request.PULL,)), bytes((Request.DISCARD,))))

_BY_TAG: Final[dict[int, Request]] = {one.value: one for one in Request}

_FIELDS: Final[dict[Request, tuple[type, ...]]] = {
    Request.HELLO: (dict,),
    Request.GOODBYE: (),
    Request.RESET: (),
    Request.RUN: (str, dict, dict),
    Request.BEGIN: (dict,),
    Request.COMMIT: (),
    Request.ROLLBACK: (),
    Request.DISCARD: (dict,),
    Request.PULL: (dict,),
    Request.TELEMETRY: (int,),
    Request.ROUTE: (dict, list, dict),
    Request.LOGON: (dict,),
    Request.LOGOFF: (),
}


class Message(NamedTuple):
    """A message of a client, with fields of the right types."""

    request: Request
    fields: tuple[PackValue, ...]


def parse_message(data: bytes) -> Message:
    """Parse a message. Raises `BadRequest` naming what is wrong."""
    found = unpack(data)
    if not isinstance(found, Structure):
        raise BadRequest("A message must be a structure.")
    request = _BY_TAG.get(found.tag)  # PERF: a tenth of the time of `Request(...)`
    if request is None:
        raise BadRequest(f"{found.tag:#04x} is the tag of no message.")
    types = _FIELDS[request]
    if tuple(map(type, found.fields)) != types:
        wanted = ", ".join(one.__name__ for one in types) or "none"
        raise BadRequest(f"{request.name} has other fields than it should; these are: {wanted}.")
    return Message(request, found.fields)


def is_reset(data: bytes) -> bool:
    """Return whether a message is RESET, without parsing it: it is acted on ahead of others."""
    return data[1:2] == bytes((Request.RESET,)) and len(data) == 2


def is_pull(data: object) -> bool:
    """Return whether a message is PULL or DISCARD: its rows are there, or soon will be."""
    return isinstance(data, bytes) and data[1:2] in _PULL_TAGS


def read_member(extra: Mapping[str, PackValue], name: str, kind: type[T], default: T) -> T:
    """Return a member of a message's map. Raises `BadRequest` if it has another type."""
    value = extra.get(name)
    if value is None:
        return default
    if type(value) is not kind:
        raise BadRequest(f"{name!r} must be of type {kind.__name__}.")
    return value
