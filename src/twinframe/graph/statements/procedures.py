"""The procedures that are built in: what tools ask for first, as Neo4j names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from twinframe import __version__
from twinframe.graph.queries.names import SYSTEM_MEMBERS, read_names
from twinframe.model.ids import OPEN_LABEL, OPEN_MODELS, build_model_name
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.reader import GraphReader
from twinframe.query.writing.procedures import Procedure, Procedures
from twinframe.storage.base import GraphSession

Rows = Iterable[Sequence[Value]]
_CHECKED: Final = 256


def list_labels(reader: GraphReader, arguments: Sequence[Value]) -> Rows:
    """The last name of each model; on an open graph each label that a node has or had."""
    names: set[str] = set()
    for model_id in reader.read_model_ids():
        if model_id.startswith(OPEN_LABEL) or not model_id.startswith(OPEN_MODELS):
            names.add(build_model_name(model_id))
    return [(name,) for name in sorted(names)]


def list_relationship_types(reader: GraphReader, arguments: Sequence[Value]) -> Rows:
    """The names of relationships that the models declare, and on an open graph those in use."""
    known = {name for name in _read_declared(reader)[0] if not name.startswith("_")}
    if _is_open(reader):
        known.update(one.type for one in _watch(reader, reader.scan_relationships(())))
    return [(name,) for name in sorted(known)]


def list_property_keys(reader: GraphReader, arguments: Sequence[Value]) -> Rows:
    """The properties and components that the models declare, and on an open graph those in use."""
    known = _read_declared(reader)[1] - SYSTEM_MEMBERS
    if _is_open(reader):
        for node in _watch(reader, reader.scan_nodes(None)):
            known.update(key for key in node.document if not key.startswith("$"))
        for one in _watch(reader, reader.scan_relationships(())):
            known.update(key for key in one.document if not key.startswith("$"))
    return [(name,) for name in sorted(known)]


def list_components(reader: GraphReader, arguments: Sequence[Value]) -> Rows:
    """The product, and its version."""
    return [("twinframe", [__version__], "community")]


def _read_declared(reader: GraphReader) -> tuple[set[str], set[str]]:
    """Return the names of relationships and of properties that the stored models declare."""
    if not isinstance(reader, GraphSession):
        return set(), set()
    known = read_names(reader)
    return known.relationships, known.properties | known.components


def _is_open(reader: GraphReader) -> bool:
    return any(model_id.startswith(OPEN_MODELS) for model_id in reader.read_model_ids())


def _watch(reader: GraphReader, found: Iterator[Node] | Iterator[Relationship]) -> Iterator[Any]:
    for at, one in enumerate(found):
        if at % _CHECKED == 0:
            reader.check_deadline()
        yield one


BUILT_IN: Final[Procedures] = {
    one.name: one
    for one in (
        Procedure("db.labels", (), (("label", "STRING"),), list_labels),
        Procedure(
            "db.relationshipTypes", (), (("relationshipType", "STRING"),), list_relationship_types
        ),
        Procedure("db.propertyKeys", (), (("propertyKey", "STRING"),), list_property_keys),
        Procedure(
            "dbms.components",
            (),
            (("name", "STRING"), ("versions", "LIST"), ("edition", "STRING")),
            list_components,
        ),
    )
}
"""By their names."""
