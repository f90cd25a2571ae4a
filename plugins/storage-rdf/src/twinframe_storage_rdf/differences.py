"""Records that differ from those an engine holds: the changes of a writer, or the undo of a
snapshot.

Laid over records as they are read, they show another version of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import orjson

from twinframe.storage.base import ModelRecord, OutboxEvent, RelationshipRecord, TwinRecord
from twinframe_storage_rdf.mapping import pack_event, unpack_event

T = TypeVar("T")

RelationshipKey: TypeAlias = tuple[str, str]
"""Source id and relationship id."""

_LARGE_PART: Final = 256 * 1024

EntryKey: TypeAlias = tuple[str, str]
"""Kind and key."""


@dataclass(frozen=True, slots=True)
class State:
    """State of the graph as a whole.

    `version` counts writes; `hierarchy_version` is the version that last changed an interface.
    `twins` counts twins, `content` is the bytes of triples. Events are kept at each position from
    `first_event` to `last_event`.
    """

    version: int
    schema_version: int = 0
    last_position: int = 0
    hierarchy_version: int = 0
    twins: int = 0
    content: int = 0
    first_event: int = 1
    last_event: int = 0


@dataclass(slots=True)
class Differences:
    """Records by key, None where there is none; `interfaces` maps to direct parents.

    Events are by position. The numbers are None where they do not differ.
    """

    twins: dict[str, TwinRecord | None] = field(default_factory=dict)
    relationships: dict[RelationshipKey, RelationshipRecord | None] = field(default_factory=dict)
    interfaces: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    models: dict[str, ModelRecord | None] = field(default_factory=dict)
    entries: dict[EntryKey, bytes | None] = field(default_factory=dict)
    events: dict[int, OutboxEvent | None] = field(default_factory=dict)
    schema_version: int | None = None
    last_position: int | None = None
    first_event: int | None = None
    last_event: int | None = None

    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not any(self._maps()) and all(number is None for number in self._numbers())

    def copy(self) -> Differences:
        """Return a copy of the differences that can be changed independently."""
        return Differences(*map(dict, self._maps()), *self._numbers())  # type: ignore[arg-type]  # each as it was

    def lay_under(self, earlier: Differences) -> None:
        """Merge the undo of an earlier write: where both differ, the records of `earlier` hold.

        The numbers of a state are not merged: the caller has them from the state itself.
        """
        for own, other in zip(self._maps(), earlier._maps(), strict=True):
            own.update(other)

    def _maps(self) -> tuple[dict[Any, Any], ...]:
        return (
            self.twins,
            self.relationships,
            self.interfaces,
            self.models,
            self.entries,
            self.events,
        )

    def _numbers(self) -> tuple[int | None, ...]:
        return self.schema_version, self.last_position, self.first_event, self.last_event

    def relationships_at(self, twin_id: str) -> Iterator[RelationshipRecord]:
        """Yield the relationships that start or end at the twin."""
        for record in self.relationships.values():
            if record is not None and twin_id in (record.source_id, record.target_id):
                yield record


def split_differences(differences: Differences) -> Iterator[Differences]:
    """Yield the records in one or more parts: a large record or several small ones in each.

    PERF: a text is rendered and parsed in one step, for which all other threads of a process wait.
    """
    part, size = Differences(), 0
    for at, records in enumerate(differences._maps()):
        for key, record in records.items():
            more = measure_document(record)
            if size and size + more > _LARGE_PART:
                yield part
                part, size = Differences(), 0
            part._maps()[at][key] = record
            size += more
    yield part


def measure_document(record: object) -> int:
    """Return the size of the record's document in bytes."""
    if isinstance(record, bytes):
        return len(record)
    if isinstance(record, ModelRecord):
        return len(record.document)
    if isinstance(record, TwinRecord | RelationshipRecord | OutboxEvent):
        return len(record.body)
    return 0


def render_differences(differences: Differences) -> bytes:
    """Render the differences as JSON, for `parse_differences`."""
    return orjson.dumps(
        {
            "twins": [[key, _pack(record)] for key, record in differences.twins.items()],
            "relationships": [
                [*key, _pack(record)] for key, record in differences.relationships.items()
            ],
            "interfaces": list(differences.interfaces.items()),
            "models": [[key, _pack(record)] for key, record in differences.models.items()],
            "entries": [
                [*key, None if body is None else body.decode()]
                for key, body in differences.entries.items()
            ],
            "events": [
                [at, None if event is None else pack_event(event)]
                for at, event in differences.events.items()
            ],
        }
    )


def parse_differences(text: bytes) -> Differences:
    """Parse the differences that `render_differences` wrote."""
    found = orjson.loads(text)
    return Differences(
        twins={key: _unpack(TwinRecord, x, 3) for key, x in found["twins"]},
        relationships={
            (source, key): _unpack(RelationshipRecord, x, 5)
            for source, key, x in found["relationships"]
        },
        interfaces={key: None if x is None else tuple(x) for key, x in found["interfaces"]},
        models={key: _unpack(ModelRecord, x, 1, 2, 3) for key, x in found["models"]},
        entries={
            (kind, key): None if x is None else x.encode() for kind, key, x in found["entries"]
        },
        events={at: None if x is None else unpack_event(x) for at, x in found["events"]},
    )


def _pack(
    record: TwinRecord | RelationshipRecord | ModelRecord | None,
) -> list[object] | None:
    if record is None:
        return None
    fields = (getattr(record, name) for name in record.__slots__)
    return [value.decode() if isinstance(value, bytes) else value for value in fields]


def _unpack(build: Callable[..., T], packed: list[Any] | None, *texts: int) -> T | None:
    """Build the record that `_pack` made a list of; `texts` are the places of its documents."""
    if packed is None:
        return None
    values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in packed]
    for at in texts:
        values[at] = values[at].encode()
    return build(*values)
