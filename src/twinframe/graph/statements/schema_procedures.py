"""The procedures by which tools of Neo4j, and of its plugin APOC, ask for the schema of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from twinframe.errors import InvalidArgument
from twinframe.graph.statements.graph_schema import EVERY, GraphSchema, read_schema
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.writing.procedures import Procedure, ProcedureGraph

Rows = Iterable[Sequence[Value]]

_SAMPLE: Final = 1_000
"""The nodes and the relationships of a name that are looked at without another number."""
_WORDS: Final = {
    "BOOLEAN": "Boolean",
    "DATE": "Date",
    "DATE_TIME": "DateTime",
    "DURATION": "Duration",
    "FLOAT": "Double",
    "INTEGER": "Long",
    "LIST": "List",
    "MAP": "Map",
    "STRING": "String",
    "TIME": "Time",
}
"""Types as the procedures of Neo4j name them, by those of APOC."""


def _list_node_properties(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    schema = read_schema(graph.reader, _SAMPLE)
    for label, members in sorted(schema.nodes.items()):
        for name, kind in members.items():
            yield f":`{label}`", [label], name, [_WORDS[kind]], name in schema.needed


def _list_relationship_properties(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    schema = read_schema(graph.reader, _SAMPLE)
    for kind, members in sorted(schema.relationships.items()):
        if not members:
            yield f":`{kind}`", None, None, False
        for name, type_ in members.items():
            yield f":`{kind}`", name, [_WORDS[type_]], False


def _draw_schema(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    """One row: a node for each label, and a relationship for each link between two of them."""
    schema = read_schema(graph.reader, _SAMPLE)
    labels = {*schema.nodes}
    labels |= {one for links in schema.links.values() for ends in links.values() for one in ends}
    nodes: list[Value] = [
        Node(label, {"name": label, "indexes": [], "constraints": []}, frozenset({label}))
        for label in sorted(labels)
    ]
    relationships: list[Value] = [
        Relationship(source, f"{name}-{target}", target, name, {"name": name})
        for source, name, target in _list_links(schema)
    ]
    yield nodes, relationships


def _list_links(schema: GraphSchema) -> Iterator[tuple[str, str, str]]:
    for source, links in sorted(schema.links.items()):
        for name, targets in sorted(links.items()):
            for target in sorted(targets):
                yield source, name, target


def _describe(graph: ProcedureGraph, arguments: Sequence[Value]) -> Rows:
    """Rows of APOC: one for each property of a label or relationship, one for each link."""
    (options,) = arguments
    sample = options.get("sample", _SAMPLE) if isinstance(options, dict) else _SAMPLE
    if not isinstance(sample, int) or sample < EVERY:
        raise InvalidArgument("'sample' is a number of nodes, or -1 for all.")
    schema = read_schema(graph.reader, sample)
    for label, members in sorted(schema.nodes.items()):
        for name, kind in members.items():
            yield label, name, name in schema.needed, kind, kind == "LIST", [], "node"
        for name, targets in sorted(schema.links.get(label, {}).items()):
            others: list[Value] = [*sorted(targets)]
            yield label, name, False, "RELATIONSHIP", True, others, "node"
    for label, members in sorted(schema.relationships.items()):
        for name, kind in members.items():
            yield label, name, False, kind, kind == "LIST", [], "relationship"


SCHEMA_PROCEDURES: Final = (
    Procedure(
        "db.schema.nodeTypeProperties",
        (),
        (
            ("nodeType", "STRING"),
            ("nodeLabels", "LIST"),
            ("propertyName", "STRING"),
            ("propertyTypes", "LIST"),
            ("mandatory", "BOOLEAN"),
        ),
        _list_node_properties,
        "The properties of labels in use.",
    ),
    Procedure(
        "db.schema.relTypeProperties",
        (),
        (
            ("relType", "STRING"),
            ("propertyName", "STRING"),
            ("propertyTypes", "LIST"),
            ("mandatory", "BOOLEAN"),
        ),
        _list_relationship_properties,
        "The properties of relationships.",
    ),
    Procedure(
        "db.schema.visualization",
        (),
        (("nodes", "LIST"), ("relationships", "LIST")),
        _draw_schema,
        "Labels in use as nodes, and what links them.",
    ),
    Procedure(
        "apoc.meta.data",
        (("config", "MAP"),),
        (
            ("label", "STRING"),
            ("property", "STRING"),
            ("existence", "BOOLEAN"),
            ("type", "STRING"),
            ("array", "BOOLEAN"),
            ("other", "LIST"),
            ("elementType", "STRING"),
        ),
        _describe,
        "Properties and links of labels in use, as APOC has them.",
    ),
)
"""All of them only read."""
