"""Writes the triples of a caller's query as RDF/XML in bounded memory.

NOTE: own code, since libraries write invalid element names for IRIs such as DTMIs.

SPEC: RDF 1.1 XML Syntax, section 2.2 alone: one description per subject, no typed nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from twinframe.errors import SparqlInvalid

_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n'
)
_LOCAL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*\Z")
NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_BREAKS: Final = {"\r": "&#13;"}
_PIECE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Resource:
    """An IRI, or the label of a blank node."""

    text: str
    is_blank: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A literal; `datatype` empty for a plain string."""

    text: str
    datatype: str = ""
    language: str = ""


def write_rdf_xml(triples: Iterable[tuple[Resource, str, Resource | Text]]) -> Iterator[bytes]:
    """Write the triples as a document, in pieces; consecutive triples of a subject stay together.

    Raises `SparqlInvalid` for a predicate or a text that XML cannot write; other syntaxes can.
    """
    parts, size = [_HEAD], 0
    last: Resource | None = None
    for subject, predicate, value in triples:
        if subject != last:
            parts.append("" if last is None else "</rdf:Description>\n")
            parts.append(f"<rdf:Description {_render_subject(subject)}>\n")
            last = subject
        parts.append(_render_statement(predicate, value))
        size += len(parts[-1])
        if size >= _PIECE:
            yield "".join(parts).encode()
            parts, size = [], 0
    parts.append("</rdf:RDF>\n" if last is None else "</rdf:Description>\n</rdf:RDF>\n")
    yield "".join(parts).encode()


def _render_subject(subject: Resource) -> str:
    return f"rdf:{'nodeID' if subject.is_blank else 'about'}={_quote(subject.text)}"


def _render_statement(predicate: str, value: Resource | Text) -> str:
    # NOTE: the longest name that XML allows; the namespace is the rest, and may not be empty.
    found = _LOCAL.search(predicate, 1)
    if found is None:
        raise SparqlInvalid(
            f"RDF/XML cannot name the predicate {predicate!a}; "
            "ask for Turtle, N-Triples or JSON-LD."
        )
    name, space = found[0], _quote(predicate[: found.start()])
    start = f"  <p:{name} xmlns:p={space}"
    if isinstance(value, Resource):
        return f"{start} rdf:{'nodeID' if value.is_blank else 'resource'}={_quote(value.text)}/>\n"
    if value.language:
        start += f" xml:lang={_quote(value.language)}"
    elif value.datatype:
        start += f" rdf:datatype={_quote(value.datatype)}"
    return f"{start}>{escape(_check(value.text), _BREAKS)}</p:{name}>\n"


def _quote(text: str) -> str:
    return quoteattr(_check(text))


def _check(text: str) -> str:
    found = NOT_XML.search(text)
    if found is not None:
        raise SparqlInvalid(
            f"RDF/XML cannot hold the character {found[0]!a}; ask for Turtle, N-Triples or JSON-LD."
        )
    return text
