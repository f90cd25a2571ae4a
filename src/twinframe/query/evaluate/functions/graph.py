"""Functions on nodes, relationships and paths that patterns have matched.

`keys()` and `properties()` return an entity's own contents; its system members, whose names start
with `$`, are only available by name.
"""

from __future__ import annotations

from twinframe.errors import QueryInvalid
from twinframe.model.values import Node, Path, Relationship, Value
from twinframe.query.evaluate.failures import build_argument_type_error
from twinframe.query.evaluate.functions.declare import Function, strict, strict_with_run
from twinframe.query.evaluate.run import Run


def list_keys(value: Value) -> Value:
    """The names of a map's entries, or of a node's or relationship's own properties."""
    match value:
        case dict():
            return [*value]
        case Node() | Relationship():
            return [key for key in value.document if not key.startswith("$")]
        case _:
            raise _refuse("keys", value, "a Node, Relationship or Map")


def build_properties(run: Run, value: Value) -> Value:
    """A map itself, or the own properties of a node or relationship as a map."""
    match value:
        case dict():
            return value
        case Node() | Relationship():
            own = (key for key in value.document if not key.startswith("$"))
            return {key: run.read_own_member(value, key) for key in own}
        case _:
            raise _refuse("properties", value, "a Node, Relationship or Map")


def list_labels(value: Value) -> Value:
    """The labels of a node in alphabetical order."""
    if isinstance(value, Node):
        return [*sorted(value.labels)]
    raise _refuse("labels", value, "a Node")


def read_type(value: Value) -> Value:
    """The type of a relationship."""
    if isinstance(value, Relationship):
        return value.type
    raise _refuse("type", value, "a Relationship")


def build_element_id(value: Value) -> Value:
    """Return a string that identifies the entity in its graph: a node's `$dtId`, for example."""
    match value:
        case Node():
            return value.id
        case Relationship():
            return value.element_id
        case _:
            raise _refuse("elementId", value, "a Node or Relationship")


def list_nodes(value: Value) -> Value:
    """The nodes of a path, in order."""
    if isinstance(value, Path):
        return [*value.nodes]
    raise _refuse("nodes", value, "a Path")


def list_relationships(value: Value) -> Value:
    """The relationships of a path, in order."""
    if isinstance(value, Path):
        return [*value.relationships]
    raise _refuse("relationships", value, "a Path")


def read_start_node(run: Run, value: Value) -> Value:
    """The source of a relationship."""
    if isinstance(value, Relationship):
        return run.read_node(value.source)
    raise _refuse("startNode", value, "a Relationship")


def read_end_node(run: Run, value: Value) -> Value:
    """The target of a relationship."""
    if isinstance(value, Relationship):
        return run.read_node(value.target)
    raise _refuse("endNode", value, "a Relationship")


def _refuse(function: str, value: Value, expected: str) -> QueryInvalid:
    return build_argument_type_error(function, value, expected)


FUNCTIONS: dict[str, Function] = {
    "keys": strict(list_keys),
    "properties": strict_with_run(build_properties),
    "labels": strict(list_labels),
    "type": strict(read_type),
    "id": strict(build_element_id),
    "elementId": strict(build_element_id),
    "nodes": strict(list_nodes),
    "relationships": strict(list_relationships),
    "startNode": strict_with_run(read_start_node),
    "endNode": strict_with_run(read_end_node),
}
