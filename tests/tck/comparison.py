"""Compares result values with those of the TCK: by type and content. It runs no query.

A value is turned into a key; two values are the same when their keys are equal. Types are kept
apart (1 is not 1.0 is not true), NaN is NaN, a node is its labels and properties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

from tests.tck.values import Expected, ExpectedNode, ExpectedPath, ExpectedRelationship
from twinframe.model.rendering import build_json
from twinframe.model.values import Node, Path, Relationship, Value

_NAMES: dict[type, str] = {bool: "boolean", int: "integer", str: "string", type(None): "null"}


def build_key(value: Value | Expected, *, any_order: bool = False) -> Hashable:
    """What two equal values have in common; `any_order`: the order of lists does not count."""
    name = _NAMES.get(type(value))
    if name is not None:
        return (name, value)
    match value:
        case float():
            return ("float", "NaN" if value != value else value)
        case list():
            own = [build_key(item, any_order=any_order) for item in value]
            return ("list", frozenset(Counter(own).items()) if any_order else tuple(own))
        case dict():
            return ("map", _build_members(value, any_order=any_order))
        case Node() | ExpectedNode():
            return _build_node_key(value, any_order=any_order)
        case Relationship() | ExpectedRelationship():
            return _build_relationship_key(value, any_order=any_order)
        case Path() | ExpectedPath():
            return _build_path_key(value, any_order=any_order)
        case _:
            # SPEC: the TCK writes a temporal value as a string, as the wire does.
            return build_key(build_json(value))


def build_row_key(
    row: Mapping[str, Value] | Mapping[str, Expected], *, any_order: bool = False
) -> Hashable:
    """The key of a row: its columns by name, in any order."""
    return frozenset((name, build_key(cell, any_order=any_order)) for name, cell in row.items())


def _build_members(members: Mapping[str, object], *, any_order: bool) -> Hashable:
    return frozenset(
        (key, build_key(member, any_order=any_order))  # type: ignore[arg-type]  # values by type
        for key, member in members.items()
    )


def _build_own(document: Mapping[str, object]) -> dict[str, object]:
    return {
        key: member
        for key, member in document.items()
        if not key.startswith("$") and member is not None
    }


def _build_node_key(node: Node | ExpectedNode, *, any_order: bool) -> Hashable:
    if isinstance(node, ExpectedNode):
        labels, own = node.labels, dict[str, object](node.properties)
    else:
        labels = node.labels
        own = _build_own(node.document)
    return ("node", labels, _build_members(own, any_order=any_order))


def _build_relationship_key(
    crossed: Relationship | ExpectedRelationship, *, any_order: bool
) -> Hashable:
    if isinstance(crossed, ExpectedRelationship):
        own = dict[str, object](crossed.properties)
    else:
        own = _build_own(crossed.document)
    return ("relationship", crossed.type, _build_members(own, any_order=any_order))


def _build_path_key(path: Path | ExpectedPath, *, any_order: bool) -> Hashable:
    parts: list[Hashable] = []
    if isinstance(path, ExpectedPath):
        parts.append(build_key(path.start, any_order=any_order))
        for crossed, forward, node in path.steps:
            parts += (build_key(crossed, any_order=any_order), forward)
            parts.append(build_key(node, any_order=any_order))
        return ("path", *parts)
    parts.append(build_key(path.nodes[0], any_order=any_order))
    for before, one, reached in zip(path.nodes, path.relationships, path.nodes[1:], strict=False):
        parts += (build_key(one, any_order=any_order), one.source == before.id)
        parts.append(build_key(reached, any_order=any_order))
    return ("path", *parts)
