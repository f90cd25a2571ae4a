"""The schema of a graph as tools of Neo4j ask for it: labels in use, their properties and links.

On a graph with models these declare it, and each label is asked once whether a node has it. Links
are those that models declare, and those between the models of the first relationships of each name:
what every descendant inherits would be too many to read. On an open graph all of it is what the
first nodes and relationships have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeVar

from twinframe.dtdl.outline import ContentOutline, Element, ModelOutline
from twinframe.graph.context.model_cache import read_documents
from twinframe.model.ids import OPEN_MODELS, TWIN_LABEL, build_model_name
from twinframe.model.values import Node, Relationship
from twinframe.query.algebra import LabelName
from twinframe.query.reader import GraphReader
from twinframe.storage.base import GraphSession

T = TypeVar("T")

EVERY: Final = -1
"""A sample that leaves out nothing."""
_CHECKED: Final = 256
_PRIMITIVE: Final[Mapping[str, str]] = {
    "boolean": "BOOLEAN",
    "date": "DATE",
    "dateTime": "DATE_TIME",
    "double": "FLOAT",
    "duration": "DURATION",
    "float": "FLOAT",
    "decimal": "FLOAT",
    "time": "TIME",
    **dict.fromkeys(("Array", "Set"), "LIST"),
    **dict.fromkeys(("Map", "Object"), "MAP"),
    **dict.fromkeys(
        ("point", "multiPoint", "lineString", "multiLineString", "polygon", "multiPolygon"), "MAP"
    ),
    **dict.fromkeys(
        ("byte", "short", "integer", "long", "unsignedByte", "unsignedShort", "unsignedInteger"),
        "INTEGER",
    ),
    "unsignedLong": "INTEGER",
}
"""By the DTDL schema; the others are strings."""
_VALUES: Final[Mapping[type, str]] = {
    bool: "BOOLEAN",
    int: "INTEGER",
    float: "FLOAT",
    list: "LIST",
    dict: "MAP",
}

Members = dict[str, str]
"""Types by the names of properties."""


@dataclass(slots=True)
class GraphSchema:
    """The properties of each label, the labels that each relationship may lead to from it, and the
    properties of relationships. `needed` are the properties without which no node can be.
    """

    nodes: dict[str, Members] = field(default_factory=dict)
    links: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    relationships: dict[str, Members] = field(default_factory=dict)
    needed: frozenset[str] = frozenset({"$dtId"})


def is_open(reader: GraphReader) -> bool:
    """Return whether the nodes are those of an open graph."""
    return any(model_id.startswith(OPEN_MODELS) for model_id in reader.read_model_ids())


def watch(reader: GraphReader, found: Iterable[T]) -> Iterator[T]:
    """Yield all of it, and look at the time now and then."""
    for at, one in enumerate(found):
        if at % _CHECKED == 0:
            reader.check_deadline()
        yield one


def read_schema(reader: GraphReader, sample: int) -> GraphSchema:
    """Return the schema, with the links of so many relationships of a name, or `EVERY`.

    On an open graph it is that of so many nodes and relationships.
    """
    most = None if sample == EVERY else sample
    if is_open(reader):
        return _read_values(reader, most)
    return _read_models(reader, most) if isinstance(reader, GraphSession) else GraphSchema()


# --- of models ----------------------------------------------------------------------------------


def _read_models(session: GraphSession, most: int | None) -> GraphSchema:
    outlines = {record.model_id: outline for record, outline in read_documents(session)}
    schema = GraphSchema()
    for model_id in watch(session, sorted(outlines)):
        if next(iter(session.scan_nodes(LabelName(model_id))), None) is None:
            continue
        label = build_model_name(model_id)
        members = schema.nodes.setdefault(label, {"$dtId": "STRING"})
        links = schema.links.setdefault(label, {})
        for outline, content in _list_contents(model_id, outlines):
            match content.kind:
                case "Property":
                    members.setdefault(content.name, _find_type(content.schema, outline))
                case "Component":
                    members.setdefault(content.name, "MAP")
                case "Relationship":
                    _add_relationship(schema, content, outline)
                    if outline is outlines[model_id]:
                        links.setdefault(content.name, set()).add(_find_target(content))
    for links in schema.links.values():
        for name in links:
            # NOTE: labels that no node has would lead a reader to queries without rows.
            links[name] &= {*schema.nodes, TWIN_LABEL}
    for name in sorted(schema.relationships):
        found = islice(session.scan_relationships((name,)), most)
        for one, source, target in _read_ends(session, found):
            ends = schema.links.setdefault(_find_label(source), {})
            ends.setdefault(one.type, set()).add(_find_label(target))
    return schema


def _find_label(node: Node) -> str:
    """Return the label that a node has from its own model."""
    metadata: Any = node.document["$metadata"]
    return build_model_name(metadata["$model"])


def _find_target(content: ContentOutline) -> str:
    target = content.element.get("target")
    return build_model_name(target) if isinstance(target, str) else TWIN_LABEL


def _add_relationship(schema: GraphSchema, content: ContentOutline, outline: ModelOutline) -> None:
    members = schema.relationships.setdefault(content.name, {})
    for one in content.properties:
        members.setdefault(one.name, _find_type(one.schema, outline))


def _list_contents(
    model_id: str, outlines: Mapping[str, ModelOutline]
) -> Iterator[tuple[ModelOutline, ContentOutline]]:
    """Yield the contents of a model and of all that it extends."""
    waiting = [outlines[model_id]]
    seen = {model_id}
    for outline in waiting:
        yield from ((outline, content) for content in outline.contents)
        bases = {one for one in outline.bases if one in outlines} - seen
        seen |= bases
        waiting += [outlines[one] for one in sorted(bases)]
        extended = outline.document.get("extends")
        inline = [one for one in _list(extended) if isinstance(one, dict)]
        waiting += map(ModelOutline, inline)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _find_type(schema: object, outline: ModelOutline) -> str:
    if isinstance(schema, str) and schema in outline.schemas:
        schema = outline.schemas[schema]
    if isinstance(schema, dict):
        return _find_element_type(schema)
    term = schema.partition(";")[0].rpartition(":")[2] if isinstance(schema, str) else ""
    return _PRIMITIVE.get(term, "STRING")


def _find_element_type(element: Element) -> str:
    classes = _list(element.get("@type"))
    if "Enum" in classes:
        return _PRIMITIVE.get(str(element.get("valueSchema")), "STRING")
    return next((_PRIMITIVE[one] for one in classes if one in _PRIMITIVE), "STRING")


# --- of values ----------------------------------------------------------------------------------


def _read_values(reader: GraphReader, most: int | None) -> GraphSchema:
    schema = GraphSchema()
    for node in watch(reader, islice(reader.scan_nodes(None), most)):
        for label in node.labels:
            members = schema.nodes.setdefault(label, {"$dtId": "STRING"})
            _add_values(members, node.document)
    found = islice(reader.scan_relationships(()), most)
    for one, source, target in _read_ends(reader, found):
        _add_values(schema.relationships.setdefault(one.type, {}), one.document)
        for label in source.labels:
            ends = schema.links.setdefault(label, {})
            ends.setdefault(one.type, set()).update(target.labels)
    return schema


def _read_ends(
    reader: GraphReader, relationships: Iterator[Relationship]
) -> Iterator[tuple[Relationship, Node, Node]]:
    """Yield relationships with the nodes at their ends."""
    waiting = watch(reader, relationships)
    while found := list(islice(waiting, reader.most_at_once // 2)):
        ends = reader.read_nodes(list({end for one in found for end in (one.source, one.target)}))
        for one in found:
            if one.source in ends and one.target in ends:
                yield one, ends[one.source], ends[one.target]


def _add_values(members: Members, document: Mapping[str, Any]) -> None:
    for name, value in document.items():
        if not name.startswith("$"):
            members.setdefault(name, _VALUES.get(type(value), "STRING"))
