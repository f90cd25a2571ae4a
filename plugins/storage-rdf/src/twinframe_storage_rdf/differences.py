"""What records differ from those an engine holds: changes of a writer, undo of a snapshot.

It reads no engine. Laid over records as they are read, it shows the state that is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from twinframe.storage.base import ModelRecord, RelationshipRecord, TwinRecord

RelationshipKey: TypeAlias = tuple[str, str]
"""Source id and relationship id."""


@dataclass(frozen=True, slots=True)
class State:
    """What belongs to the graph as a whole.

    `version` counts writes; `hierarchy_version` is the version that last changed an interface.
    """

    version: int
    schema_version: int = 0
    last_position: int = 0
    hierarchy_version: int = 0


@dataclass(slots=True)
class Differences:
    """Records by key; None stands for one that is not there. `interfaces` maps to direct parents.

    `schema_version` and `last_position` are None where they do not differ.
    """

    twins: dict[str, TwinRecord | None] = field(default_factory=dict)
    relationships: dict[RelationshipKey, RelationshipRecord | None] = field(default_factory=dict)
    interfaces: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    models: dict[str, ModelRecord | None] = field(default_factory=dict)
    schema_version: int | None = None
    last_position: int | None = None

    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return (
            not (self.twins or self.relationships or self.interfaces or self.models)
            and self.schema_version is None
            and self.last_position is None
        )

    def copy(self) -> Differences:
        """The same differences, to be changed apart from these."""
        return Differences(
            dict(self.twins),
            dict(self.relationships),
            dict(self.interfaces),
            dict(self.models),
            self.schema_version,
            self.last_position,
        )

    def lay_under(self, earlier: Differences) -> None:
        """Let `earlier` hold wherever both differ: undo of a write before this one."""
        self.twins.update(earlier.twins)
        self.relationships.update(earlier.relationships)
        self.interfaces.update(earlier.interfaces)
        self.models.update(earlier.models)
        if earlier.schema_version is not None:
            self.schema_version = earlier.schema_version
        if earlier.last_position is not None:
            self.last_position = earlier.last_position

    def relationships_at(self, twin_id: str) -> Iterator[RelationshipRecord]:
        """Those that start or end at the twin."""
        for record in self.relationships.values():
            if record is not None and twin_id in (record.source_id, record.target_id):
                yield record


def render_differences(differences: Differences) -> bytes:
    """The differences as JSON, read by `parse_differences`."""
    return orjson.dumps(
        {
            "twins": [[key, _pack(record)] for key, record in differences.twins.items()],
            "relationships": [
                [*key, _pack(record)] for key, record in differences.relationships.items()
            ],
            "interfaces": list(differences.interfaces.items()),
            "models": [[key, _pack(record)] for key, record in differences.models.items()],
            "schemaVersion": differences.schema_version,
            "lastPosition": differences.last_position,
        }
    )


def parse_differences(text: bytes) -> Differences:
    """The differences of `render_differences`."""
    found = orjson.loads(text)
    return Differences(
        twins={key: None if x is None else _unpack_twin(x) for key, x in found["twins"]},
        relationships={
            (source, key): None if x is None else _unpack_relationship(x)
            for source, key, x in found["relationships"]
        },
        interfaces={key: None if x is None else tuple(x) for key, x in found["interfaces"]},
        models={key: None if x is None else _unpack_model(x) for key, x in found["models"]},
        schema_version=found["schemaVersion"],
        last_position=found["lastPosition"],
    )


def _pack(record: TwinRecord | RelationshipRecord | ModelRecord | None) -> list[object] | None:
    if record is None:
        return None
    fields = (getattr(record, name) for name in record.__slots__)
    return [value.decode() if isinstance(value, bytes) else value for value in fields]


def _unpack_twin(packed: list[Any]) -> TwinRecord:
    twin_id, model_id, etag, body = packed
    return TwinRecord(twin_id, model_id, etag, body.encode())


def _unpack_relationship(packed: list[Any]) -> RelationshipRecord:
    source, key, name, target, etag, body = packed
    return RelationshipRecord(source, key, name, target, etag, body.encode())


def _unpack_model(packed: list[Any]) -> ModelRecord:
    model_id, document, name, description, extends, components, time, gone, position = packed
    return ModelRecord(
        model_id,
        document.encode(),
        name.encode(),
        description.encode(),
        tuple(extends),
        tuple(components),
        time,
        gone,
        position,
    )
