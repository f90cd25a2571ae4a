"""Reads triples that a remote SPARQL server gives as N-Triples and writes them in the caller's RDF
format.

SPEC: RDF 1.1 N-Triples, sections 3 and 7. An N-Triples document is a Turtle document too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import orjson

from twinframe.errors import InvalidArgument, StorageError
from twinframe.storage.triples import JSON_LD, N_TRIPLES, RDF_XML, TURTLE
from twinframe_storage_rdf.endpoint.rdf_xml import Resource, Text, write_rdf_xml
from twinframe_storage_rdf.terms import XSD_STRING, render_iri, render_string
from twinframe_storage_rdf.vocabulary import RDF_TYPE

RemoteTriple: TypeAlias = tuple[Resource, str, Resource | Text]

_IRI: Final = r"<([^\x00-\x20<>\"{}|^`]*)>"
_BLANK: Final = r"_:([\w:][\w:.-]*)"
_LINE: Final = re.compile(
    rf"\s*(?:{_IRI}|{_BLANK})\s*{_IRI}\s*(?:{_IRI}|{_BLANK}|\"((?:[^\"\\\n\r]|\\.)*)\""
    rf"(?:\^\^{_IRI}|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?)\s*\.\s*(?:\#.*)?"
)
_NOTHING: Final = re.compile(r"\s*(?:\#.*)?")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_PLAIN: Final = dict(zip("tbnrf\"'\\", "\t\b\n\r\f\"'\\", strict=True))


def read_triples(pieces: Iterable[str], most: int) -> Iterator[RemoteTriple]:
    """Yield the triples of an N-Triples document, holding one line at a time.

    Raises `StorageError` when it is something else, or a line has more than `most` characters.
    """
    for line in _iterate_lines(pieces, most):
        found = _LINE.fullmatch(line)
        if found is not None:
            yield _build_triple(found)
        elif _NOTHING.fullmatch(line) is None:
            raise _build_error()


def _iterate_lines(pieces: Iterable[str], most: int) -> Iterator[str]:
    parts: list[str] = []
    size = 0
    for piece in pieces:
        *whole, rest = piece.split("\n")
        for line in whole:
            yield "".join((*parts, line))
            parts.clear()
            size = 0
        parts.append(rest)
        size += len(rest)
        if size > most:
            raise _build_error()
    if "".join(parts).strip():  # the end of a complete line
        raise _build_error()


def _build_triple(found: re.Match[str]) -> RemoteTriple:
    subject, subject_blank, predicate, iri, blank, text, datatype, language = found.groups()
    value: Resource | Text
    if text is not None:
        named = "" if datatype in (None, XSD_STRING) else _unescape(datatype)
        value = Text(_unescape(text), named, language or "")
    else:
        value = _build_resource(iri, blank)
    return _build_resource(subject, subject_blank), _unescape(predicate), value


def _build_resource(iri: str | None, blank: str | None) -> Resource:
    return Resource(_unescape(iri)) if iri is not None else Resource(str(blank), is_blank=True)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_replace, text) if "\\" in text else text


def _replace(found: re.Match[str]) -> str:
    short, long, plain = found.groups()
    try:
        text = _PLAIN[plain] if plain is not None else chr(int(short or long, 16))
        text.encode()  # no lone surrogate
    except (KeyError, ValueError, OverflowError) as error:
        raise _build_error() from error
    return text


def _build_error() -> StorageError:
    return StorageError("The SPARQL server answered with something that is no N-Triples.")


# --- writing --------------------------------------------------------------------------------------


def _write_lines(triples: Iterable[RemoteTriple]) -> Iterator[bytes]:
    try:
        for subject, predicate, value in triples:
            line = f"{_render(subject)} {render_iri(predicate)} {_render(value)} .\n"
            yield line.encode()
    except InvalidArgument as error:
        raise _build_error() from error


def _render(term: Resource | Text) -> str:
    if isinstance(term, Resource):
        return f"_:{term.text}" if term.is_blank else render_iri(term.text)
    text = render_string(term.text)
    if term.language:
        return f"{text}@{term.language}"
    return f"{text}^^{render_iri(term.datatype)}" if term.datatype else text


def _write_json_ld(triples: Iterable[RemoteTriple]) -> Iterator[bytes]:
    """SPEC: JSON-LD 1.1, expanded document form: subjects as they come, perhaps more than once."""
    yield b"["
    separator = b""
    for subject, predicate, value in triples:
        node: dict[str, Any] = {"@id": _name(subject)}
        if predicate == RDF_TYPE and isinstance(value, Resource):
            node["@type"] = [_name(value)]
        else:
            node[predicate] = [_build_value(value)]
        yield separator + orjson.dumps(node)
        separator = b",\n"
    yield b"]\n"


def _name(resource: Resource) -> str:
    return f"_:{resource.text}" if resource.is_blank else resource.text


def _build_value(value: Resource | Text) -> dict[str, str]:
    if isinstance(value, Resource):
        return {"@id": _name(value)}
    built = {"@value": value.text}
    if value.language:
        built["@language"] = value.language
    elif value.datatype:
        built["@type"] = value.datatype
    return built


TRIPLE_WRITERS: Final[Mapping[str, Callable[[Iterable[RemoteTriple]], Iterator[bytes]]]] = {
    N_TRIPLES.media_types[0]: _write_lines,
    TURTLE.media_types[0]: _write_lines,
    JSON_LD.media_types[0]: _write_json_ld,
    RDF_XML.media_types[0]: write_rdf_xml,
}
"""The writers by media type."""
