"""PackStream: the binary form of values in Bolt messages.

SPEC: «PackStream Specification» version 1, https://neo4j.com/docs/bolt/current/packstream/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from twinframe.errors import BadRequest, Unsupported

PackValue: TypeAlias = (
    "bool | int | float | str | bytes | list[PackValue] | dict[str, PackValue] | Structure | None"
)

Write: TypeAlias = Callable[[bytearray, Any], None]
"""Appends a value of one type to a buffer."""

LEAST_INTEGER: Final = -(2**63)
MOST_INTEGER: Final = 2**63 - 1
_DEEPEST: Final = 100
_SMALL: Final = 0x10
_TOO_EARLY: Final = "it ends too early"
_FLOAT: Final = Struct(">d")
_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")


class Structure(NamedTuple):
    """A tagged group of fields: a message, or a value such as a node or a date."""

    tag: int
    fields: tuple[Any, ...]


class Packed(bytes):
    """The packed form of a value, which is sent as it is."""

    __slots__ = ()


# --- packing ------------------------------------------------------------------------------------


def _pack_null(buffer: bytearray, value: None) -> None:
    del value
    buffer.append(0xC0)


def _pack_boolean(buffer: bytearray, value: bool) -> None:
    buffer.append(0xC3 if value else 0xC2)


def _pack_integer(buffer: bytearray, value: int) -> None:
    if -0x10 <= value <= 0x7F:
        buffer.append(value & 0xFF)
    elif -0x80 <= value <= 0x7F:
        buffer += bytes((0xC8, value & 0xFF))
    elif -0x8000 <= value <= 0x7FFF:
        buffer.append(0xC9)
        buffer += _INT16.pack(value)
    elif -0x80000000 <= value <= 0x7FFFFFFF:
        buffer.append(0xCA)
        buffer += _INT32.pack(value)
    elif LEAST_INTEGER <= value <= MOST_INTEGER:
        buffer.append(0xCB)
        buffer += _INT64.pack(value)
    else:
        raise Unsupported(f"Bolt has no integers of more than 64 bits, as {value} has.")


def _pack_float(buffer: bytearray, value: float) -> None:
    buffer.append(0xC1)
    buffer += _FLOAT.pack(value)


def _pack_text(buffer: bytearray, value: str) -> None:
    encoded = value.encode("utf-8", "surrogatepass")
    size = len(encoded)
    if size < _SMALL:
        buffer.append(0x80 | size)
    else:
        _pack_size(buffer, size, 0xD0)
    buffer += encoded


def _pack_bytes(buffer: bytearray, value: bytes) -> None:
    _pack_size(buffer, len(value), 0xCC)
    buffer += value


def _pack_packed(buffer: bytearray, value: Packed) -> None:
    buffer += value


def _pack_size(buffer: bytearray, size: int, first: int) -> None:
    """Append the marker and the size; `first` is the marker of sizes of one byte."""
    if size <= 0xFF:
        buffer += bytes((first, size))
    elif size <= 0xFFFF:
        buffer.append(first + 1)
        buffer += size.to_bytes(2, "big")
    else:
        buffer.append(first + 2)
        buffer += size.to_bytes(4, "big")


class Packer:
    """Packs values; `writers` are those of types that are no types of PackStream."""

    def __init__(self, writers: Mapping[type, Write] | None = None) -> None:
        self._writers: dict[type, Write] = {
            type(None): _pack_null,
            bool: _pack_boolean,
            int: _pack_integer,
            float: _pack_float,
            str: _pack_text,
            bytes: _pack_bytes,
            bytearray: _pack_bytes,
            list: self._pack_list,
            tuple: self._pack_list,
            dict: self.pack_map,
            Structure: self._pack_structure,
            Packed: _pack_packed,
            **(writers or {}),
        }

    def pack(self, buffer: bytearray, value: object) -> None:
        """Append a value. Raises `Unsupported`."""
        write = self._writers.get(type(value))
        if write is None:
            raise Unsupported(f"Bolt has no form for a value of type {type(value).__name__}.")
        write(buffer, value)

    def pack_map(self, buffer: bytearray, value: Mapping[str, object]) -> None:
        """Append a map."""
        size = len(value)
        if size < _SMALL:
            buffer.append(0xA0 | size)
        else:
            _pack_size(buffer, size, 0xD8)
        writers = self._writers
        for key, item in value.items():
            _pack_text(buffer, key)
            write = writers.get(type(item))
            if write is None:
                self.pack(buffer, item)
            else:
                write(buffer, item)

    def _pack_list(self, buffer: bytearray, value: list[object] | tuple[object, ...]) -> None:
        size = len(value)
        if size < _SMALL:
            buffer.append(0x90 | size)
        else:
            _pack_size(buffer, size, 0xD4)
        for item in value:
            self.pack(buffer, item)

    def pack_head(self, buffer: bytearray, tag: int, count: int) -> None:
        """Append the head of a structure with `count` fields, which are to follow."""
        buffer += bytes((0xB0 | count, tag))

    def _pack_structure(self, buffer: bytearray, value: Structure) -> None:
        self.pack_head(buffer, value.tag, len(value.fields))
        for item in value.fields:
            self.pack(buffer, item)


# --- unpacking ----------------------------------------------------------------------------------


def unpack(data: bytes) -> PackValue:
    """Return the one value that `data` holds. Raises `BadRequest` naming the place in bytes.

    SEC: sizes are compared with what is left before anything is made of them, and depth is bounded.
    """
    reader = _Reader(data)
    value = reader.read(0)
    if reader.at != len(data):
        raise reader.fail("there are bytes behind the value")
    return value


class _Reader:
    """A position in a message."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def fail(self, what: str) -> BadRequest:
        return BadRequest(f"The message is no PackStream at byte {self.at}: {what}.")

    def read(self, depth: int) -> PackValue:  # noqa: C901  -- one arm a kind of marker
        """Read the next value."""
        try:
            marker = self.data[self.at]
        except IndexError:
            raise self.fail(_TOO_EARLY) from None
        self.at += 1
        if marker < 0x80:
            return marker
        if marker >= 0xF0:
            return marker - 0x100
        high, low = marker & 0xF0, marker & 0x0F
        if high == 0x80:
            return self._read_text(low)
        if depth >= _DEEPEST:
            raise self.fail(f"values are nested in more than {_DEEPEST} levels")
        if high == 0x90:
            return self._read_list(low, depth)
        if high == 0xA0:
            return self._read_map(low, depth)
        if high == 0xB0:
            return self._read_structure(low, depth)
        match marker:
            case 0xC0:
                return None
            case 0xC1:
                found: float = _FLOAT.unpack(self._take(8))[0]
                return found
            case 0xC2 | 0xC3:
                return marker == 0xC3
            case 0xC8 | 0xC9 | 0xCA | 0xCB:
                return int.from_bytes(self._take(1 << (marker - 0xC8)), "big", signed=True)
            case 0xCC | 0xCD | 0xCE:
                return self._take(self._read_size(marker - 0xCC))
            case 0xD0 | 0xD1 | 0xD2:
                return self._read_text(self._read_size(marker - 0xD0))
            case 0xD4 | 0xD5 | 0xD6:
                return self._read_list(self._read_size(marker - 0xD4), depth)
            case 0xD8 | 0xD9 | 0xDA:
                return self._read_map(self._read_size(marker - 0xD8), depth)
            case _:
                self.at -= 1
                raise self.fail(f"{marker:#04x} is no marker")

    def _take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise self.fail(_TOO_EARLY)
        self.at += size
        return found

    def _read_size(self, power: int) -> int:
        return int.from_bytes(self._take(1 << power), "big")

    def _read_text(self, size: int) -> str:
        encoded = self._take(size)
        try:
            return encoded.decode()
        except UnicodeDecodeError:
            self.at -= size
            raise self.fail("a string is no UTF-8") from None

    def _read_list(self, size: int, depth: int) -> list[PackValue]:
        if size > len(self.data) - self.at:
            raise self.fail(f"a list of {size} elements does not fit into it")
        return [self.read(depth + 1) for _ in range(size)]

    def _read_map(self, size: int, depth: int) -> dict[str, PackValue]:
        if 2 * size > len(self.data) - self.at:
            raise self.fail(f"a map of {size} entries does not fit into it")
        found: dict[str, PackValue] = {}
        for _ in range(size):
            key = self.read(depth + 1)
            if not isinstance(key, str):
                raise self.fail("the key of a map is no string")
            if key in found:
                raise self.fail(f"a map has the key {key[:100]!r} twice")
            found[key] = self.read(depth + 1)
        return found

    def _read_structure(self, size: int, depth: int) -> Structure:
        tag = self._take(1)[0]
        return Structure(tag, tuple([self.read(depth + 1) for _ in range(size)]))
