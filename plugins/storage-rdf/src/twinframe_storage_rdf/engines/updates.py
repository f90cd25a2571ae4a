"""Changes as SPARQL 1.1 Update texts. It runs none of them."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe_storage_rdf.engines.base import Change, Guard
from twinframe_storage_rdf.mapping import Triple
from twinframe_storage_rdf.terms import Iri, render_iri, render_term


def render_triples(triples: Sequence[Triple]) -> str:
    """Triples, a line each."""
    return "\n".join(f"{render_iri(s)} {render_iri(p)} {render_term(o)} ." for s, p, o in triples)


def render_data(verb: str, graphs: Sequence[tuple[Iri, Sequence[Triple]]]) -> str:
    """`INSERT DATA` or `DELETE DATA`; empty when there is nothing."""
    quads = _render_quads(graphs)
    return f"{verb} DATA {{ {quads} }}" if quads else ""


def render_conditional(change: Change) -> str:
    """The whole change as one operation that does nothing when the guard does not hold."""
    removed, added = _render_quads(change.removed), _render_quads(change.added)
    delete = f"DELETE {{ {removed} }}\n" if removed else ""
    return f"{delete}INSERT {{ {added} }}\nWHERE {{ {_render_guard(change.guard)} }}"


def render_ask(guard: Guard) -> str:
    """Whether the guard holds."""
    return f"ASK {{ {_render_guard(guard)} }}"


def render_marker_ask(change: Change) -> str:
    """Whether the change was applied."""
    triple = render_triples([change.marker])
    return f"ASK {{ GRAPH {render_iri(change.guard.graph)} {{ {triple} }} }}"


def _render_guard(guard: Guard) -> str:
    graph, subject = render_iri(guard.graph), render_iri(guard.subject)
    predicate = render_iri(guard.predicate)
    if guard.value is None:
        return f"FILTER NOT EXISTS {{ GRAPH {graph} {{ {subject} {predicate} ?any }} }}"
    return f"GRAPH {graph} {{ {subject} {predicate} {render_term(guard.value)} }}"


def _render_quads(graphs: Sequence[tuple[Iri, Sequence[Triple]]]) -> str:
    return "\n".join(
        f"GRAPH {render_iri(graph)} {{\n{render_triples(triples)}\n}}"
        for graph, triples in graphs
        if triples
    )
