"""The procedures that are built in: what tools ask for first, as Neo4j names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from twinframe import __version__
from twinframe.graph.queries.names import SYSTEM_MEMBERS, read_names
from twinframe.graph.statements.graph_schema import is_open, watch
from twinframe.graph.statements.schema_procedures import SCHEMA_PROCEDURES
from twinframe.model.ids import OPEN_LABEL, OPEN_MODELS, build_model_name
from twinframe.model.values import Value
from twinframe.query.reader import GraphReader
from twinframe.query.writing.procedures import Procedure, ProcedureGraph, Procedures
from twinframe.storage.base import GraphSession

Rows = Iterable[Sequence[Value]]


def list_labels(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    """The last name of each model; on an open graph each label that a node has or had."""
    names: set[str] = set()
    for model_id in graph.reader.read_model_ids():
        if model_id.startswith(OPEN_LABEL) or not model_id.startswith(OPEN_MODELS):
            names.add(build_model_name(model_id))
    return [(name,) for name in sorted(names)]


def list_relationship_types(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    """The names of relationships that the models declare, and on an open graph those in use."""
    reader = graph.reader
    known = {name for name in _read_declared(reader)[0] if not name.startswith("_")}
    if is_open(reader):
        known.update(one.type for one in watch(reader, reader.scan_relationships(())))
    return [(name,) for name in sorted(known)]


def list_property_keys(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    """The properties and components that the models declare, and on an open graph those in use."""
    reader = graph.reader
    known = _read_declared(reader)[1] - SYSTEM_MEMBERS
    if is_open(reader):
        for node in watch(reader, reader.scan_nodes(None)):
            known.update(key for key in node.document if not key.startswith("$"))
        for one in watch(reader, reader.scan_relationships(())):
            known.update(key for key in one.document if not key.startswith("$"))
    return [(name,) for name in sorted(known)]


def list_components(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    """The product, and its version."""
    return [("twinframe", [__version__], "community")]


def _read_declared(reader: GraphReader) -> tuple[set[str], set[str]]:
    """Return the names of relationships and of properties that the stored models declare."""
    if not isinstance(reader, GraphSession):
        return set(), set()
    known = read_names(reader)
    return known.relationships, known.properties | known.components


def answer_ping(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    """That the database answers, for `cypher-shell`."""
    return [(True,)]


_BUILT_IN: Final = (
    Procedure("db.labels", (), (("label", "STRING"),), list_labels, "The labels of nodes."),
    Procedure(
        "db.relationshipTypes",
        (),
        (("relationshipType", "STRING"),),
        list_relationship_types,
        "The names of relationships.",
    ),
    Procedure(
        "db.propertyKeys", (), (("propertyKey", "STRING"),), list_property_keys, "The properties."
    ),
    Procedure(
        "dbms.components",
        (),
        (("name", "STRING"), ("versions", "LIST"), ("edition", "STRING")),
        list_components,
        "The product and its version.",
    ),
    Procedure("db.ping", (), (("success", "BOOLEAN"),), answer_ping, "Whether the graph answers."),
    *SCHEMA_PROCEDURES,
)
_LISTED: Final = (
    ("name", "STRING"),
    ("signature", "STRING"),
    ("description", "STRING"),
    ("mode", "STRING"),
    ("permission", "STRING"),
)


def build_procedures(added: Iterable[Procedure] = ()) -> Procedures:
    """Return the built-in procedures and those that plugins add, by their names."""
    known: dict[str, Procedure] = {}

    def list_procedures(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
        """The procedures that there are."""
        for name in sorted(known):
            one = known[name]
            mode = "WRITE" if one.writes else "READ"
            yield name, one.signature, one.description, mode, one.permission or None

    listing = Procedure(
        "dbms.procedures", (), _LISTED, list_procedures, "The procedures that can be called."
    )
    known.update({one.name: one for one in (*_BUILT_IN, listing, *added)})
    return known


BUILT_IN_NAMES: Final = frozenset(build_procedures())
