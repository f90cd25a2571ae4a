"""Converts stored records to the values that queries work on."""

from __future__ import annotations

import orjson

from twinframe.model.values import JsonValue, Node, Relationship
from twinframe.storage.base import ModelRecord, RelationshipRecord, TwinRecord


def build_twin_node(twin: TwinRecord, labels: frozenset[str]) -> Node:
    """Build a twin; `labels` are those of its interface and all its ancestors."""
    return Node(twin.twin_id, orjson.loads(twin.body), labels)


def build_model_node(model: ModelRecord, labels: frozenset[str]) -> Node:
    """Build a model as a node of label `Model`; its document is that of the wire."""
    document: dict[str, JsonValue] = {
        "id": model.model_id,
        "displayName": orjson.loads(model.display_name),
        "description": orjson.loads(model.description),
        "decommissioned": model.decommissioned,
        "uploadTime": model.upload_time,
        "model": orjson.loads(model.document),
    }
    return Node(model.model_id, document, labels)


def build_relationship(record: RelationshipRecord) -> Relationship:
    """A relationship."""
    return Relationship(
        source=record.source_id,
        id=record.relationship_id,
        target=record.target_id,
        type=record.name,
        document=orjson.loads(record.body),
    )
