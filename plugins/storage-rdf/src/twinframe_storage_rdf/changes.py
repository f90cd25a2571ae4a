"""Turns the differences of a batch into one change of the engine, together with its undo."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Final, TypeVar, cast

from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.differences import (
    Differences,
    State,
    render_differences,
    split_differences,
)
from twinframe_storage_rdf.draft import DraftView
from twinframe_storage_rdf.engine import Change, Engine, Guard
from twinframe_storage_rdf.mapping import (
    GraphNames,
    Triple,
    build_edge_triple,
    build_entry_triples,
    build_event_triples,
    build_interface_triples,
    build_model_triples,
    build_relationship_triples,
    build_twin_triples,
    measure_triples,
)
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.records import batched
from twinframe_storage_rdf.terms import Iri, Term
from twinframe_storage_rdf.vocabulary import build_write_iri, parse_write_iri

T = TypeVar("T")

UNDO_SECONDS: Final = 300
"""How long the undo of a write is kept: longer than any snapshot may last."""

_TIMED_EVERY: Final = 64
_MOST_OUTDATED: Final = 512
_LONG_TEXT: Final = 4096
"""A text longer than this, in characters, is not sent only to be deleted."""


def build_guard(names: GraphNames, version: int | None) -> Guard:
    """Build the condition that the graph is still at this version; None: that it does not exist."""
    return Guard(names.state, names.state, v.VERSION, version)


def build_state_triples(names: GraphNames, state: State) -> dict[str, Triple]:
    """Return the triples of the state's numbers, each by its name."""
    return {
        name: (names.state, predicate, cast("int", getattr(state, name)))
        for name, predicate in v.STATE.items()
    }


def build_change(engine: Engine, queries: Queries, view: DraftView) -> tuple[Change, State]:
    """Build the change from the view's base to its draft, and the state that results.

    All reads are of the base version; otherwise the guard of the change fails.
    """
    names, base, draft = queries.names, view.base, view.draft
    old = view.known.read_old(draft)
    before, after = _list_triples(names, old), _list_triples(names, draft)
    state = replace(
        base,
        version=base.version + 1,
        hierarchy_version=base.version + 1 if draft.interfaces else base.hierarchy_version,
        twins=base.twins + view.known.count_more(draft),
        content=base.content + measure_triples(after) - measure_triples(before),
        **_read_numbers(draft),
    )
    removed, added = _Triples(before), _Triples(after)
    _add_interfaces(names, old, removed)
    _add_interfaces(names, draft, added)
    _settle_edges(engine, queries, old, draft, removed, added)
    write = build_write_iri(names.state, state.version)
    marker: Triple = (write, v.WRITE_ID, uuid.uuid4().hex)
    state_removed = _Triples(_list_service_triples(old))
    state_added = _Triples(_list_service_triples(draft))
    state_added.add(marker)
    for part in split_differences(old):
        state_added.add((write, v.UNDO, render_differences(part)))
    for name, triple in build_state_triples(names, base).items():
        state_removed.add(triple)
        state_added.add(build_state_triples(names, state)[name])
    if state.version % _TIMED_EVERY == 0:
        state_added.add((write, v.WRITTEN_AT, int(time.time())))
        state_removed.add(*_read_outdated(engine, queries))
    change = Change(
        guard=build_guard(names, base.version),
        marker=marker,
        removed=[
            (names.data, _leave_out_texts(removed.without(added))),
            (names.state, _leave_out_texts(state_removed.without(state_added))),
        ],
        added=[
            (names.data, added.without(removed)),
            (names.state, state_added.without(state_removed)),
        ],
    )
    return change, state


class _Triples:
    """A set of triples; 1, 1.0 and true are three values, as are a string and an IRI."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._triples = {_key(triple): triple for triple in triples}

    def add(self, *triples: Triple) -> None:
        for triple in triples:
            self._triples[_key(triple)] = triple

    def without(self, other: _Triples) -> list[Triple]:
        return [triple for key, triple in self._triples.items() if key not in other._triples]


def _leave_out_texts(triples: list[Triple]) -> list[Triple]:
    """Leave out long texts, which subject and predicate identify."""
    return [
        (subject, predicate, None if _is_long_text(value) else value)
        for subject, predicate, value in triples
    ]


def _is_long_text(value: Term) -> bool:
    if isinstance(value, Iri) or not isinstance(value, str | bytes):
        return False
    return len(value) > _LONG_TEXT


def _key(triple: Triple) -> tuple[object, ...]:
    subject, predicate, value = triple
    shown = repr(value) if isinstance(value, float) else value  # -0.0 == 0.0
    return subject, predicate, value.__class__, shown


# --- records --------------------------------------------------------------------------------------


def _list_triples(names: GraphNames, records: Differences) -> list[Triple]:
    """List the triples of twins, relationships and models, which make up the content."""
    found: list[Triple] = []
    for twin in _present(records.twins.values()):
        found += build_twin_triples(names, twin)
    for relationship in _present(records.relationships.values()):
        found += build_relationship_triples(relationship)
    for model in _present(records.models.values()):
        found += build_model_triples(names, model)
    return found


def _add_interfaces(names: GraphNames, records: Differences, triples: _Triples) -> None:
    for model_id, parents in records.interfaces.items():
        if parents is not None:
            triples.add(*build_interface_triples(names, model_id, parents))


def _list_service_triples(records: Differences) -> list[Triple]:
    found: list[Triple] = []
    for key, body in records.entries.items():
        if body is not None:
            found += build_entry_triples(*key, body)
    for position, event in records.events.items():
        if event is not None:
            found += build_event_triples(position, event)
    return found


def _present(records: Iterable[T | None]) -> Iterator[T]:
    return (record for record in records if record is not None)


def _settle_edges(
    engine: Engine,
    queries: Queries,
    old: Differences,
    draft: Differences,
    removed: _Triples,
    added: _Triples,
) -> None:
    """Update direct triples: the first of parallel relationships adds one, the last removes it."""
    coming = {build_edge_triple(x) for x in _present(draft.relationships.values())}
    added.add(*coming)
    going = {
        (record.source_id, record.name, record.target_id): edge
        for record in _present(old.relationships.values())
        if (edge := build_edge_triple(record)) not in coming
    }
    # NOTE: adding an edge that exists already has no effect.
    for batch in batched(going):
        staying = set()
        for source, name, target, key in cast(
            "Iterator[tuple[str, str, str, str]]", engine.select(queries.parallels(batch))
        ):
            if (source, key) not in draft.relationships:
                staying.add((source, name, target))
        removed.add(*(going[edge] for edge in batch if edge not in staying))


# --- state ----------------------------------------------------------------------------------------


def _read_numbers(draft: Differences) -> dict[str, int]:
    """Return the numbers of the state that the draft changes."""
    names = {field.name for field in fields(State)} & {field.name for field in fields(Differences)}
    found = ((name, getattr(draft, name)) for name in sorted(names - {"twins"}))
    return {name: number for name, number in found if number is not None}


def _read_outdated(engine: Engine, queries: Queries) -> Iterator[Triple]:
    """Yield undo records, or some of them, that no open snapshot is old enough to need."""
    before = int(time.time()) - UNDO_SECONDS
    timed = sorted(
        parse_write_iri(cast("Iri", write))
        for write, at in engine.select(queries.write_times())
        if isinstance(at, int) and at < before
    )
    if not timed:
        return
    # NOTE: all writes up to an outdated one are outdated; each time holds for the writes before it
    # too.
    first = timed[0] - _TIMED_EVERY + 1
    last = min(timed[-1], first + _MOST_OUTDATED - 1)
    outdated = [build_write_iri(queries.names.state, number) for number in range(first, last + 1)]
    # NOTE: without their values, which may be a megabyte each.
    for subject, predicate in engine.select(queries.members_of(outdated)):
        yield Iri(str(subject)), Iri(str(predicate)), None
