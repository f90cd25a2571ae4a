"""Writes nodes in each RDF syntax, in pieces, holding one node in memory at a time.

SPEC: RDF 1.1 Turtle, TriG, N-Triples, N-Quads; JSON-LD 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import orjson

from twinframe.storage.triples import JSON_LD, N_QUADS, N_TRIPLES, TRIG, TURTLE, Syntax
from twinframe_storage_rdf.terms import (
    JSON_TEXT,
    XSD,
    XSD_DOUBLE,
    XSD_INTEGER,
    Iri,
    OtherLiteral,
    Term,
    render_double,
    render_iri,
    render_string,
    render_term,
)
from twinframe_storage_rdf.triples.nodes import Node
from twinframe_storage_rdf.vocabulary import BASE, RDF, RDF_TYPE, SHACL

Prefixes: TypeAlias = Mapping[str, str]

PREFIXES: Final[Prefixes] = {
    "tf": BASE + "vocabulary:",
    "p": BASE + "property:",
    "e": BASE + "edge:",
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
}
SHAPE_PREFIXES: Final[Prefixes] = {**PREFIXES, "sh": SHACL}

_PIECE: Final = 64 * 1024
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PREFERRED: Final = 4096


def write_nodes(
    nodes: Iterable[Node], syntax: Syntax, graph: Iri, prefixes: Prefixes = PREFIXES
) -> Iterator[bytes]:
    """The nodes as a document in `syntax`, in pieces of some ten kilobytes; `graph` names quads."""
    return _join(_WRITERS[syntax](nodes, graph, prefixes))


def _join(texts: Iterator[str]) -> Iterator[bytes]:
    parts: list[str] = []
    size = 0
    for text in texts:
        parts.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(parts).encode()
            parts.clear()
            size = 0
    yield "".join(parts).encode()


_render_name = lru_cache(maxsize=_PREFERRED)(render_iri)  # PERF: the same few in every node


def _write_lines(nodes: Iterable[Node], end: str) -> Iterator[str]:
    for node in nodes:
        subject = render_iri(node[0][0])
        for _, predicate, value in node:
            yield f"{subject} {_render_name(predicate)} {render_term(value)}{end}"


# --- Turtle ---------------------------------------------------------------------------------------


def _write_turtle(
    nodes: Iterable[Node], prefixes: Prefixes, start: str = "", end: str = ""
) -> Iterator[str]:
    yield _render_prefixes(prefixes) + start
    shorten = _build_shortener(prefixes, render_iri)
    for node in nodes:
        yield _render_node(node, shorten)
    yield end


def _render_prefixes(prefixes: Prefixes) -> str:
    return "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in prefixes.items()) + "\n"


def _render_node(node: Node, shorten: Callable[[str], str]) -> str:
    facts: dict[Iri, list[str]] = {}
    for _, predicate, value in node:
        facts.setdefault(predicate, []).append(_render_short(value, shorten))
    lines = [
        f"{'a' if predicate == RDF_TYPE else shorten(predicate)} {', '.join(values)}"
        for predicate, values in facts.items()
    ]
    body = " ;\n    ".join(lines)
    return f"{render_iri(node[0][0])} {body} .\n"


def _render_short(value: Term, shorten: Callable[[str], str]) -> str:
    if isinstance(value, Iri):
        return shorten(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f'"{render_double(value)}"^^{shorten(XSD_DOUBLE)}'
    if isinstance(value, bytes):
        return f"{render_string(value.decode())}^^{shorten(JSON_TEXT)}"
    return render_term(value)


def _build_shortener(prefixes: Prefixes, render: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that abbreviates IRIs to prefixed names, or else renders them."""

    @lru_cache(maxsize=_PREFERRED)  # PERF: predicates come with every node
    def shorten(iri: str) -> str:
        return _compact(iri, prefixes) or render(iri)

    return shorten


def _compact(iri: str, prefixes: Prefixes) -> str | None:
    for name, start in prefixes.items():
        if iri.startswith(start) and _PLAIN.fullmatch(iri, len(start)):
            return f"{name}:{iri[len(start) :]}"
    return None


# --- JSON-LD --------------------------------------------------------------------------------------


def _write_json_ld(nodes: Iterable[Node], prefixes: Prefixes) -> Iterator[str]:
    context = orjson.dumps(dict(prefixes)).decode()
    yield f'{{"@context":{context},"@graph":[\n'
    shorten = _build_shortener(prefixes, str)
    separator = ""
    for node in nodes:
        yield separator + orjson.dumps(_build_object(node, shorten)).decode()
        separator = ",\n"
    yield "\n]}\n"


def _build_object(node: Node, shorten: Callable[[str], str]) -> dict[str, Any]:
    built: dict[str, Any] = {"@id": str(node[0][0])}
    for _, predicate, value in node:
        if predicate == RDF_TYPE:
            built.setdefault("@type", []).append(shorten(str(value)))
        else:
            built.setdefault(shorten(predicate), []).append(_build_value(value, shorten))
    return {name: _unwrap(values) for name, values in built.items()}


def _unwrap(values: Any) -> Any:
    return values[0] if isinstance(values, list) and len(values) == 1 else values


def _build_value(value: Term, shorten: Callable[[str], str]) -> Any:
    """Build a JSON-LD value.

    Numbers are strings with a type, because JSON numbers would lose it.
    """
    if isinstance(value, Iri):
        return {"@id": str(value)}
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"@type": shorten(XSD_INTEGER), "@value": str(value)}
    if isinstance(value, float):
        return {"@type": shorten(XSD_DOUBLE), "@value": render_double(value)}
    if isinstance(value, bytes):
        return {"@type": shorten(JSON_TEXT), "@value": value.decode()}
    if isinstance(value, OtherLiteral):
        return {"@type": shorten(value.datatype), "@value": value.text}
    raise TypeError("an unbound value is no term of a triple")


_WRITERS: Final[Mapping[Syntax, Callable[[Iterable[Node], Iri, Prefixes], Iterator[str]]]] = {
    TURTLE: lambda nodes, _, prefixes: _write_turtle(nodes, prefixes),
    TRIG: lambda nodes, graph, prefixes: _write_turtle(
        nodes, prefixes, f"{render_iri(graph)} {{\n", "}\n"
    ),
    N_TRIPLES: lambda nodes, *_: _write_lines(nodes, " .\n"),
    N_QUADS: lambda nodes, graph, _: _write_lines(nodes, f" {render_iri(graph)} .\n"),
    JSON_LD: lambda nodes, _, prefixes: _write_json_ld(nodes, prefixes),
}
