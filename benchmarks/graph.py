"""The graph that all figures are taken on: a campus of any size, the same for the same seed."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import orjson

from twinframe.storage.base import (
    GraphStore,
    GraphTransaction,
    ModelRecord,
    RelationshipRecord,
    TwinRecord,
)

PREFIX = "dtmi:com:example:bench:"
NOW = "2026-11-20T12:00:00.0000000Z"
CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Shape:
    """How many of each: `twins` in all; four sensors a room, nineteen rooms a level."""

    twins: int

    @property
    def rooms(self) -> int:
        """Rooms; each has its sensors."""
        return max(1, round(self.twins * 0.19))

    @property
    def levels(self) -> int:
        """Levels."""
        return max(1, self.twins // 100)

    @property
    def buildings(self) -> int:
        """Buildings."""
        return max(1, self.twins // 1000)

    @property
    def sensors(self) -> int:
        """Sensors: what is left."""
        return self.twins - self.rooms - self.levels - self.buildings


Interfaces: TypeAlias = Mapping[str, tuple[str | None, list[dict[str, object]]]]
"""Of each interface what it extends, and its contents."""

INTERFACES: Interfaces = {
    "Entity": (None, [{"@type": "Property", "name": "name", "schema": "string"}]),
    "Space": (
        "Entity",
        [
            {"@type": "Property", "name": "area", "schema": "double"},
            {"@type": "Relationship", "name": "contains"},
            {"@type": "Relationship", "name": "adjacentTo"},
        ],
    ),
    "Building": ("Space", []),
    "Level": ("Space", [{"@type": "Property", "name": "number", "schema": "integer"}]),
    "Room": (
        "Space",
        [
            {"@type": "Property", "name": "capacity", "schema": "integer"},
            {"@type": "Property", "name": "occupied", "schema": "boolean"},
        ],
    ),
    "Sensor": (
        "Entity",
        [
            {"@type": "Property", "name": "value", "schema": "double"},
            {"@type": "Property", "name": "unit", "schema": "string"},
            {"@type": "Property", "name": "maker", "schema": "string"},
            {"@type": "Relationship", "name": "observes"},
            {"@type": "Relationship", "name": "locatedIn"},
        ],
    ),
    "TemperatureSensor": ("Sensor", []),
    "HumiditySensor": ("Sensor", []),
}


def build_model(name: str, interfaces: Interfaces = INTERFACES) -> dict[str, object]:
    """The DTDL document of one of the interfaces."""
    base, contents = interfaces[name]
    model: dict[str, object] = {
        "@context": "dtmi:dtdl:context;3",
        "@id": f"{PREFIX}{name};1",
        "@type": "Interface",
        "contents": contents,
    }
    if base:
        model["extends"] = f"{PREFIX}{base};1"
    return model


def build_twin(twin_id: str, interface: str, **contents: object) -> TwinRecord:
    """A twin's record with a document as the service writes it."""
    etag = f'W/"{uuid.uuid4()}"'
    model = f"{PREFIX}{interface};1"
    metadata: dict[str, object] = {"$model": model, "$lastUpdateTime": NOW}
    metadata |= {name: {"lastUpdateTime": NOW} for name in contents}
    document = {"$dtId": twin_id, "$etag": etag, **contents, "$metadata": metadata}
    return TwinRecord(twin_id, model, etag, orjson.dumps(document))


def build_edge(source: str, name: str, target: str, **contents: object) -> RelationshipRecord:
    """A relationship's record with a document as the service writes it."""
    etag, key = f'W/"{uuid.uuid4()}"', f"{name}-{target}"
    document = {
        "$relationshipId": key,
        "$etag": etag,
        "$sourceId": source,
        "$relationshipName": name,
        "$targetId": target,
        **contents,
    }
    return RelationshipRecord(source, key, name, target, etag, orjson.dumps(document))


def build_twins(shape: Shape, seed: int = 7) -> Iterator[TwinRecord]:
    """All twins of a graph of this shape."""
    dice = random.Random(seed)
    for number in range(shape.buildings):
        yield build_twin(f"building-{number}", "Building", name=f"Building {number}", area=9000.5)
    for number in range(shape.levels):
        yield build_twin(f"level-{number}", "Level", name=f"Level {number}", number=number % 10)
    for number in range(shape.rooms):
        yield build_twin(
            f"room-{number}",
            "Room",
            name=f"Room {number}",
            area=round(dice.uniform(8, 80), 1),
            capacity=dice.randrange(1, 40),
            occupied=dice.random() < 0.5,
        )
    for number in range(shape.sensors):
        kind = "TemperatureSensor" if number % 2 else "HumiditySensor"
        yield build_twin(
            f"sensor-{number}",
            kind,
            name=f"Sensor {number}",
            value=round(dice.gauss(22, 4), 2),
            unit="degreeCelsius" if number % 2 else "percent",
            maker=dice.choice(("Aerotec", "Borealis", "Klimaworks", "Sensora")),
        )


def build_edges(shape: Shape) -> Iterator[RelationshipRecord]:
    """All relationships: about 1.6 a twin."""
    for number in range(shape.levels):
        yield build_edge(f"building-{number % shape.buildings}", "contains", f"level-{number}")
    for number in range(shape.rooms):
        yield build_edge(f"level-{number % shape.levels}", "contains", f"room-{number}")
        if number:
            yield build_edge(f"room-{number - 1}", "adjacentTo", f"room-{number}")
    for number in range(shape.sensors):
        yield build_edge(f"sensor-{number}", "observes", f"room-{number % shape.rooms}")
        if number % 2:
            yield build_edge(f"sensor-{number}", "locatedIn", f"level-{number % shape.levels}")


def fill(store: GraphStore, shape: Shape) -> None:
    """Write the whole graph into an empty, open store."""
    write_graph(store, INTERFACES, build_twins(shape), build_edges(shape))


def write_graph(
    store: GraphStore,
    interfaces: Interfaces,
    twins: Iterable[TwinRecord],
    relationships: Iterable[RelationshipRecord],
) -> None:
    """Write a graph into an empty, open store."""
    models = [
        ModelRecord(
            f"{PREFIX}{name};1",
            orjson.dumps(build_model(name, interfaces)),
            b"{}",
            b"{}",
            (f"{PREFIX}{base};1",) if base else (),
            tuple(str(one["schema"]) for one in contents if one["@type"] == "Component"),
            NOW,
        )
        for name, (base, contents) in interfaces.items()
    ]
    _write(store, lambda transaction: transaction.put_models(models))
    for chunk in _chunks(twins):
        _write(store, _all(chunk, GraphTransaction.put_twin))
    for edges in _chunks(relationships):
        _write(store, _all(edges, GraphTransaction.put_relationship))


def _all(records: list[object], put: Callable[..., None]) -> Callable[[GraphTransaction], None]:
    def apply(transaction: GraphTransaction) -> None:
        method = getattr(transaction, put.__name__)
        for record in records:
            method(record)

    return apply


def _write(store: GraphStore, work: Callable[[GraphTransaction], None]) -> None:
    for outcome in store.write([work]):
        if outcome.error is not None:
            raise outcome.error


def _chunks(records: Iterable[object]) -> Iterator[list[object]]:
    iterator = iter(records)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def build_file(folder: Path, twins: int) -> Path:
    """The folder that holds a graph of this size for the SQLite store; made once."""
    return folder / f"graph-{twins}"
