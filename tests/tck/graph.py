"""Builds the graph of a scenario through the storage seam, and removes it again. It judges nothing.

A node becomes a twin and its properties JSON members beside the system members; see
`label_models` for its labels. Dates, times and durations become text, as JSON has them, which the
twin's interface declares as what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, pairwise, product
from typing import NamedTuple, TypeAlias

import orjson

from tests.tck.label_models import (
    build_model_id,
    build_models,
    build_node_labels,
    find_schemas,
)
from tests.tck.setup_parser import Create, Delete, Reading, Restart, parse_setup
from twinframe.graph.events.recorder import EventRecorder
from twinframe.model.comparison import name_type
from twinframe.model.rendering import build_json
from twinframe.model.values import JsonValue, Node, Path, Relationship, Value
from twinframe.query.algebra import Direction, LabelAnd, LabelExpression, LabelName
from twinframe.query.cypher import ast
from twinframe.query.evaluate.engine import run
from twinframe.query.language import parse_query
from twinframe.storage.base import (
    ChangeKind,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    RelationshipRecord,
    StoredDocument,
    TwinRecord,
    WriteFunction,
)

_ETAG = 'W/"00000000-0000-0000-0000-000000000000"'
_ROWS, _ROW = "tckRows", "`tck row`"
_MOST_MODELS = 100_000
_RECORDER = EventRecorder("", count(1).__next__, silent=True)

Bindings: TypeAlias = dict[str, Value]
Entries: TypeAlias = Sequence[tuple[str, ast.Expression]]
Evaluate: TypeAlias = Callable[[ast.NodeElement | ast.RelationshipElement], dict[str, Value]]


class Stored(NamedTuple):
    """All of a graph."""

    models: Sequence[ModelRecord]
    twins: Sequence[TwinRecord]
    relationships: Sequence[RelationshipRecord]


class NotStorable(Exception):
    """A property's value that JSON cannot hold."""


class TckGraph:
    """The graph of one store: filled by set-up statements, emptied between scenarios."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._numbers = count(1)
        self._model_ids: set[str] = set()
        self._declaring: set[str] = set()
        self._twins: dict[str, None] = {}
        self._relationships: dict[tuple[str, str], None] = {}
        self._pending: list[Callable[[GraphTransaction], None]] = []

    def clear(self) -> None:
        """Delete all twins and relationships, and the interfaces that declare properties.

        Interfaces that are labels alone stay, as nothing shows them.
        """
        twins, relationships = list(self._twins), list(self._relationships)
        self._twins, self._relationships, self._pending = {}, {}, []
        declaring, self._declaring = sorted(self._declaring), set()
        self._model_ids.difference_update(declaring)

        def delete(transaction: GraphTransaction) -> None:
            for key in relationships:
                transaction.delete_relationship(*key)
            for twin_id in twins:
                transaction.delete_twin(twin_id)
            transaction.delete_models(declaring)

        if twins or declaring:
            self._write(delete)

    def execute(self, text: str, parameters: Mapping[str, Value]) -> None:
        """Run set-up statements: reading clauses by the evaluator, CREATE and DELETE here.

        `QueryInvalid` for what is not understood, `NotStorable` for a value no twin can have.
        """
        rows: list[Bindings] = [{}]
        for clause in parse_setup(text):
            match clause:
                case Restart():
                    rows = [{}]
                case Reading(text=reading):
                    self._flush()
                    rows = self._read(rows, f"{reading} RETURN *", parameters)
                case Create(parts=parts):
                    for row, part in product(rows, parts):
                        self._create_part(row, part, self._build_evaluate(row, text, parameters))
                case Delete(variables=variables):
                    for row in rows:
                        self._delete([row[name] for name in variables])
        self._flush()

    # --- the history ------------------------------------------------------------------------

    def hide(self) -> Stored:
        """Delete all that is stored, with the rows of its history, and return it."""
        session = self._store.session()
        try:
            with session.snapshot():
                stored = Stored(
                    session.read_models(after=0, limit=_MOST_MODELS),
                    list(session.iterate_twins()),
                    list(session.iterate_relationships()),
                )
        finally:
            session.close()

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

    # --- reading ----------------------------------------------------------------------------

    def _read(
        self, rows: Sequence[Bindings], clauses: str, parameters: Mapping[str, Value]
    ) -> list[Bindings]:
        names = "".join(f", {_ROW}[{_quote(name)}] AS `{name}`" for name in rows[0]) if rows else ""
        text = f"UNWIND ${_ROWS} AS {_ROW} WITH {_ROW}{names} {clauses}"
        values: dict[str, Value] = {**parameters, _ROWS: [*rows]}
        query = parse_query(text, parameters=values.keys()).query
        session = self._store.session()
        try:
            with session.snapshot():
                found = [
                    dict(zip(query.columns, row, strict=True))
                    for row in run(query, session, values)
                ]
        finally:
            session.close()
        for row in found:
            row.pop(_ROW.strip("`"), None)
        return found

    def _evaluate(
        self, row: Bindings, text: str, entries: Entries, parameters: Mapping[str, Value]
    ) -> dict[str, Value]:
        """The values of a map that is written in the set-up `text`, with the variables of `row`."""
        if not entries:
            return {}
        items = ", ".join(
            f"{text[value.span.start : value.span.end]} AS x{at}"
            for at, (_, value) in enumerate(entries)
        )
        (found,) = self._read([row], f"RETURN {items}", parameters)
        return {key: found[f"x{at}"] for at, (key, _) in enumerate(entries)}

    def _build_evaluate(
        self, row: Bindings, text: str, parameters: Mapping[str, Value]
    ) -> Evaluate:
        return lambda element: self._evaluate(row, text, element.properties, parameters)

    # --- writing ----------------------------------------------------------------------------

    def _create_part(self, row: Bindings, part: ast.PatternPart, evaluate: Evaluate) -> None:
        nodes = [self._find_or_create_node(row, element, evaluate) for element in part.nodes]
        for element, ends in zip(part.relationships, pairwise(nodes), strict=True):
            source, target = ends[::-1] if element.direction is Direction.INCOMING else ends
            created = self._create_relationship(source, target, element, evaluate(element))
            if element.variable is not None:
                row[element.variable] = created

    def _find_or_create_node(
        self, row: Bindings, element: ast.NodeElement, evaluate: Evaluate
    ) -> Node:
        found = row.get(element.variable) if element.variable is not None else None
        if isinstance(found, Node):
            return found
        labels = _build_label_set(element.labels)
        properties = evaluate(element)
        schemas = find_schemas(properties)
        model_id, twin_id = build_model_id(labels, schemas), f"n{next(self._numbers)}"
        document: dict[str, JsonValue] = {
            "$dtId": twin_id,
            "$etag": _ETAG,
            **_build_members(properties),
            "$metadata": {"$model": model_id},
        }
        self._put_models(build_models(labels, schemas))
        if schemas:
            self._declaring.add(model_id)
        record = TwinRecord(twin_id, model_id, _ETAG, orjson.dumps(document))
        self._pending.append(lambda transaction: transaction.put_twin(record))
        self._twins[twin_id] = None
        created = Node(twin_id, document, build_node_labels(labels, schemas))
        if element.variable is not None:
            row[element.variable] = created
        return created

    def _put_models(self, records: Iterable[ModelRecord]) -> None:
        missing = [one for one in records if one.model_id not in self._model_ids]
        self._model_ids.update(one.model_id for one in missing)
        if missing:
            self._pending.append(lambda transaction: transaction.put_models(missing))

    def _create_relationship(
        self,
        source: Node,
        target: Node,
        element: ast.RelationshipElement,
        properties: Mapping[str, Value],
    ) -> Relationship:
        (name,) = _build_label_set(element.types)
        relationship_id = f"r{next(self._numbers)}"
        document: dict[str, JsonValue] = {
            "$relationshipId": relationship_id,
            "$etag": _ETAG,
            "$sourceId": source.id,
            "$relationshipName": name,
            "$targetId": target.id,
            **_build_members(properties),
        }
        record = RelationshipRecord(
            source.id, relationship_id, name, target.id, _ETAG, orjson.dumps(document)
        )
        self._pending.append(lambda transaction: transaction.put_relationship(record))
        self._relationships[source.id, relationship_id] = None
        return Relationship(source.id, relationship_id, target.id, name, document)

    def _delete(self, values: Sequence[Value]) -> None:
        for value in values:
            if isinstance(value, Relationship):
                key = (value.source, value.id)
                if key in self._relationships:
                    del self._relationships[key]
                    self._pending.append(lambda t, key=key: t.delete_relationship(*key))  # type: ignore[misc]  # a default binds it now
            elif isinstance(value, Node) and value.id in self._twins:
                del self._twins[value.id]
                self._pending.append(lambda t, twin=value.id: t.delete_twin(twin))  # type: ignore[misc]  # a default binds it now

    def _flush(self) -> None:
        pending, self._pending = self._pending, []

        def write(transaction: GraphTransaction) -> None:
            for change in pending:
                change(transaction)

        if pending:
            self._write(write)

    def _write(self, work: WriteFunction[object]) -> None:
        (outcome,) = self._store.write([work])
        if outcome.error is not None:
            raise outcome.error


def _get_document(record: TwinRecord | RelationshipRecord) -> StoredDocument:
    return StoredDocument(record.etag, record.body)


def _quote(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _build_label_set(labels: LabelExpression | None) -> frozenset[str]:
    match labels:
        case None:
            return frozenset()
        case LabelName(name=name):
            return frozenset({name})
        case LabelAnd(left=left, right=right):
            return _build_label_set(left) | _build_label_set(right)
        case _:
            raise ValueError(f"A node to be created has plain labels, not {labels}.")


def _build_members(properties: Mapping[str, Value]) -> dict[str, JsonValue]:
    """SPEC: openCypher 9: a null property is not stored."""
    return {key: _build_json(key, value) for key, value in properties.items() if value is not None}


def _build_json(key: str, value: Value) -> JsonValue:
    if isinstance(value, list):
        return [_build_json(key, item) for item in value]
    if isinstance(value, dict | Node | Relationship | Path) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise NotStorable(f"the property {key} is a {name_type(value)}, which no twin can hold")
    # NOTE: a twin holds dates, times and durations as text, as DTDL does.
    built: JsonValue = build_json(value)
    return built
