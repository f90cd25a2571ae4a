"""Yields the records of a graph as triples, grouped by subject, from any storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from twinframe.storage.base import GraphSession, ModelRecord
from twinframe.storage.triples import Content
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.mapping import (
    GraphNames,
    Triple,
    build_edge_triple,
    build_interface_triples,
    build_model_triples,
    build_relationship_triples,
    build_twin_triples,
)

Node: TypeAlias = list[Triple]
"""Triples of one subject."""

_PAGE: Final = 200
_MOST_EDGES: Final = 10_000
_HIDDEN: Final = frozenset((v.BUCKET,))
"""Predicates that only the storage uses."""


def iterate_nodes(names: GraphNames, session: GraphSession, content: Content) -> Iterator[Node]:
    """Yield all nodes that `content` selects, in the snapshot that the caller holds.

    Only a few are in memory at a time. A subject may come more than once, its triples only once;
    but a direct triple of relationships that have very many siblings may be repeated.
    """
    if content is not Content.TWINS:
        yield from _iterate_models(names, session)
    if content is not Content.MODELS:
        for twin in session.iterate_twins():
            yield [t for t in build_twin_triples(names, twin) if t[1] not in _HIDDEN]
        yield from _iterate_relationships(session)


def iterate_models(session: GraphSession) -> Iterator[ModelRecord]:
    """All stored models, by position."""
    after = 0
    while page := session.read_models(after=after, limit=_PAGE):
        yield from page
        after = page[-1].position


def _iterate_models(names: GraphNames, session: GraphSession) -> Iterator[Node]:
    unstored = set(session.read_model_ids())
    for model in iterate_models(session):
        unstored.discard(model.model_id)
        interface = build_interface_triples(names, model.model_id, model.extends)
        yield [*interface, *build_model_triples(names, model)]
    if not unstored:
        return
    ancestors = find_ancestors(session)
    for model_id in sorted(unstored):
        parents = sorted(_find_parents(model_id, ancestors))
        yield build_interface_triples(names, model_id, parents)


def find_ancestors(session: GraphSession) -> dict[str, set[str]]:
    """Return the direct and indirect ancestors of each known interface."""
    known = session.read_model_ids()
    ancestors: dict[str, set[str]] = {model_id: set() for model_id in known}
    for model_id in known:
        for descendant in session.read_descendants(model_id):
            if descendant != model_id and descendant in ancestors:
                ancestors[descendant].add(model_id)
    return ancestors


def _find_parents(model_id: str, ancestors: dict[str, set[str]]) -> set[str]:
    """Return the nearest ancestors: those that are not ancestors of another one."""
    found = ancestors[model_id]
    return found - {further for one in found for further in ancestors[one]}


def _iterate_relationships(session: GraphSession) -> Iterator[Node]:
    source, edges = "", set[Triple]()
    for record in session.iterate_relationships():
        if record.source_id != source or len(edges) >= _MOST_EDGES:
            source = record.source_id
            edges.clear()
        edge = build_edge_triple(record)
        if edge not in edges:
            edges.add(edge)
            yield [edge]
        yield build_relationship_triples(record)
