"""Members of twins and relationships as the types their models declare. It knows no model itself.

Documents are JSON, whose times are text; who runs a plan may hand it a `MemberTyping`, and then
member access gives the temporal value. Without one it gives the text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TypeAlias

from twinframe.evaluator.reader import GraphReader
from twinframe.model.values import JsonValue, Node, Relationship, Value

Convert: TypeAlias = Callable[[JsonValue], Value]
"""A stored member as a value; what does not fit the declared schema comes back as it is."""


class MemberTyping(ABC):
    """Which members hold temporal values, under one schema version. Any thread may use it.

    `names` are the members of twins and relationships that hold some in at least one stored model;
    of all others nothing is asked.
    """

    names: frozenset[str]

    @abstractmethod
    def find_twin_members(self, reader: GraphReader, model_id: str) -> Mapping[str, Convert]:
        """The members of twins of a model that hold temporal values, and how to read them."""

    @abstractmethod
    def find_relationship_members(
        self, reader: GraphReader, model_id: str, name: str
    ) -> Mapping[str, Convert]:
        """The same of relationships of a name whose source is a twin of a model."""

    def read_member(self, reader: GraphReader, owner: Node | Relationship, key: str) -> Value:
        """`owner.key` as its model has it; None when it is missing."""
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
        # PERF: one read a relationship, only where its property may be temporal.
        source = reader.read_nodes((owner.source,)).get(owner.source)
        model_id = None if source is None else read_model_id(source)
        if model_id is None:
            return {}
        return self.find_relationship_members(reader, model_id, owner.type)


def read_model_id(node: Node) -> str | None:
    """The id of a twin's own model, from `$metadata.$model`; None where there is none."""
    metadata = node.document.get("$metadata")
    model_id = metadata.get("$model") if isinstance(metadata, dict) else None
    return model_id if isinstance(model_id, str) else None
