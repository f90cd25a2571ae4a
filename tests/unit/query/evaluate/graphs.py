"""A small graph in memory behind the evaluator's port, and a building to ask about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from twinframe.model.values import Node, Relationship
from twinframe.query.algebra import Direction, LabelExpression
from twinframe.query.evaluate.labels import compile_labels
from twinframe.query.reader import GraphReader, Hop


class MemoryReader(GraphReader):
    """Nodes and relationships in dicts; counts the calls, so that tests can tell what was read."""

    def __init__(self, nodes: Iterable[Node], relationships: Iterable[Relationship]) -> None:
        self._nodes = {node.id: node for node in nodes}
        self._relationships = list(relationships)
        self.calls: list[str] = []

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        self.calls.append("scan_nodes")
        holds = compile_labels(labels) if labels is not None else None
        for node in self._nodes.values():
            if holds is None or holds(node.labels):
                yield node

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        self.calls.append("read_nodes")
        return {one: self._nodes[one] for one in ids if one in self._nodes}

    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        self.calls.append("scan_relationships")
        return (one for one in self._relationships if not types or one.type in types)

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        self.calls.append("read_hops")
        for origin in origins:
            for one in self._relationships:
                if types and one.type not in types:
                    continue
                if direction is not Direction.INCOMING and one.source == origin:
                    yield Hop(origin, one, one.target)
                elif direction is not Direction.OUTGOING and one.target == origin:
                    yield Hop(origin, one, one.source)

    def read_descendants(self, model_id: str) -> frozenset[str]:
        return frozenset({model_id})

    def read_model_ids(self) -> frozenset[str]:
        return frozenset()


def build_twin(twin_id: str, *models: str, **properties: Any) -> Node:
    """A twin of the first model; the others are its ancestors."""
    labels = {"Twin", *models, *(model.split(":")[-1].split(";")[0] for model in models)}
    document = {"$dtId": twin_id, **properties, "$metadata": {"$model": models[0]}}
    return Node(twin_id, document, frozenset(labels))


def build_relationship(
    source: str, relationship_id: str, kind: str, target: str, **properties: Any
) -> Relationship:
    """A relationship with its system members."""
    document = {
        "$relationshipId": relationship_id,
        "$sourceId": source,
        "$targetId": target,
        "$relationshipName": kind,
        **properties,
    }
    return Relationship(source, relationship_id, target, kind, document)


SPACE, ROOM, FLOOR = "dtmi:t:Space;1", "dtmi:t:Room;2", "dtmi:t:Floor;1"
SENSOR = "dtmi:t:Sensor;1"


def build_building() -> MemoryReader:
    """One floor of three rooms in a ring of doors, and two sensors in the first room."""
    nodes = [
        build_twin("floor", FLOOR, SPACE, name="Ground"),
        build_twin("r1", ROOM, SPACE, name="Lobby", area=20, tags=["a", "b"]),
        build_twin("r2", ROOM, SPACE, name="Kitchen", area=12.5),
        build_twin("r3", ROOM, SPACE, name="Office", area=30),
        build_twin("s1", SENSOR, value=21.5),
        build_twin("s2", SENSOR, value=True),
    ]
    relationships = [
        build_relationship("floor", "c1", "contains", "r1"),
        build_relationship("floor", "c2", "contains", "r2"),
        build_relationship("floor", "c3", "contains", "r3"),
        build_relationship("r1", "d1", "door", "r2", width=1),
        build_relationship("r2", "d1", "door", "r3", width=2),
        build_relationship("r3", "d1", "door", "r1", width=1),
        build_relationship("r1", "h1", "has", "s1"),
        build_relationship("r1", "h2", "has", "s2"),
        build_relationship("r2", "loop", "mirror", "r2"),
    ]
    return MemoryReader(nodes, relationships)
