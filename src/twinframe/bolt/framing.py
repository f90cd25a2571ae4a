"""Bolt's handshake and chunks: bytes of a connection to messages and back, without I/O.

SPEC: https://neo4j.com/docs/bolt/current/bolt/handshake/ and .../bolt/message/#_chunking.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from twinframe.errors import BadRequest

MAGIC: Final = b"\x60\x60\xb0\x17"
HANDSHAKE_BYTES: Final = 20
"""The preamble and four proposals of four bytes each."""
MANIFEST: Final = b"\x00\x00\x01\xff"
"""A proposal, and its answer: the server lists its versions, the client chooses."""
CHOICE_BYTES: Final = 5
"""A version and its capabilities, of which there are none, in answer to the list."""
REFUSAL: Final = b"\x00\x00\x00\x00"
NOOP: Final = b"\x00\x00"
"""A chunk without content between messages: the connection is alive."""

_MAJOR: Final = 5
_OLDEST_MINOR: Final = 0
_NEWEST_MINOR: Final = 8
_MINORS: Final = frozenset(range(_OLDEST_MINOR, _NEWEST_MINOR + 1)) - {5}
"""SPEC: 5.5 was never published."""
_LARGEST_CHUNK: Final = 0xFFFF


class Version(NamedTuple):
    """A version of the protocol."""

    major: int
    minor: int

    def encode(self) -> bytes:
        """The version in four bytes."""
        return bytes((0, 0, self.minor, self.major))


def choose_version(proposals: bytes) -> Version | None:
    """Return the newest supported version of the first proposal that has one; None: of none.

    `proposals` are four times four bytes: nothing, how many minor versions below, minor, major.
    """
    for at in range(0, len(proposals), 4):
        _, below, minor, major = proposals[at : at + 4]
        if major == _MAJOR:
            found = [one for one in _MINORS if minor - below <= one <= minor]
            if found:
                return Version(major, max(found))
    return None


def build_manifest() -> bytes:
    """Return the list of versions: how many, each with how many minor ones below, capabilities."""
    newest = bytes((0, _NEWEST_MINOR - 6, _NEWEST_MINOR, _MAJOR))
    older = bytes((0, 4 - _OLDEST_MINOR, 4, _MAJOR))
    return MANIFEST + b"\x02" + newest + older + b"\x00"


def parse_choice(choice: bytes) -> Version | None:
    """Return the version that a client chose from the list; None for one that is not on it."""
    reserved, below, minor, major, capabilities = choice
    is_listed = major == _MAJOR and minor in _MINORS
    if reserved or below or capabilities or not is_listed:
        return None
    return Version(major, minor)


def build_chunks(message: bytes) -> bytes:
    """Return a message as it is sent: chunks with their sizes, and an empty one."""
    size = len(message)
    if size <= _LARGEST_CHUNK:
        return size.to_bytes(2, "big") + message + NOOP
    parts = bytearray()
    for at in range(0, size, _LARGEST_CHUNK):
        part = message[at : at + _LARGEST_CHUNK]
        parts += len(part).to_bytes(2, "big")
        parts += part
    parts += NOOP
    return bytes(parts)


class MessageReader:
    """Puts messages together from the bytes of a connection, as they come.

    SEC: no more is kept than a message of the most bytes; a message beyond is refused at once.
    """

    def __init__(self, most: int) -> None:
        """`most` is the most bytes of a message; it may be set later."""
        self.most = most
        self._received = bytearray()
        self._message = bytearray()

    @property
    def is_within(self) -> bool:
        """Whether a message has begun that is not complete."""
        return bool(self._received or self._message)

    @property
    def held(self) -> int:
        """The bytes that wait for their message to be complete."""
        return len(self._received) + len(self._message)

    def feed(self, data: bytes, count: int) -> list[bytes]:
        """Take bytes, and return at most `count` messages that are complete. Raises `BadRequest`.

        Without bytes it returns further ones.
        """
        received, message = self._received, self._message
        received += data
        found: list[bytes] = []
        at, end = 0, len(received)
        while end - at >= 2 and len(found) < count:
            size = int.from_bytes(received[at : at + 2], "big")
            if not size:
                at += 2
                if message:  # else it is a sign of life
                    found.append(bytes(message))
                    message.clear()
                continue
            if len(message) + size > self.most:
                raise BadRequest(f"A message has more than {self.most} bytes.")
            if end - at < size + 2:
                break
            message += received[at + 2 : at + 2 + size]
            at += size + 2
        del received[:at]
        return found

    def clear(self) -> None:
        """Forget what has come."""
        self._received.clear()
        self._message.clear()
