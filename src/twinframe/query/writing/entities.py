"""The nodes and relationships that a statement has in its rows: one object for each.

A statement changes the object, so that all rows show the change. The object of what was deleted
stays, and refuses to be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NoReturn, cast

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import name_type
from twinframe.model.rendering import build_json
from twinframe.model.values import JsonValue, Node, Path, Relationship, Value
from twinframe.query.algebra import Direction
from twinframe.query.evaluate.failures import note_span
from twinframe.query.evaluate.run import Row
from twinframe.query.reader import GraphReader
from twinframe.query.spans import Span
from twinframe.query.writing.port import REMOVED, Assigned, Change, Document

_PLAIN: Final = frozenset({type(None), bool, int, float, str})


def _refuse() -> NoReturn:
    raise QueryInvalid(
        "The statement reads an entity that it deleted.",
        kind="EntityNotFound",
        detail="DeletedEntityAccess",
        phase="runtime",
    )


class _NoDocument(Mapping[str, JsonValue]):
    """Stands for the document of what was deleted."""

    def __getitem__(self, key: str) -> JsonValue:
        _refuse()

    def __iter__(self) -> Iterator[str]:
        _refuse()

    def __len__(self) -> int:  # noqa: PLE0303  # it never returns
        _refuse()

    def __contains__(self, key: object) -> bool:
        _refuse()


class _NoLabels(frozenset[str]):
    """Stands for the labels of a node that was deleted."""

    def __iter__(self) -> Iterator[str]:
        _refuse()

    def __contains__(self, key: object) -> bool:
        _refuse()


_NO_DOCUMENT: Final = _NoDocument()
_NO_LABELS: Final = _NoLabels()


class Entities:
    """The objects of a statement by the identity of what they stand for, and pending changes."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._relationships: dict[tuple[str, str], Relationship] = {}
        self.pending: dict[Node | Relationship, Change] = {}

    def adopt_rows(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows with the statement's own objects in them."""
        return [self.adopt_row(row) for row in rows]

    def adopt_row(self, row: Row) -> Row:
        """See `adopt_rows`. PERF: most values are plain."""
        for value in row:
            if type(value) not in _PLAIN:
                return tuple([self.adopt(one) for one in row])
        return row

    def adopt(self, value: Value) -> Value:
        """Return a value with the statement's own objects in it."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if isinstance(value, Node):
            return self.adopt_node(value)
        if isinstance(value, Relationship):
            return self.adopt_relationship(value)
        if isinstance(value, Path):
            nodes = tuple(map(self.adopt_node, value.nodes))
            return Path(nodes, tuple(map(self.adopt_relationship, value.relationships)))
        if isinstance(value, list):
            return [self.adopt(one) for one in value]
        if isinstance(value, dict):
            return {key: self.adopt(one) for key, one in value.items()}
        return value

    def adopt_node(self, node: Node) -> Node:
        """Return the statement's own object of a node."""
        return self._nodes.setdefault(node.id, node)

    def adopt_relationship(self, relationship: Relationship) -> Relationship:
        """Return the statement's own object of a relationship."""
        key = relationship.source, relationship.id
        return self._relationships.setdefault(key, relationship)

    def renew(self, reader: GraphReader) -> None:
        """Read all entities again; mark as deleted what is gone."""
        found = reader.read_nodes([*self._nodes])
        for node_id, node in self._nodes.items():
            now = found.get(node_id)
            if now is not None:
                _replace(node, "document", now.document)
                _replace(node, "labels", now.labels)
        self.forget_nodes([one for one in self._nodes if one not in found])
        sources = {source for source, _ in self._relationships}
        kept: set[tuple[str, str]] = set()
        for hop in reader.read_hops(sources, Direction.OUTGOING, ()) if sources else ():
            key = hop.relationship.source, hop.relationship.id
            relationship = self._relationships.get(key)
            if relationship is not None:
                kept.add(key)
                _replace(relationship, "document", hop.relationship.document)
        self.forget_relationships([one for one in self._relationships if one not in kept])

    def forget_nodes(self, node_ids: Sequence[str]) -> None:
        """Mark nodes as deleted."""
        for node_id in node_ids:
            node = self._nodes.get(node_id)
            if node is not None:
                _replace(node, "document", _NO_DOCUMENT)
                _replace(node, "labels", _NO_LABELS)
                self.pending.pop(node, None)

    def forget_relationships(self, keys: Sequence[tuple[str, str]]) -> None:
        """Mark relationships as deleted."""
        for key in keys:
            relationship = self._relationships.get(key)
            if relationship is not None:
                _replace(relationship, "document", _NO_DOCUMENT)
                self.pending.pop(relationship, None)

    def show(self, value: Value) -> Value:
        """Return a value of a result, in which what was deleted has nothing but its identity."""
        if isinstance(value, Node) and is_deleted(value):
            return Node(value.id, {"$dtId": value.id}, frozenset())
        if isinstance(value, Relationship) and is_deleted(value):
            document: Document = {
                "$relationshipId": value.id,
                "$sourceId": value.source,
                "$relationshipName": value.type,
                "$targetId": value.target,
            }
            return Relationship(value.source, value.id, value.target, value.type, document)
        if isinstance(value, Path):
            nodes = tuple(cast("Node", self.show(one)) for one in value.nodes)
            return Path(
                nodes,
                tuple(cast("Relationship", self.show(one)) for one in value.relationships),
            )
        if isinstance(value, list):
            return [self.show(one) for one in value]
        if isinstance(value, dict):
            return {key: self.show(one) for key, one in value.items()}
        return value

    # --- changes of a clause

    def begin_change(self, entity: Node | Relationship) -> Change:
        """Return the pending change of an entity, a new one if it has none."""
        change = self.pending.get(entity)
        if change is None:
            if is_deleted(entity):
                _refuse()
            change = self.pending[entity] = Change(entity.document)
            _replace(entity, "document", dict(entity.document))
        return change

    def assign(self, entity: Node | Relationship, path: tuple[str, ...], value: Assigned) -> None:
        """Set a property, or remove it: null says so too."""
        if value is None:
            value = REMOVED
        change = self.begin_change(entity)
        for other in [one for one in change.values if one[: len(path)] == path]:
            del change.values[other]
        change.values[path] = value
        _assign(entity.document, path, value)  # type: ignore[arg-type]  # its own since `begin_change`

    def settle(self, entity: Node | Relationship, document: Document) -> None:
        """Give an entity the document that is stored now."""
        _replace(entity, "document", document)

    def settle_labels(self, node: Node, labels: frozenset[str]) -> None:
        """Give a node its labels."""
        _replace(node, "labels", labels)


def is_deleted(entity: Node | Relationship) -> bool:
    """Whether the statement has deleted the entity."""
    return entity.document is _NO_DOCUMENT


def require_node(found: Value, name: str, span: Span | None) -> Node:
    """Return the end `name` of a relationship to create. Raises `QueryInvalid` if it is no node."""
    if isinstance(found, Node) and not is_deleted(found):
        return found
    if isinstance(found, Node):
        what = "a node that was deleted"
    else:
        what = "null" if found is None else name_type(found)
    shown = "" if name.startswith(" ") else f" {name}"
    error = QueryInvalid(
        f"The end{shown} of a relationship to create is {what}.",
        kind="SemanticError",
        detail="InvalidEndOfRelationship",
        phase="runtime",
    )
    raise note_span(error, span)


def copy_value(value: Value) -> Value:
    """Return a value whose entities are objects of their own."""
    if isinstance(value, Node | Relationship):
        return replace(value)
    if isinstance(value, Path):
        nodes, crossed = map(replace, value.nodes), map(replace, value.relationships)
        return Path(tuple(nodes), tuple(crossed))
    if isinstance(value, list):
        return [copy_value(one) for one in value]
    if isinstance(value, dict):
        return {key: copy_value(one) for key, one in value.items()}
    return value


def _replace(entity: Node | Relationship, name: str, value: object) -> None:
    # NOTE: values are frozen for all others; within a statement they stand for what is stored now.
    object.__setattr__(entity, name, value)


def _assign(document: Document, path: tuple[str, ...], value: Assigned) -> None:
    """Change a document in place, copying what lies on the way."""
    *way, last = path
    for name in way:
        inner = document.get(name)
        if not isinstance(inner, dict):
            return  # the writer refuses it
        document[name] = inner = dict(inner)
        document = inner
    if value is REMOVED:
        document.pop(last, None)
    else:
        document[last] = build_json(value)  # type: ignore[arg-type]  # it is a value
