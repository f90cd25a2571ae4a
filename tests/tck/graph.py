"""Builds the graph of a scenario through the storage seam, and removes it again. It judges nothing.

A node becomes a twin and its properties JSON members beside the system members; see
`label_models` for its labels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import orjson

from tests.tck.label_models import build_model_id, build_models, build_node_labels
from tests.tck.setup_parser import Create, Delete, Reading, Restart, parse_setup
from twinframe.cypher import ast
from twinframe.cypher.algebra import Direction, LabelAnd, LabelExpression, LabelName
from twinframe.cypher.language import parse_query
from twinframe.evaluator.engine import run
from twinframe.model.values import JsonValue, Node, Relationship, Value
from twinframe.storage.base import (
    GraphStore,
    GraphTransaction,
    RelationshipRecord,
    TwinRecord,
    Work,
)

_ETAG = 'W/"00000000-0000-0000-0000-000000000000"'
_ROWS, _ROW = "tckRows", "`tck row`"

Bindings = dict[str, Value]


class NotStorable(Exception):
    """A property's value that JSON cannot hold."""


class TckGraph:
    """The graph of one store: filled by set-up statements, emptied between scenarios."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._numbers = itertools.count(1)
        self._model_ids: set[str] = set()
        self._twins: dict[str, None] = {}
        self._relationships: dict[tuple[str, str], None] = {}
        self._pending: list[Callable[[GraphTransaction], None]] = []

    def clear(self) -> None:
        """Delete all twins and relationships; interfaces stay, as nothing shows them."""
        twins, relationships = list(self._twins), list(self._relationships)
        self._twins, self._relationships, self._pending = {}, {}, []

        def delete(transaction: GraphTransaction) -> None:
            for key in relationships:
                transaction.delete_relationship(*key)
            for twin_id in twins:
                transaction.delete_twin(twin_id)

        if twins:
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
                    self._create(text, rows, parts, parameters)
                case Delete(variables=variables):
                    for row in rows:
                        self._delete([row[name] for name in variables])
        self._flush()

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
        self,
        rows: Sequence[Bindings],
        expressions: Sequence[str],
        parameters: Mapping[str, Value],
    ) -> list[list[Value]]:
        if not expressions:
            return [[] for _ in rows]
        items = ", ".join(f"{text} AS x{at}" for at, text in enumerate(expressions))
        return [[*row.values()] for row in self._read(rows, f"RETURN {items}", parameters)]

    # --- writing ----------------------------------------------------------------------------

    def _create(
        self,
        text: str,
        rows: Sequence[Bindings],
        parts: Sequence[ast.PatternPart],
        parameters: Mapping[str, Value],
    ) -> None:
        entries = [
            expression
            for part in parts
            for element in part.elements()
            for _, expression in element.properties
        ]
        texts = [text[entry.span.start : entry.span.end] for entry in entries]
        for row, values in zip(rows, self._evaluate(rows, texts, parameters), strict=True):
            remaining = iter(values)
            for part in parts:
                properties = [
                    {name: next(remaining) for name, _ in element.properties}
                    for element in part.elements()
                ]
                self._create_part(row, part, properties)

    def _create_part(
        self, row: Bindings, part: ast.PatternPart, properties: Sequence[dict[str, Value]]
    ) -> None:
        nodes = [
            self._find_or_create_node(row, element, own)
            for element, own in zip(part.nodes, properties, strict=False)
        ]
        for at, (element, own) in enumerate(
            zip(part.relationships, properties[len(nodes) :], strict=True)
        ):
            ends = nodes[at], nodes[at + 1]
            source, target = ends[::-1] if element.direction is Direction.INCOMING else ends
            created = self._create_relationship(source, target, element, own)
            if element.variable is not None:
                row[element.variable] = created

    def _find_or_create_node(
        self, row: Bindings, element: ast.NodeElement, properties: Mapping[str, Value]
    ) -> Node:
        found = row.get(element.variable) if element.variable is not None else None
        if isinstance(found, Node):
            return found
        labels = _build_label_set(element.labels)
        model_id, twin_id = build_model_id(labels), f"n{next(self._numbers)}"
        document: dict[str, JsonValue] = {
            "$dtId": twin_id,
            "$etag": _ETAG,
            **_build_members(properties),
            "$metadata": {"$model": model_id},
        }
        missing = [one for one in build_models(labels) if one.model_id not in self._model_ids]
        self._model_ids.update(one.model_id for one in missing)
        if missing:
            self._pending.append(lambda transaction: transaction.put_models(missing))
        record = TwinRecord(twin_id, model_id, _ETAG, orjson.dumps(document))
        self._pending.append(lambda transaction: transaction.put_twin(record))
        self._twins[twin_id] = None
        created = Node(twin_id, document, build_node_labels(labels))
        if element.variable is not None:
            row[element.variable] = created
        return created

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

    def _write(self, work: Work[object]) -> None:
        (outcome,) = self._store.write([work])
        if outcome.error is not None:
            raise outcome.error


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
    return {
        key: _build_json(key, value) for key, value in properties.items() if value is not None
    }


def _build_json(key: str, value: Value) -> JsonValue:
    if isinstance(value, list):
        return [_build_json(key, item) for item in value]
    plain = value is None or isinstance(value, bool | int | str)
    if plain or (isinstance(value, float) and math.isfinite(value)):
        return value  # type: ignore[return-value]  # by the test above
    raise NotStorable(f"the property {key} is a {type(value).__name__}, which JSON cannot hold")
