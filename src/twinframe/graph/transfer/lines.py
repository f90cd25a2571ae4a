"""Reads and numbers the lines of a file of any size, plain or gzip, in bounded memory."""

from __future__ import annotations

import codecs
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from twinframe.errors import Conflict, ImportFileInvalid, InputError, NotFound
from twinframe.graph.transfer.graph_file import unfold_graph_file
from twinframe.runtime.memory import Hold

T_co = TypeVar("T_co", covariant=True)

LINE_ERRORS: Final = (InputError, NotFound, Conflict)
"""Errors that concern one line alone; all others end the import."""


class Numbered(NamedTuple, Generic[T_co]):
    """The value in line `number` of the file, counted from 1.

    PERF: a tuple, like the others that are made for each line: it takes half the time of a frozen
    dataclass.
    """

    number: int
    value: T_co


_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = zlib.MAX_WBITS | 16
_MARK: Final = codecs.BOM_UTF8
_PIECE: Final = 1 << 18


class ByteSource(Protocol):
    """A source of lines: an open file, or the answer of a server."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""


def read_lines(
    source: ByteSource, max_line_bytes: int, held: Hold, report: Callable[[], None]
) -> Iterator[bytes]:
    """Yield the lines without their ends, including empty ones; the n-th is line n.

    A file of the vendor's explorer is read as the lines of the same graph, in the memory of
    `held`; `report` is called then. Errors: `ImportFileInvalid` for a line that is too long or a
    gzip stream that is damaged or truncated, naming the line.
    """
    number = 1
    rest: list[bytes] = []
    size = 0
    pieces = unfold_graph_file(_read_pieces(source), held, report)
    while True:
        try:
            piece = next(pieces)
        except StopIteration:
            break
        except zlib.error as error:
            raise ImportFileInvalid(f"The gzip stream is damaged: {error}.", line=number) from error
        first, *lines = piece.split(b"\n")
        rest.append(first)
        size += len(first)
        for line in lines:
            yield _take(rest, size, max_line_bytes, number)
            number += 1
            rest, size = [line], len(line)
        if size > max_line_bytes:
            _refuse_long(max_line_bytes, number)
    if size:
        yield _take(rest, size, max_line_bytes, number)


def _take(rest: list[bytes], size: int, most: int, number: int) -> bytes:
    if size > most:
        _refuse_long(most, number)
    line = rest[0] if len(rest) == 1 else b"".join(rest)
    return line[:-1] if line.endswith(b"\r") else line


def _refuse_long(most: int, number: int) -> None:
    raise ImportFileInvalid(f"The line is longer than {most} bytes.", line=number)


def _read_pieces(source: ByteSource) -> Iterator[bytes]:
    """Yield bytes as they are, or decompressed if they begin as gzip does."""
    head = source.read(_PIECE)
    while head and len(head) < len(_MARK) and (more := source.read(_PIECE)):
        head += more
    head = head.removeprefix(_MARK)
    if head.startswith(_GZIP_MAGIC):
        yield from _decompress(head, source)
        return
    while head:
        yield head
        head = source.read(_PIECE)


def _decompress(data: bytes, source: ByteSource) -> Iterator[bytes]:
    """SEC: in pieces of bounded size, however much a few bytes expand to."""
    stream = zlib.decompressobj(_GZIP)
    while True:
        if stream.eof:  # the end of a member; another may follow, zeros are padding
            data = stream.unused_data or data
            data = data.lstrip(b"\0")
            while not data and (data := source.read(_PIECE)):
                data = data.lstrip(b"\0")
            if not data:
                return
            stream = zlib.decompressobj(_GZIP)
        elif not data and not (data := source.read(_PIECE)):
            raise zlib.error("it ends before its end")
        piece = stream.decompress(data, _PIECE)
        data = stream.unconsumed_tail
        if piece:
            yield piece


T = TypeVar("T")

PAUSE_SECONDS: Final = 0.00005
"""Seconds of a real sleep: a thread that only yields takes the lock again before others wake up."""

PARSED: Final = 128
RENDERED: Final = 64
"""Lines that take about half a millisecond.

Fewer would make the import slow: after each sleep it waits for the interpreter lock.
"""


def pause_for_writers(items: Iterable[T], every: int, seconds: float) -> Iterator[T]:
    """Yield the items, with a sleep of this many seconds after each `every`; none for 0.

    PERF: otherwise the event loop, and the thread that writes, wait for the interpreter's own
    switch, 5 ms each time they need it; an import without pauses would delay every request so.
    """
    for number, item in enumerate(items, start=1):
        yield item
        if seconds and not number % every:
            time.sleep(seconds)
