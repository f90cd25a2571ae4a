"""Writes answers to callers' queries by pyoxigraph, within their size limit and deadline."""

from __future__ import annotations

import codecs
import io
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, Final, cast
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph
from pyoxigraph import BlankNode, Literal, NamedNode

from twinframe.errors import LimitExceeded, QueryTimeout, SparqlInvalid
from twinframe.storage.triples import RDF_XML, ROWS_XML
from twinframe_storage_rdf.terms import XSD_STRING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer


_READ: Final = 64 * 1024
_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n'
)
_LOCAL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*\Z")
NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_BREAKS: Final = {"\r": "&#13;"}
_PIECE: Final = 64 * 1024


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


def read_rows(pieces: Iterator[bytes]) -> Any:
    """Return the library's rows, or its answer to an ASK, of a result in JSON.

    Reading them raises `SyntaxError`, `ValueError`, and what `pieces` raises; `MemoryError` for a
    term that is longer than the library's buffer.
    """
    # PERF: in large reads, as the library looks through a long text again after each.
    source = io.BufferedReader(_PieceReader(pieces), _READ)
    return pyoxigraph.parse_query_results(source, format=pyoxigraph.QueryResultsFormat.JSON)


def read_triples(pieces: Iterator[bytes]) -> Any:
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


# --- RDF/XML --------------------------------------------------------------------------------------


def write_rdf_xml(triples: Iterable[Any]) -> Iterator[bytes]:
    """Write the library's triples as a document, in pieces and bounded memory.

    NOTE: own code, since libraries write invalid element names for IRIs such as DTMIs.

    SPEC: RDF 1.1 XML Syntax, section 2.2 alone: a description for consecutive triples of a subject,
    no typed nodes.

    Raises `SparqlInvalid` for a term or a text that XML cannot write; other syntaxes can.
    """
    parts, size = [_HEAD], 0
    last = None
    for triple in triples:
        if triple.subject != last:
            parts.append("" if last is None else "</rdf:Description>\n")
            parts.append(f"<rdf:Description {_render_name(triple.subject, 'about')}>\n")
            last = triple.subject
        parts.append(_render_statement(triple.predicate.value, triple.object))
        size += len(parts[-1])
        if size >= _PIECE:
            yield "".join(parts).encode()
            parts, size = [], 0
    parts.append("</rdf:RDF>\n" if last is None else "</rdf:Description>\n</rdf:RDF>\n")
    yield "".join(parts).encode()


def _render_name(term: Any, attribute: str) -> str:
    """Render the attribute that names an IRI, or the one that names a blank node."""
    if not isinstance(term, NamedNode | BlankNode):
        raise SparqlInvalid(f"RDF/XML cannot hold the term {term}.")
    is_blank = isinstance(term, BlankNode)
    return f"rdf:{'nodeID' if is_blank else attribute}={_quote(term.value)}"


def _render_statement(predicate: str, value: Any) -> str:
    # NOTE: the longest name that XML allows; the namespace is the rest, and may not be empty.
    found = _LOCAL.search(predicate, 1)
    if found is None:
        raise SparqlInvalid(
            f"RDF/XML cannot name the predicate {predicate!a}; "
            "ask for Turtle, N-Triples or JSON-LD."
        )
    name, space = found[0], _quote(predicate[: found.start()])
    start = f"  <p:{name} xmlns:p={space}"
    if not isinstance(value, Literal):
        return f"{start} {_render_name(value, 'resource')}/>\n"
    if value.language:
        start += f" xml:lang={_quote(value.language)}"
    elif value.datatype.value != XSD_STRING:
        start += f" rdf:datatype={_quote(value.datatype.value)}"
    return f"{start}>{escape(_check(value.value), _BREAKS)}</p:{name}>\n"


def _quote(text: str) -> str:
    return quoteattr(_check(text))


def _check(text: str) -> str:
    found = NOT_XML.search(text)
    if found is not None:
        raise SparqlInvalid(
            f"RDF/XML cannot hold the character {found[0]!a}; ask for Turtle, N-Triples or JSON-LD."
        )
    return text
