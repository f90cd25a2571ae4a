"""Writes the triples of a caller's query as RDF/XML in bounded memory.

NOTE: own code, since libraries write invalid element names for IRIs such as DTMIs.

SPEC: RDF 1.1 XML Syntax, section 2.2 alone: one description per subject, no typed nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from pyoxigraph import BlankNode, Literal, NamedNode

from twinframe.errors import SparqlInvalid
from twinframe_storage_rdf.terms import XSD_STRING

_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n'
)
_LOCAL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*\Z")
NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_BREAKS: Final = {"\r": "&#13;"}
_PIECE: Final = 64 * 1024


def write_rdf_xml(triples: Iterable[Any]) -> Iterator[bytes]:
    """Write pyoxigraph's triples as a document, in pieces; consecutive triples of a subject stay
    together.

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
