"""Writes the validation report of a graph, as RDF or JSON, while the twins are validated.

SPEC: Shapes Constraint Language (SHACL), W3C 20 July 2017, section 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import orjson

from twinframe.storage.base import GraphSession, RelationshipRecord, TwinRecord
from twinframe.storage.triples import N_TRIPLES, REPORT_JSON, Syntax
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.mapping import GraphNames, Triple, build_edge_triple, build_twin_triples
from twinframe_storage_rdf.shacl.judge import Violation, check_installed, start_judge
from twinframe_storage_rdf.terms import Iri, OtherLiteral, Term
from twinframe_storage_rdf.triples.nodes import Node, find_ancestors, iterate_models
from twinframe_storage_rdf.triples.shapes import build_shapes
from twinframe_storage_rdf.triples.syntaxes import SHAPE_PREFIXES, write_nodes

_sh = v.build_shacl_iri
_REPORT: Final = Iri(v.BASE + "report")
_RESULT: Final = _sh("result")
_OVERFULL: Final = Iri(v.BASE + "vocabulary:RelationshipsHeldConstraintComponent")
_MAX_TEXT: Final = 1000
_MOST_TWINS: Final = 1000
_MOST_BYTES: Final = 4 * 1024**2
_MOST_EDGES: Final = 20_000
_LOOK_UP: Final = 500
_UNSEEN: Final = frozenset((v.BUCKET, v.DOCUMENT, v.ETAG, v.ID))


@dataclass
class _Counts:
    """The counts so far; `is_whole`: all twins were validated."""

    twins: int = 0
    results: int = 0
    is_whole: bool = False

    @property
    def conforms(self) -> bool:
        """Whether the report states conformance."""
        return self.is_whole and not self.results


def write_report(
    names: GraphNames, session: GraphSession, syntax: Syntax, most: int
) -> Iterator[bytes]:
    """Write the report with at most `most` results; beyond that it says that it is incomplete.

    Raises `Unsupported` without pyshacl, before anything is written.
    """
    check_installed()
    counts = _Counts()
    departures = islice(_iterate_departures(names, session, counts), most)
    if syntax is REPORT_JSON:
        return _write_json(departures, counts)
    nodes = _build_nodes(departures, counts)
    return write_nodes(nodes, syntax, names.data, SHAPE_PREFIXES)


def _iterate_departures(
    names: GraphNames, session: GraphSession, counts: _Counts
) -> Iterator[Violation]:
    stored = frozenset(model.model_id for model in iterate_models(session))
    shapes = b"".join(
        write_nodes(build_shapes(names, iterate_models(session)), N_TRIPLES, names.data)
    )
    builder = BatchBuilder(names, session, stored)
    with start_judge(shapes.decode()) as judge:
        for batch in iterate_batches(session):
            session.check_deadline()
            for departure in (*judge.judge(*builder.build(batch)), *_find_overfull(batch)):
                counts.results += 1
                yield departure
            counts.twins += len(batch.twins)
    counts.is_whole = True


def _find_overfull(batch: TwinBatch) -> Iterator[Violation]:
    for twin_id in batch.overfull:
        twin = v.build_twin_iri(twin_id)
        message = "It has more relationships than are judged at once; some of them were not."
        yield Violation(twin, None, None, message, _OVERFULL, _REPORT)


# --- as RDF ---------------------------------------------------------------------------------------


def _build_nodes(departures: Iterator[Violation], counts: _Counts) -> Iterator[Node]:
    for number, departure in enumerate(departures, start=1):
        iri = Iri(f"{_REPORT}:{number}")
        yield [(_REPORT, _RESULT, iri)]
        yield list(_build_result(iri, departure))
    yield [
        (_REPORT, v.RDF_TYPE, _sh("ValidationReport")),
        (_REPORT, _sh("conforms"), counts.conforms),
        (_REPORT, Iri(v.BASE + "vocabulary:whole"), counts.is_whole),
        (_REPORT, v.TWINS, counts.twins),
    ]


def _build_result(iri: Iri, departure: Violation) -> Iterator[Triple]:
    yield iri, v.RDF_TYPE, _sh("ValidationResult")
    yield iri, _sh("focusNode"), departure.focus
    if departure.path is not None:
        yield iri, _sh("resultPath"), departure.path
    if departure.value is not None:
        yield iri, _sh("value"), departure.value
    yield iri, _sh("resultMessage"), departure.message
    yield iri, _sh("sourceConstraintComponent"), departure.component
    yield iri, _sh("sourceShape"), departure.shape
    yield iri, _sh("resultSeverity"), _sh("Violation")


# --- as JSON --------------------------------------------------------------------------------------


def _write_json(departures: Iterator[Violation], counts: _Counts) -> Iterator[bytes]:
    yield b'{"results":['
    separator = b""
    for departure in departures:
        yield separator + orjson.dumps(_build_object(departure))
        separator = b",\n"
    summary = {"twins": counts.twins, "whole": counts.is_whole, "conforms": counts.conforms}
    yield b"]," + orjson.dumps(summary)[1:]


def _build_object(departure: Violation) -> dict[str, Any]:
    built: dict[str, Any] = {"twin": v.parse_twin_iri(departure.focus)}
    if departure.path is not None:
        member, path = v.parse_member_iri(departure.path)
        built[member] = path
    if departure.value is not None:
        built["value"] = _build_value(departure.value)
    built["constraint"] = departure.component.rpartition("#")[2].rpartition(":")[2]
    built["message"] = departure.message
    return built


def _build_value(value: Term) -> Any:
    if isinstance(value, Iri):
        return v.parse_twin_iri(value) if v.is_twin_iri(value) else str(value)
    if isinstance(value, bytes):
        return value.decode()[:_MAX_TEXT]
    return value.text if isinstance(value, OtherLiteral) else value


# --- batches --------------------------------------------------------------------------------------


@dataclass
class TwinBatch:
    """Twins that are validated together, with everything that their shapes look at.

    For each twin these are its own properties, its relationships, and the models of their targets.

    `overfull` are those with more relationships than are held.
    """

    twins: list[TwinRecord] = field(default_factory=list)
    edges: set[Triple] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    overfull: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the batch should take no more."""
        return (
            len(self.twins) >= _MOST_TWINS
            or self.size >= _MOST_BYTES
            or len(self.edges) >= _MOST_EDGES
        )


def iterate_batches(session: GraphSession) -> Iterator[TwinBatch]:
    """Yield all twins of the caller's snapshot, with their relationships."""
    relationships = session.iterate_relationships()
    coming = next(relationships, None)
    batch = TwinBatch()
    for twin in session.iterate_twins():
        batch.twins.append(twin)
        batch.size += len(twin.body)
        while coming is not None and coming.source_id <= twin.twin_id:
            if coming.source_id == twin.twin_id:
                _add_edge(batch, coming)
            coming = next(relationships, None)
        if batch.is_full:
            yield batch
            batch = TwinBatch()
    if batch.twins:
        yield batch


def _add_edge(batch: TwinBatch, relationship: RelationshipRecord) -> None:
    if len(batch.edges) < 2 * _MOST_EDGES:
        batch.edges.add(build_edge_triple(relationship))
        batch.targets.add(relationship.target_id)
    elif not batch.overfull or batch.overfull[-1] != relationship.source_id:
        batch.overfull.append(relationship.source_id)


class BatchBuilder:
    """Builds the batches for the validator, for the models of one snapshot."""

    def __init__(self, names: GraphNames, session: GraphSession, stored: frozenset[str]) -> None:
        self._names = names
        self._session = session
        self._stored = stored
        self._ancestors: Mapping[str, set[str]] = find_ancestors(session)
        self._classes = [
            (names.build_model_iri(model), v.RDFS_SUBCLASS, names.build_model_iri(ancestor))
            for model, ancestors in self._ancestors.items()
            for ancestor in ancestors
        ]

    def build(self, batch: TwinBatch) -> tuple[str, Mapping[str, Sequence[str]]]:
        """Build a batch that validates each twin by the shapes of its model and ancestors."""
        targets: dict[str, list[str]] = {}
        triples: list[Triple] = [*self._classes, *batch.edges]
        for twin in batch.twins:
            for shape in self._find_shapes(twin.model_id):
                targets.setdefault(shape, []).append(v.build_twin_iri(twin.twin_id))
            triples += (t for t in build_twin_triples(self._names, twin) if t[1] not in _UNSEEN)
        triples += self._read_targets(batch)
        text = b"".join(write_nodes([[triple] for triple in triples], N_TRIPLES, self._names.data))
        return text.decode(), targets

    def _find_shapes(self, model_id: str) -> list[str]:
        models = {model_id, *self._ancestors.get(model_id, ())} & self._stored
        return [str(v.build_shape_iri(model)) for model in sorted(models)]

    def _read_targets(self, batch: TwinBatch) -> Iterator[Triple]:
        others = sorted(batch.targets - {twin.twin_id for twin in batch.twins})
        for at in range(0, len(others), _LOOK_UP):
            models = self._session.read_twin_models(others[at : at + _LOOK_UP])
            for twin_id, model_id in models.items():
                model = self._names.build_model_iri(model_id)
                yield v.build_twin_iri(twin_id), v.RDF_TYPE, model
