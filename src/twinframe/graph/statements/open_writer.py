"""Writes nodes and relationships of statements on an open graph, whose nodes need no model.

A node is stored as a twin whose model the service makes of its labels: an interface for each label,
and one for each other set of labels, which extends those. So each engine finds labels as it finds
those of models. The interface declares the properties with temporal values, which are read as such.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

import orjson

from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.relationships import ID as RELATIONSHIP_ID
from twinframe.graph.documents.relationships import RelationshipBody, parse_relationship_body
from twinframe.graph.documents.twins import ETAG, ID, METADATA, MODEL, TOUCHED, build_twin
from twinframe.graph.models.models import render_model
from twinframe.graph.statements.twin_writer import (
    build_label_error,
    build_members,
    check_member,
    delete_twin,
    read_id,
)
from twinframe.graph.twins.changes import write_relationship, write_twin
from twinframe.graph.twins.relationships import DeleteRelationship, parse_relationship_key
from twinframe.graph.twins.twins import require_twin
from twinframe.model.clock import stamp_after
from twinframe.model.etags import UNCONDITIONED, parse_put_condition
from twinframe.model.ids import OPEN_LABEL, OPEN_NODE, OPEN_SET, is_model_name, parse_twin_id
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import Date, DateTime, LocalDateTime, LocalTime, Time
from twinframe.model.values import JsonValue, Node, Relationship, Value
from twinframe.query.writing.port import REMOVED, Change, Document, GraphWriter
from twinframe.storage.base import ChangeKind, GraphTransaction, ModelRecord

_SCHEMAS: Final[Mapping[type, str]] = {
    Date: "date",
    DateTime: "dateTime",
    Time: "time",
    LocalDateTime: "dateTime",
    LocalTime: "time",
    Duration: "duration",
}
_NEW: Final = parse_put_condition(None, "*")
_UPLOADED: Final = "2024-01-01T00:00:00.0000000+00:00"
"""The upload time of the interfaces, which are the same whenever they are made."""


class OpenWriter(GraphWriter):
    """Writes the nodes and relationships of one transaction."""

    def __init__(self, context: GraphContext, transaction: GraphTransaction) -> None:
        self._context = context
        self._transaction = transaction
        self._schemas: dict[str, Mapping[str, str]] = {}

    def create_node(
        self, labels: Sequence[str], properties: Mapping[str, Value], *, is_read: bool
    ) -> Node:
        """Create a node; its id is `$dtId`, else one is made."""
        _check_members(properties)
        members = build_members(properties)
        twin_id = parse_twin_id(read_id(members.pop(ID, None), ID))
        _check_names(members)
        _NEW.check(_read_etag(self._transaction, twin_id), f"a node with the id {twin_id}")
        held = frozenset(labels)
        model_id = self._require_model(held, _find_schemas(properties))
        now = stamp_after(self._context.write_clock(), None)
        body: Document = {**members, METADATA: {}}
        twin = build_twin(twin_id, model_id, body, (), now)
        stored = write_twin(self._context, self._transaction, twin, None)
        return Node(twin_id, orjson.loads(stored.body) if is_read else {}, held)

    def create_relationship(
        self, source: Node, target: Node, kind: str, properties: Mapping[str, Value]
    ) -> Relationship:
        """Create a relationship; its id is `$relationshipId`, else one is made."""
        _check_members(properties)
        members = build_members(properties)
        relationship_id = read_id(members.pop(RELATIONSHIP_ID, None), RELATIONSHIP_ID)
        _check_names(members)
        key = source.id, relationship_id
        parse_relationship_key(*key)
        before = self._transaction.read_relationship(*key)
        _NEW.check(
            None if before is None else before.etag, f"a relationship with the id {relationship_id}"
        )
        body = RelationshipBody(kind, target.id, members)
        stored = write_relationship(self._context, self._transaction, key, body)
        return Relationship(*key, target.id, kind, orjson.loads(stored.body))

    def change_node(self, node: Node, change: Change) -> tuple[Document, frozenset[str]]:
        """Change properties and labels."""
        stored = require_twin(self._transaction, node.id)
        document = cast("Document", orjson.loads(stored.body))
        metadata = cast("Document", document[METADATA])
        schemas = dict(self._read_schemas(cast("str", metadata[MODEL])))
        _apply(document, change)
        for path, value in change.values.items():
            schemas.pop(path[0], None)
            if value is not REMOVED:
                schemas |= _find_schemas({path[0]: cast("Value", value)})
        # The labels of the object are those after the change already.
        held = node.labels
        model_id = self._require_model(held, schemas)
        now = stamp_after(self._context.write_clock(), cast("str", metadata[TOUCHED]))
        members: Document = {
            key: value for key, value in document.items() if key not in {ID, ETAG, METADATA}
        }
        twin = build_twin(node.id, model_id, {**members, METADATA: {}}, (), now)
        made = write_twin(self._context, self._transaction, twin, stored)
        return cast("Document", orjson.loads(made.body)), held

    def change_relationship(self, relationship: Relationship, change: Change) -> Document:
        """Change properties."""
        key = relationship.source, relationship.id
        stored = self._transaction.read_relationship(*key)
        assert stored is not None  # noqa: S101  # the statement has read it
        body = parse_relationship_body(orjson.loads(stored.body))
        properties = dict(body.properties)
        _apply(properties, change)
        changed = RelationshipBody(body.name, body.target_id, properties)
        made = write_relationship(self._context, self._transaction, key, changed, stored)
        return cast("Document", orjson.loads(made.body))

    def delete_node(self, node_id: str, *, detach: bool) -> Sequence[tuple[str, str]] | None:
        """Delete a node."""
        return delete_twin(self._context, self._transaction, node_id, detach=detach)

    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship."""
        command = DeleteRelationship(source_id, relationship_id, UNCONDITIONED)
        command.apply(self._context, self._transaction)

    def has_label(self, node: Node, label: str) -> bool:
        """Whether the node has the label."""
        return label in node.labels

    # --- models

    def _require_model(self, labels: frozenset[str], schemas: Mapping[str, str]) -> str:
        """Return the model of nodes with these labels and declarations, made if it is missing."""
        model_id = build_open_model_id(labels, schemas)
        if model_id not in self._schemas:
            for record in _build_models(labels, schemas):
                if self._transaction.read_model(record.model_id) is None:
                    self._transaction.put_models([record])
                    data = render_model(record, with_definition=False)
                    kind = ChangeKind.MODEL_CREATED
                    self._context.recorder.record_model(
                        self._transaction, kind, record.model_id, data
                    )
            self._schemas[model_id] = dict(schemas)
        return model_id

    def _read_schemas(self, model_id: str) -> Mapping[str, str]:
        found = self._schemas.get(model_id)
        if found is None:
            record = self._transaction.read_model(model_id)
            contents = [] if record is None else orjson.loads(record.document).get("contents", [])
            found = {one["name"]: one["schema"] for one in contents}
            if record is not None:
                self._schemas[model_id] = found
        return found


def build_open_model_id(labels: frozenset[str], schemas: Mapping[str, str]) -> str:
    """Return the DTMI of the interface of nodes with exactly these labels and declarations."""
    for label in labels:
        if not is_model_name(label):
            raise build_label_error(
                f"A label of an open graph is a letter, then letters, digits and underscores, not "
                f"ending in one; {label!r} is not."
            )
    if not schemas:
        if not labels:
            return f"{OPEN_NODE};1"
        if len(labels) == 1:
            return f"{OPEN_LABEL}{next(iter(labels))};1"
    text = orjson.dumps([sorted(labels), sorted(schemas.items())])
    return f"{OPEN_SET}{hashlib.sha256(text).hexdigest()[:32]};1"


def _build_models(labels: frozenset[str], schemas: Mapping[str, str]) -> Iterator[ModelRecord]:
    """Yield the interfaces of the labels, then that of all of them."""
    singles = [build_open_model_id(frozenset((label,)), {}) for label in sorted(labels)]
    for single in singles:
        yield _build_record(single, (), {})
    own = build_open_model_id(labels, schemas)
    if own not in singles:
        yield _build_record(own, tuple(singles), schemas)


def _build_record(
    model_id: str, extends: tuple[str, ...], schemas: Mapping[str, str]
) -> ModelRecord:
    contents = [
        {"@type": "Property", "name": name, "schema": kind}
        for name, kind in sorted(schemas.items())
    ]
    document = {
        "@id": model_id,
        "@type": "Interface",
        "@context": "dtmi:dtdl:context;3",
        "extends": list(extends),
        "contents": contents,
    }
    return ModelRecord(
        model_id=model_id,
        document=orjson.dumps(document),
        display_name=b"{}",
        description=b"{}",
        extends=extends,
        components=(),
        upload_time=_UPLOADED,
    )


def _find_schemas(properties: Mapping[str, Value]) -> dict[str, str]:
    """Return the properties with a temporal value, and the DTDL schema of each."""
    kinds = ((name, _SCHEMAS.get(type(value))) for name, value in properties.items())
    return {name: kind for name, kind in kinds if kind is not None and is_model_name(name)}


def _apply(document: Document, change: Change) -> None:
    for path, value in change.values.items():
        if len(path) > 1:
            raise build_label_error("A property of an open graph has no members to set.")
        _check_names(path)
        if value is REMOVED:
            document.pop(path[0], None)
        else:
            check_member(path[0], cast("Value", value), maps=False)
            document |= build_members({path[0]: cast("Value", value)})


def _check_members(properties: Mapping[str, Value]) -> None:
    for key, value in properties.items():
        check_member(key, value, maps=False)


def _check_names(names: Mapping[str, JsonValue] | Sequence[str]) -> None:
    for name in names:
        if name.startswith("$"):
            raise build_label_error(f"{name} is set by the service; it is no property.")


def _read_etag(transaction: GraphTransaction, twin_id: str) -> str | None:
    stored = transaction.read_twin(twin_id)
    return None if stored is None else stored.etag
