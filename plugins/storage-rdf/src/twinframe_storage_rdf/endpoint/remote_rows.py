"""Reads result rows of a remote SPARQL server one by one and writes them in the caller's result
format.

They are not forwarded unread, because a server's answer must be checked to be rows in the
standard's form. SPEC: SPARQL 1.1 Query Results JSON Format; XML Format; CSV and TSV Formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias
from xml.sax.saxutils import escape, quoteattr

import orjson

from twinframe.errors import SparqlInvalid, StorageError
from twinframe.storage.triples import ROWS_CSV, ROWS_JSON, ROWS_TSV, ROWS_XML
from twinframe_storage_rdf.endpoint.rdf_xml import NOT_XML
from twinframe_storage_rdf.terms import XSD_BOOLEAN, XSD_STRING, render_string

Cell: TypeAlias = Mapping[str, str]
"""A term as the JSON format has it: `type`, `value`, `datatype`, `xml:lang`."""

Names: TypeAlias = Sequence[str]
RowWriter: TypeAlias = Callable[[Names, Iterable[Mapping[str, Cell]]], Iterator[str]]

_DECODER: Final = json.JSONDecoder()
_BINDINGS: Final = '"bindings"'
_LONGEST_FRAME: Final = 1024 * 1024
"""The text before and after the rows."""
_TYPES: Final = {"uri": "uri", "bnode": "bnode", "literal": "literal", "typed-literal": "literal"}
_TRUTHS: Final = {"1": "true", "0": "false"}
_BREAKS: Final = {"\r": "&#13;"}
_RESULTS_XML: Final = (
    '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
)


def read_rows(pieces: Iterable[str], most: int) -> tuple[Names, Iterator[Mapping[str, Cell]]]:
    """Read the column names and the rows of a result in JSON, holding one row at a time.

    Raises `StorageError` when it is something else, ends early, or a row has more than `most`
    characters.
    """
    reading = _Reading(iter(pieces), most)
    return reading.read_names(), reading.read_bindings()


class _Reading:
    """A result that arrives in pieces; `_text` is the part not parsed yet."""

    def __init__(self, pieces: Iterator[str], most: int) -> None:
        self._pieces = pieces
        self._most = most
        self._text = ""

    def read_names(self) -> Names:
        """Read the columns, which come before the rows."""
        while _BINDINGS not in self._text and len(self._text) < _LONGEST_FRAME:
            self._grow()
        before, _, self._text = self._text.partition(_BINDINGS)
        try:  # parse what precedes the rows as a closed document
            return [str(name) for name in json.loads(before + '"x":[]}}')["head"]["vars"]]
        except (ValueError, KeyError, TypeError) as error:
            raise _build_error() from error

    def read_bindings(self) -> Iterator[Mapping[str, Cell]]:
        """Yield the rows, then check the end of the result."""
        self._take(":")
        self._take("[")
        while self._see() == "{":
            yield _build_row(self._read_value())
            if self._see() != ",":
                break
            self._take(",")
        self._take("]")
        rest = self._text
        for piece in self._pieces:
            rest += piece
            if len(rest) > _LONGEST_FRAME:
                raise _build_error()
        try:
            json.loads('{"results":{"bindings":[]' + rest)
        except ValueError as error:
            raise _build_error() from error

    def _read_value(self) -> Any:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text)
            except ValueError:
                # PERF: twice as much before the next try, or a long value takes quadratic time.
                self._grow(2 * len(self._text))
            except RecursionError as error:
                raise _build_error() from error
            else:
                self._text = self._text[end:]
                return value

    def _see(self) -> str:
        self._text = self._text.lstrip(" \t\r\n")
        while not self._text:
            self._grow()
            self._text = self._text.lstrip(" \t\r\n")
        return self._text[0]

    def _take(self, symbol: str) -> None:
        if self._see() != symbol:
            raise _build_error()
        self._text = self._text[1:]

    def _grow(self, size: int = 0) -> None:
        if len(self._text) > self._most:
            raise _build_error()
        parts = [self._text]
        length = len(self._text)
        for piece in self._pieces:
            parts.append(piece)
            length += len(piece)
            if length > max(size, len(self._text)):
                self._text = "".join(parts)
                return
        if length == len(self._text):
            raise _build_error()
        self._text = "".join(parts)


def _build_row(binding: object) -> Mapping[str, Cell]:
    try:
        return {str(name): _build_cell(cell) for name, cell in binding.items()}  # type: ignore[attr-defined]
    except (AttributeError, KeyError, TypeError, UnicodeEncodeError) as error:
        raise _build_error() from error


def _build_cell(found: Mapping[str, Any]) -> Cell:
    kind, value = _TYPES[found["type"]], str(found["value"])
    value.encode()  # no lone surrogate
    built = {"type": kind, "value": value}
    if kind == "literal" and found.get("xml:lang"):
        built["xml:lang"] = str(found["xml:lang"])
    elif kind == "literal" and found.get("datatype", XSD_STRING) != XSD_STRING:
        built["datatype"] = str(found["datatype"])
        if built["datatype"] == XSD_BOOLEAN:
            built["value"] = _TRUTHS.get(value, value)
    return built


def _build_error() -> StorageError:
    return StorageError("The SPARQL server answered with something that is no whole result.")


# --- writing --------------------------------------------------------------------------------------


def write_truth(truth: bool, media_type: str) -> bytes:
    """Write the answer to an ASK, in JSON or XML."""
    if media_type == ROWS_JSON.media_types[0]:
        return orjson.dumps({"head": {}, "boolean": truth})
    word = "true" if truth else "false"
    return f"{_RESULTS_XML}<head/><boolean>{word}</boolean></sparql>".encode()


def _write_json(names: Names, rows: Iterable[Mapping[str, Cell]]) -> Iterator[str]:
    head = orjson.dumps({"vars": list(names)}).decode()
    yield f'{{"head":{head},"results":{{"bindings":['
    separator = ""
    for row in rows:
        yield separator + orjson.dumps(row).decode()
        separator = ","
    yield "]}}"


def _write_xml(names: Names, rows: Iterable[Mapping[str, Cell]]) -> Iterator[str]:
    columns = "".join(f"<variable name={quoteattr(name)}/>" for name in names)
    yield f"{_RESULTS_XML}<head>{columns}</head><results>\n"
    for row in rows:
        cells = "".join(
            f"<binding name={quoteattr(name)}>{_render_xml(row[name])}</binding>"
            for name in names
            if name in row
        )
        yield f"<result>{cells}</result>\n"
    yield "</results></sparql>\n"


def _render_xml(cell: Cell) -> str:
    if NOT_XML.search(cell["value"]) is not None:
        raise SparqlInvalid("XML cannot hold a control character of the rows; ask for JSON.")
    more = "".join(
        f" {name}={quoteattr(cell[name])}" for name in ("datatype", "xml:lang") if name in cell
    )
    return f"<{cell['type']}{more}>{escape(cell['value'], _BREAKS)}</{cell['type']}>"


def _write_csv(names: Names, rows: Iterable[Mapping[str, Cell]]) -> Iterator[str]:
    yield ",".join(map(_quote, names)) + "\r\n"
    for row in rows:
        cells = (row.get(name) for name in names)
        yield ",".join("" if c is None else _quote(_label(c)) for c in cells) + "\r\n"


def _quote(text: str) -> str:
    quoted = any(symbol in text for symbol in '",\r\n')
    return '"{}"'.format(text.replace('"', '""')) if quoted else text


def _label(cell: Cell) -> str:
    return f"_:{cell['value']}" if cell["type"] == "bnode" else cell["value"]


def _write_tsv(names: Names, rows: Iterable[Mapping[str, Cell]]) -> Iterator[str]:
    yield "\t".join(f"?{name}" for name in names) + "\n"
    for row in rows:
        cells = (row.get(name) for name in names)
        yield "\t".join("" if cell is None else _render_term(cell) for cell in cells) + "\n"


def _render_term(cell: Cell) -> str:
    if cell["type"] == "bnode":
        return _label(cell)
    if cell["type"] == "uri":
        return f"<{cell['value']}>"
    text = render_string(cell["value"])
    if "xml:lang" in cell:
        return f"{text}@{cell['xml:lang']}"
    return f"{text}^^<{cell['datatype']}>" if "datatype" in cell else text


ROW_WRITERS: Final[Mapping[str, RowWriter]] = {
    ROWS_JSON.media_types[0]: _write_json,
    ROWS_XML.media_types[0]: _write_xml,
    ROWS_CSV.media_types[0]: _write_csv,
    ROWS_TSV.media_types[0]: _write_tsv,
}
"""The writers by media type."""
