"""Renders changes as SPARQL 1.1 Update texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twinframe_storage_rdf.engine import Change, Guard
from twinframe_storage_rdf.mapping import Triple
from twinframe_storage_rdf.terms import Iri, render_iri, render_term


def render_change(change: Change) -> Iterator[str]:
    """Render the change without its guard, as pieces of one text of several operations."""
    named = [
        (graph, [triple for triple in triples if triple[2] is not None])
        for graph, triples in change.removed
    ]
    separator = ""
    for graph, triples in change.removed:
        for subject, predicate, value in triples:
            if value is None:
                pattern = f"{render_iri(subject)} {render_iri(predicate)} ?any"
                yield f"{separator}DELETE WHERE {{ GRAPH {render_iri(graph)} {{ {pattern} }} }}"
                separator = " ;\n"
    for verb, graphs in (("DELETE", named), ("INSERT", change.added)):
        if any(triples for _, triples in graphs):
            yield f"{separator}{verb} DATA {{ "
            yield from _list_quads(graphs)
            yield " }"
            separator = " ;\n"


def render_data(verb: str, graphs: Sequence[tuple[Iri, Sequence[Triple]]]) -> str:
    """Render `INSERT DATA` or `DELETE DATA`; empty when there is nothing."""
    quads = _render_quads(graphs)
    return f"{verb} DATA {{ {quads} }}" if quads else ""


@dataclass(frozen=True, slots=True)
class Stage:
    """A graph `name` of triples that are to be removed from, or added to, the graph `target`."""

    target: Iri
    name: Iri
    going: bool
    triples: Sequence[Triple]


def render_conditional(change: Change, claim: Triple) -> str:
    """Render the whole change as one operation that does nothing when the guard does not hold.

    It does nothing either when the writer's claim is gone. It removes the claim, even if it did
    nothing else.
    """
    if any(triple[2] is None for _, triples in change.removed for triple in triples):
        return render_conditional_by_keys(change, claim)
    removed, added = _render_quads(change.removed), _render_quads(change.added)
    delete = f"DELETE {{ {removed} }}\n" if removed else ""
    where = _render_conditions(change.guard, claim)
    return f"{delete}INSERT {{ {added} }}\nWHERE {{ {where} }} ;\n{_drop(change.guard, claim)}"


def render_conditional_by_keys(change: Change, claim: Triple) -> str:
    """Render the same, but find JSON texts to be removed by subject and predicate.

    Values that are None are found the same way. Predicates of JSON texts have one value per
    subject.
    """
    removed, patterns, texts = [], [], []
    for at, (graph, triples) in enumerate(change.removed):
        other = [triple for triple in triples if not isinstance(triple[2], bytes | None)]
        keys = [triple for triple in triples if isinstance(triple[2], bytes | None)]
        removed.append((graph, other))
        if keys:
            pairs = " ".join(f"({render_iri(s)} {render_iri(p)})" for s, p, _ in keys)
            inner = f"GRAPH {render_iri(graph)} {{ ?s{at} ?p{at} ?o{at} }}"
            patterns.append(inner)
            texts.append(f"{{ VALUES (?s{at} ?p{at}) {{ {pairs} }} {inner} }}")
    if not texts:
        return render_conditional(change, claim)
    return (
        f"DELETE {{ {_render_quads(removed)} {' '.join(patterns)} }}\n"
        f"INSERT {{ {_render_quads(change.added)} }}\n"
        f"WHERE {{ {_render_conditions(change.guard, claim)} "
        f"OPTIONAL {{ {' UNION '.join(texts)} }} }} ;\n{_drop(change.guard, claim)}"
    )


def render_staged(guard: Guard, claim: Triple, stages: Sequence[Stage], seal: Stage) -> str:
    """Render a change whose triples stand in stages; it does nothing when the seal's are gone.

    Literals to be removed are found by subject and predicate, which have one literal at most.
    """
    templates: dict[bool, list[str]] = {True: [], False: []}
    sources = []
    for at, stage in enumerate(stages):
        target = f"GRAPH {render_iri(stage.target)} {{ ?s{at} ?p{at} ?o{at} }}"
        templates[stage.going].append(target)
        name = render_iri(stage.name)
        sources.append(
            f"{{ GRAPH {name} {{ ?s{at} ?p{at} ?x{at} }} {target} "
            f"FILTER(!isIRI(?x{at}) || ?x{at} = ?o{at}) }}"
            if stage.going
            else f"{{ GRAPH {name} {{ ?s{at} ?p{at} ?o{at} }} }}"
        )
    sealed = _render_quads([(seal.name, seal.triples)])
    return (
        f"DELETE {{ {' '.join(templates[True])} }}\n"
        f"INSERT {{ {' '.join(templates[False])} }}\n"
        f"WHERE {{ {sealed} {_render_conditions(guard, claim)} "
        f"OPTIONAL {{ {' UNION '.join(sources)} }} }} ;\n{_drop(guard, claim)}"
    )


def render_ask(guard: Guard) -> str:
    """Render the query whether the guard holds."""
    return f"ASK {{ {_render_guard(guard)} }}"


def render_marker_ask(change: Change) -> str:
    """Render the query whether the change was applied."""
    triple = _render_triple(change.marker)
    return f"ASK {{ GRAPH {render_iri(change.guard.graph)} {{ {triple} }} }}"


def _render_conditions(guard: Guard, claim: Triple) -> str:
    return f"{_render_quads([(guard.graph, [claim])])} {_render_guard(guard)}"


def _drop(guard: Guard, claim: Triple) -> str:
    return render_data("DELETE", [(guard.graph, [claim])])


def _render_guard(guard: Guard) -> str:
    graph, subject = render_iri(guard.graph), render_iri(guard.subject)
    predicate = render_iri(guard.predicate)
    if guard.value is None:
        return f"FILTER NOT EXISTS {{ GRAPH {graph} {{ {subject} {predicate} ?any }} }}"
    return f"GRAPH {graph} {{ {subject} {predicate} {render_term(guard.value)} }}"


def _render_quads(graphs: Sequence[tuple[Iri, Sequence[Triple]]]) -> str:
    return "".join(_list_quads(graphs))


def _list_quads(graphs: Sequence[tuple[Iri, Sequence[Triple]]]) -> Iterator[str]:
    """Yield triples by graph, one line per piece: the whole text may be large."""
    for graph, triples in graphs:
        if triples:
            yield f"GRAPH {render_iri(graph)} {{\n"
            for triple in triples:
                yield _render_triple(triple) + "\n"
            yield "}\n"


def _render_triple(triple: Triple) -> str:
    subject, predicate, value = triple
    return f"{render_iri(subject)} {render_iri(predicate)} {render_term(value)} ."
