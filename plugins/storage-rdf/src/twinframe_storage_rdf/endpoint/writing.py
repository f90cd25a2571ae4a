"""Writes answers to callers' queries by pyoxigraph, within their size limit and deadline."""

from __future__ import annotations

import codecs
import io
import time
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, Final, cast

import pyoxigraph

from twinframe.errors import LimitExceeded, QueryTimeout, SparqlInvalid
from twinframe.storage.triples import RDF_XML, ROWS_XML
from twinframe_storage_rdf.endpoint.rdf_xml import NOT_XML, write_rdf_xml

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

_READ: Final = 64 * 1024


def check_deadline(deadline: float) -> None:
    """Raise `QueryTimeout` if the deadline has passed."""
    if time.monotonic() >= deadline:
        raise build_late_answer()


def build_late_answer() -> QueryTimeout:
    """Build the error for a caller's query that passed its deadline."""
    return QueryTimeout("The query passed its deadline (Sparql__Timeout) and was stopped.")


class LimitedWriter:
    """A file object for libraries that accepts at most `limit` bytes until `deadline`."""

    def __init__(self, limit: int, deadline: float, write: Callable[[bytes], object]) -> None:
        self.size = 0
        self._limit = limit
        self._deadline = deadline
        self._write = write

    def write(self, piece: bytes) -> int:
        """Write a piece. Raises `LimitExceeded`, `QueryTimeout`."""
        self.size += len(piece)
        if self.size > self._limit:
            raise LimitExceeded(
                f"The answer has more than {self._limit} bytes (Sparql__MaxResultBytes); "
                "say LIMIT, or GET /export for the whole graph."
            )
        check_deadline(self._deadline)
        self._write(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""


class _PieceReader(io.RawIOBase):
    """A file object that reads pieces of bytes, one at a time."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        with memoryview(buffer) as view:
            size = min(len(view), len(self._rest))
            view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


class _XmlFile:
    """Refuses the characters that XML cannot hold.

    NOTE: the library writes them, and a carriage return as it is, which a client reads as a new
    line. Only texts of the rows have one.
    """

    def __init__(self, out: LimitedWriter) -> None:
        self._out = out
        self._decode = codecs.getincrementaldecoder("utf-8")().decode

    def write(self, piece: bytes) -> int:
        if NOT_XML.search(self._decode(piece)) is not None:
            raise SparqlInvalid("XML cannot hold a control character of the rows; ask for JSON.")
        self._out.write(bytes(piece).replace(b"\r", b"&#13;"))
        return len(piece)

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""


def parse_rows(pieces: Iterator[bytes]) -> Any:
    """Return the library's rows, or its answer to an ASK, of a result in JSON.

    Reading them raises `SyntaxError`, `ValueError`, and what `pieces` raises; `MemoryError` for a
    term that is longer than the library's buffer.
    """
    # PERF: in large reads, as the library looks through a long text again after each.
    source = io.BufferedReader(_PieceReader(pieces), _READ)
    return pyoxigraph.parse_query_results(source, format=pyoxigraph.QueryResultsFormat.JSON)


def parse_triples(pieces: Iterator[bytes]) -> Any:
    """Return the library's triples of an N-Triples document. Reading them raises the same."""
    source = io.BufferedReader(_PieceReader(pieces), _READ)
    return pyoxigraph.parse(source, format=pyoxigraph.RdfFormat.N_TRIPLES)


def write_rows(found: Any, media_type: str, out: LimitedWriter) -> None:
    """Write the library's rows, or its answer to an ASK.

    Raises `SparqlInvalid` for a text that XML cannot hold; the other formats can.
    """
    file = _XmlFile(out) if media_type == ROWS_XML.media_types[0] else out
    found.serialize(file, format=pyoxigraph.QueryResultsFormat.from_media_type(media_type))


def write_triples(found: Any, media_type: str, out: LimitedWriter) -> None:
    """Write the library's triples. Raises `SparqlInvalid` as `write_rdf_xml` does."""
    if media_type == RDF_XML.media_types[0]:
        for piece in write_rdf_xml(found):
            out.write(piece)
        return
    syntax, file = pyoxigraph.RdfFormat.from_media_type(media_type), cast("IO[bytes]", out)
    if isinstance(found, pyoxigraph.QueryTriples):  # PERF: no object is made for each triple
        found.serialize(file, format=syntax)
    else:
        pyoxigraph.serialize(found, file, format=syntax)
