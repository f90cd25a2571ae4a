"""The graph of a scenario: an open graph, filled by the product's own statements, and emptied.

It judges nothing, but measures what a statement changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import orjson

from twinframe.graph.context.context import GraphContext
from twinframe.graph.events.recorder import EventRecorder
from twinframe.graph.statements.statements import Prepared, StatementResult, Statements
from twinframe.model.values import JsonValue, Value
from twinframe.query.cypher.lexer import read_tokens
from twinframe.query.engine import QueryEngine
from twinframe.query.errors import Source
from twinframe.query.writing.procedures import Procedure
from twinframe.settings import GraphSettings, QuerySettings, Settings
from twinframe.storage.base import (
    ChangeKind,
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    RelationshipRecord,
    StoredDocument,
    TwinRecord,
    WriteFunction,
)

_MOST_MODELS = 100_000
_RECORDER = EventRecorder("", count(1).__next__, silent=True)
_OPEN = GraphSettings(open_=True, refuse_self_relationships=False)
_LARGE = QuerySettings(max_text_bytes=2**24, max_words=2**24)


class Stored(NamedTuple):
    """All of a graph."""

    models: Sequence[ModelRecord]
    twins: Sequence[TwinRecord]
    relationships: Sequence[RelationshipRecord]


class State(NamedTuple):
    """What a graph has, by the measure of the kit: labels are those in use."""

    nodes: frozenset[str]
    relationships: frozenset[tuple[str, str]]
    labels: frozenset[str]
    properties: Counter[tuple[object, ...]]


class TckGraph:
    """The graph of one store, with the statements that write to it."""

    def __init__(self, store: GraphStore, engine: QueryEngine | None) -> None:
        self._store = store
        self._engine = engine
        self._context = _build_context(QuerySettings())
        self._large = Statements(_build_context(_LARGE), engine)
        self._statements = Statements(self._context, engine)
        self._is_empty = True

    def clear(self, procedures: Mapping[str, Procedure] | None = None) -> None:
        """Delete all twins and relationships, and the interfaces that declare properties.

        Interfaces that are labels alone stay, as nothing shows them.
        """
        self.offer(procedures or {})
        if self._is_empty:
            return
        stored = self._read_stored()
        declaring = [one.model_id for one in stored.models if b'"@type":"Property"' in one.document]

        def delete(transaction: GraphTransaction) -> None:
            for edge in stored.relationships:
                transaction.delete_relationship(edge.source_id, edge.relationship_id)
            for twin in stored.twins:
                transaction.delete_twin(twin.twin_id)
            transaction.delete_models(declaring)

        self._write(delete)
        self._is_empty = True

    def offer(self, procedures: Mapping[str, Procedure]) -> None:
        """Set which procedures there are."""
        self._statements = Statements(self._context, self._engine, procedures)

    def execute(self, text: str, parameters: Mapping[str, Value]) -> None:
        """Run set-up statements, which `;` divides. Raises their errors."""
        for statement in split_statements(text):
            self.run(self._large.prepare(statement, parameters))

    def prepare(self, text: str, parameters: Mapping[str, Value]) -> Prepared:
        """Parse a statement."""
        return self._statements.prepare(text, parameters)

    def run(self, prepared: Prepared) -> StatementResult:
        """Run a statement in a transaction of its own."""
        self._is_empty = False

        def write(transaction: GraphTransaction) -> StatementResult:
            self._context.write_clock.begin(transaction)
            try:
                return self._statements.apply(prepared, transaction)
            finally:
                self._context.write_clock.abandon()

        found = self._write(write)
        assert isinstance(found, StatementResult)
        return found

    def open_session(self) -> GraphSession:
        """Open a session on what is stored."""
        return self._store.session()

    def measure(self) -> State:
        """Measure the graph, to find the side effects of a query."""
        session = self._store.session()
        try:
            with session.snapshot():
                nodes = {one.id: one for one in session.scan_nodes(None)}
                crossed = {(one.source, one.id): one for one in session.scan_relationships(())}
        finally:
            session.close()
        labels = frozenset(label for node in nodes.values() for label in node.labels)
        properties: Counter[tuple[object, ...]] = Counter()
        documents: dict[object, Mapping[str, JsonValue]] = {
            **{key: node.document for key, node in nodes.items()},
            **{key: edge.document for key, edge in crossed.items()},
        }
        for key, document in documents.items():
            for name, value in document.items():
                if not name.startswith("$"):
                    properties[key, name, orjson.dumps(value)] += 1
        return State(frozenset(nodes), frozenset(crossed), labels, properties)

    # --- the history ------------------------------------------------------------------------

    def hide(self) -> Stored:
        """Delete all that is stored, with the rows of its history, and return it."""
        stored = self._read_stored()

        def delete(transaction: GraphTransaction) -> None:
            for edge in stored.relationships:
                key, before = (edge.source_id, edge.relationship_id), _get_document(edge)
                _RECORDER.record_relationship_deleted(transaction, key, before)
                transaction.delete_relationship(*key)
            for twin in stored.twins:
                _RECORDER.record_twin_deleted(transaction, twin.twin_id, _get_document(twin))
                transaction.delete_twin(twin.twin_id)
            for model in stored.models:
                _RECORDER.record_model_deleted(transaction, model)
            transaction.delete_models([model.model_id for model in stored.models])

        self._write(delete)
        return stored

    def bring_back(self, stored: Stored) -> None:
        """Store what was deleted, as created anew."""

        def put(transaction: GraphTransaction) -> None:
            transaction.put_models(stored.models)
            for model in stored.models:
                _RECORDER.record_model(transaction, ChangeKind.MODEL_CREATED, model.model_id)
            for twin in stored.twins:
                transaction.put_twin(twin)
                created = _RECORDER.build_created((twin.twin_id, ""), "", twin.body)
                transaction.append_events([created])
            for edge in stored.relationships:
                transaction.put_relationship(edge)
                key = edge.source_id, edge.relationship_id
                transaction.append_events([_RECORDER.build_created(key, "", edge.body)])

        self._write(put)

    def _read_stored(self) -> Stored:
        session = self._store.session()
        try:
            with session.snapshot():
                return Stored(
                    session.read_models(after=0, limit=_MOST_MODELS),
                    list(session.iterate_twins()),
                    list(session.iterate_relationships()),
                )
        finally:
            session.close()

    def _write(self, function: WriteFunction[object]) -> object:
        (outcome,) = self._store.write([function])
        if outcome.error is not None:
            raise outcome.error
        return outcome.result


def split_statements(text: str) -> Iterator[str]:
    """Yield the statements of a script."""
    source, start = Source(text), 0
    for token in read_tokens(source):
        if token.key == ";":
            yield text[start : token.start]
            start = token.end
    if text[start:].strip():
        yield text[start:]


def find_side_effects(before: State, after: State) -> dict[str, int]:
    """Return the side effects by the names of the kit, those of which there are some."""
    found: dict[str, int] = {}
    for name in ("nodes", "relationships", "labels"):
        old, new = getattr(before, name), getattr(after, name)
        found[f"+{name}"], found[f"-{name}"] = len(new - old), len(old - new)
    found["+properties"] = (after.properties - before.properties).total()
    found["-properties"] = (before.properties - after.properties).total()
    return {name: number for name, number in found.items() if number}


def _build_context(query: QuerySettings) -> GraphContext:
    settings = Settings(graph=_OPEN, query=query)
    return GraphContext(None, settings)  # type: ignore[arg-type]  # transactions are opened here


def _get_document(record: TwinRecord | RelationshipRecord) -> StoredDocument:
    return StoredDocument(record.etag, record.body)
