"""Reads members of twins and relationships with the types that their models declare.

Documents are JSON, whose times are text. With a `MemberTyping`, member access returns the temporal
value; without one it returns the text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from twinframe.model.values import JsonValue, Node, Path, Relationship, Value
from twinframe.query.reader import GraphReader

Entity = TypeVar("Entity", Node, Relationship)

Declared: TypeAlias = Mapping[str, Sequence[str]]
"""The ids of the interfaces that declare a member, for each temporal schema that they declare."""

Convert: TypeAlias = Callable[[JsonValue], Value]
"""Converts a stored member to a value; a value that does not fit the declared schema is returned
unchanged.
"""


class MemberTyping(ABC):
    """The members that hold temporal values, under one schema version. Thread-safe.

    `names` are the members of twins and relationships that hold some in at least one stored model;
    the methods are not called for others. `declared` has the members of twins that are of such a
    schema themselves, as far as all their declarations are known.
    """

    names: frozenset[str]
    declared: Mapping[str, Declared] = MappingProxyType({})

    @abstractmethod
    def find_twin_members(self, reader: GraphReader, model_id: str) -> Mapping[str, Convert]:
        """Return the members of twins of a model that hold temporal values, with their
        converters.
        """

    @abstractmethod
    def find_relationship_members(
        self, reader: GraphReader, model_id: str, name: str
    ) -> Mapping[str, Convert]:
        """Return the same for relationships of a name whose source is a twin of a model."""

    def read_member(self, reader: GraphReader, owner: Node | Relationship, key: str) -> Value:
        """Return `owner.key` with its model's type; None when it is missing."""
        member = owner.document.get(key)
        if member is None or key not in self.names:
            return member  # type: ignore[return-value]  # JSON values are values
        convert = self._find_members(reader, owner).get(key)
        return member if convert is None else convert(member)  # type: ignore[return-value]

    def _find_members(
        self, reader: GraphReader, owner: Node | Relationship
    ) -> Mapping[str, Convert]:
        if isinstance(owner, Node):
            model_id = read_model_id(owner)
            return {} if model_id is None else self.find_twin_members(reader, model_id)
        # PERF: one read per relationship, only where its property may be temporal.
        source = reader.read_nodes((owner.source,)).get(owner.source)
        model_id = None if source is None else read_model_id(source)
        if model_id is None:
            return {}
        return self.find_relationship_members(reader, model_id, owner.type)

    # --- whole nodes and relationships

    def type_rows(
        self, reader: GraphReader, rows: Iterable[tuple[Value, ...]]
    ) -> Iterator[tuple[Value, ...]]:
        """Yield rows whose nodes and relationships, at any depth, have temporal members.

        Their documents are no JSON then: the rows are for a form that has temporal values.
        """
        for row in rows:
            yield tuple([self._type_value(reader, value) for value in row])

    def _type_value(self, reader: GraphReader, value: Value) -> Value:
        match value:
            case Node():
                return self._type_entity(reader, value)
            case Relationship():
                return self._type_entity(reader, value)
            case list():
                return [self._type_value(reader, one) for one in value]
            case dict():
                return {key: self._type_value(reader, one) for key, one in value.items()}
            case Path(nodes=nodes, relationships=relationships):
                typed = [self._type_entity(reader, one) for one in nodes]
                crossed = [self._type_entity(reader, one) for one in relationships]
                return Path(tuple(typed), tuple(crossed))
            case _:
                return value

    def _type_entity(self, reader: GraphReader, entity: Entity) -> Entity:
        document = entity.document
        # PERF: one C call for the nodes without such members, which are most.
        if self.names.isdisjoint(document):
            return entity
        converts = self._find_members(reader, entity)
        typed: dict[str, Any] = {
            key: converts[key](one) if key in converts else one for key, one in document.items()
        }
        return replace(entity, document=typed)


def read_model_id(node: Node) -> str | None:
    """The id of a twin's own model, from `$metadata.$model`; None where there is none."""
    metadata = node.document.get("$metadata")
    model_id = metadata.get("$model") if isinstance(metadata, dict) else None
    return model_id if isinstance(model_id, str) else None
