"""Renders values as RDF terms in SPARQL text, and parses result terms into values.

SEC: every value and IRI that enters a SPARQL text goes through `render_term` or `render_iri`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

import orjson

from twinframe.errors import InvalidArgument

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING: Final = XSD + "string"
XSD_INTEGER: Final = XSD + "integer"
XSD_DOUBLE: Final = XSD + "double"
XSD_BOOLEAN: Final = XSD + "boolean"
JSON_TEXT: Final = "urn:twinframe:vocabulary:json"
"""Datatype of JSON texts.

NOTE: not rdf:JSON: a library that knows it may rewrite the text; documents are kept to the byte.
"""


class Iri(str):
    """An IRI, distinguished from a string by its class; never rendered without `render_iri`."""

    __slots__ = ()


class OtherLiteral(NamedTuple):
    """A literal of a datatype that this mapping does not write, such as a computed xsd:decimal."""

    text: str
    datatype: str


Term: TypeAlias = "str | int | float | bool | bytes | Iri | OtherLiteral | None"
"""A term as a value: a plain `str` is an xsd:string, `bytes` a JSON text (`JSON_TEXT`).

`bool`, `int` and `float` are xsd:boolean, xsd:integer and xsd:double, and nothing else is. None is
an unbound variable.
"""

Row: TypeAlias = tuple[Term, ...]

_NOT_IN_IRI: Final = re.compile(r"[\x00-\x20<>\"{}|^`\\\x7f-\x9f\ud800-\udfff]")
_ESCAPE: Final = re.compile(r"(\\\\)([uU][0-9A-Fa-f]*)|(\\u[0-9a-f]{4})([0-9A-Fa-f]+)|\\.")


def render_string(text: str) -> str:
    """Render the text as a quoted SPARQL string, without datatype.

    SPEC: SPARQL 1.1 section 19.2 lets a processor replace `\\uXXXX` anywhere before it parses, so a
    value must never produce that sequence: the letter after a backslash, and hex digits after it,
    are then written as code points themselves, which both readings turn into the same text. So are
    hex digits after a control character, which rdflib reads as part of its escape.

    Raises `InvalidArgument` for a lone surrogate, which is no character.
    """
    try:
        # PERF: a JSON string is a valid SPARQL string. A text of a megabyte takes 0.5 ms; with
        # regular expressions it took 58 ms, for which all other threads of the process would wait.
        quoted = orjson.dumps(text).decode()
    except TypeError:
        raise InvalidArgument(
            f"The text {text!a} holds a lone surrogate, which is no character."
        ) from None
    if "\\u" in quoted or "\\U" in quoted:
        quoted = _ESCAPE.sub(_spell_out, quoted)
    return quoted


def render_iri(iri: str) -> str:
    """Render the IRI in angle brackets.

    Raises `InvalidArgument` for characters that no IRI can have.
    """
    if _NOT_IN_IRI.search(iri) or ":" not in iri:
        raise InvalidArgument(f"{iri!a} is not an absolute IRI.")
    return f"<{iri}>"


def render_term(value: Term) -> str:
    """Render the value for a SPARQL text; None as `UNDEF`, which is only valid in VALUES."""
    if isinstance(value, Iri):
        return render_iri(value)
    if isinstance(value, str):
        return render_string(value)
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, int):
        return f'"{value}"^^<{XSD_INTEGER}>'
    if isinstance(value, float):
        return f'"{render_double(value)}"^^<{XSD_DOUBLE}>'
    if isinstance(value, bytes):
        return f"{render_string(value.decode())}^^<{JSON_TEXT}>"
    if value is None:
        return "UNDEF"
    return f"{render_string(value.text)}^^{render_iri(value.datatype)}"


def render_double(value: float) -> str:
    """The lexical form of an xsd:double: shortest digits that give the same value back."""
    if value != value:  # only NaN differs from itself
        return "NaN"
    if value in (_INFINITY, -_INFINITY):
        return "INF" if value > 0 else "-INF"
    return repr(value)


def parse_literal(text: str, datatype: str | None) -> Term:
    """The value of a literal in a result; `datatype` is None for a plain string."""
    if datatype is None or datatype == XSD_STRING:
        return text
    if datatype == XSD_INTEGER:
        return int(text)
    if datatype == XSD_DOUBLE:
        return float(text)  # reads INF, -INF and NaN too
    if datatype == XSD_BOOLEAN:
        return text in ("true", "1")
    if datatype == JSON_TEXT:
        return text.encode()
    return OtherLiteral(text, datatype)


def _spell_out(found: re.Match[str]) -> str:
    kept, spelled = found[1] or found[3], found[2] or found[4]
    if kept is None:
        return found[0]
    return kept + "".join(f"\\u{ord(character):04X}" for character in spelled)


_INFINITY: Final = float("inf")
_TRUE: Final = f'"true"^^<{XSD_BOOLEAN}>'
_FALSE: Final = f'"false"^^<{XSD_BOOLEAN}>'
