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


def render_conditional_for_virtuoso(change: Change) -> str:
    """The same, where JSON texts to be removed are found by subject and predicate.

    NOTE: Virtuoso 7 leaves a long literal of another datatype where it is when it stands in a
    DELETE template of several graphs. Predicates of JSON texts have one value a subject.
    """
    removed, patterns, texts = [], [], []
    for at, (graph, triples) in enumerate(change.removed):
        other = [triple for triple in triples if not isinstance(triple[2], bytes)]
        keys = [triple for triple in triples if isinstance(triple[2], bytes)]
        removed.append((graph, other))
        if keys:
            pairs = " ".join(f"({render_iri(s)} {render_iri(p)})" for s, p, _ in keys)
            inner = f"GRAPH {render_iri(graph)} {{ ?s{at} ?p{at} ?o{at} }}"
            patterns.append(inner)
            texts.append(f"{{ VALUES (?s{at} ?p{at}) {{ {pairs} }} {inner} }}")
    if not texts:
        return render_conditional(change)
    return (
        f"DELETE {{ {_render_quads(removed)} {' '.join(patterns)} }}\n"
        f"INSERT {{ {_render_quads(change.added)} }}\n"
        f"WHERE {{ {_render_guard(change.guard)} OPTIONAL {{ {' UNION '.join(texts)} }} }}"
    )


def render_staged(change: Change, data: Iri, removed: Iri, added: Iri) -> str:
    """The same, where the changes of the graph `data` stand in the two staging graphs.

    Literals that go are found by subject and predicate, which have one literal at most.
    """
    target = render_iri(data)
    rest = (
        [(graph, triples) for graph, triples in graphs if graph != data]
        for graphs in (change.removed, change.added)
    )
    state_removed, state_added = map(_render_quads, rest)
    return (
        f"DELETE {{ GRAPH {target} {{ ?s0 ?p0 ?o0 }} {state_removed} }}\n"
        f"INSERT {{ GRAPH {target} {{ ?s1 ?p1 ?o1 }} {state_added} }}\n"
        f"WHERE {{ {_render_guard(change.guard)} OPTIONAL {{ "
        f"{{ GRAPH {render_iri(removed)} {{ ?s0 ?p0 ?x }} GRAPH {target} {{ ?s0 ?p0 ?o0 }} "
        "FILTER(!isIRI(?x) || ?x = ?o0) } UNION "
        f"{{ GRAPH {render_iri(added)} {{ ?s1 ?p1 ?o1 }} }} }} }}"
    )


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
