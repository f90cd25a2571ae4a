"""Maps records of the storage interface to triples.

The reference page `rdf-mapping.md` shows the mapping with examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, unquote

import orjson

from twinframe.model.ids import build_model_name
from twinframe.model.values import JsonValue
from twinframe.storage.base import (
    ChangeKind,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    TwinRecord,
)
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.ontology import Ontology
from twinframe_storage_rdf.terms import Iri, Term

Triple: TypeAlias = tuple[Iri, Iri, Term]

_UNMAPPED: Final = "$metadata"
_SCHEME: Final = "dtmi:"

TWIN_MEMBERS: Final = {"$dtId": v.ID, "$etag": v.ETAG}
"""System members of a twin whose values have predicates of the vocabulary."""

RELATIONSHIP_MEMBERS: Final = {
    "$relationshipId": v.ID,
    "$relationshipName": v.NAME,
    "$sourceId": v.SOURCE_ID,
    "$targetId": v.TARGET_ID,
    "$etag": v.ETAG,
}
"""System members of a relationship whose values have predicates of the vocabulary."""


@dataclass(frozen=True)
class GraphNames:
    """The names that one graph uses: its two named graphs, and IRIs of models.

    `ontology` are the rules of `Ontology`; models of no rule are named by their DTMI itself.
    """

    name: str
    ontology: Mapping[str, str] = field(default_factory=dict)
    data: Iri = field(init=False)
    state: Iri = field(init=False)
    _rules: Ontology = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", v.build_graph_iri(self.name))
        object.__setattr__(self, "state", v.build_state_iri(self.name))
        object.__setattr__(self, "_rules", Ontology(self.ontology))

    def build_model_iri(self, model_id: str) -> Iri:
        """The class that stands for the interface."""
        named = self._rules.find_iri(model_id)
        if named is not None:
            return Iri(named)
        # NOTE: a caller may ask for a name that no model can have; it is then not found.
        stem = "" if model_id.startswith(_SCHEME) else v.NO_MODEL
        return Iri(stem + quote(model_id, safe=":;"))

    def parse_model_iri(self, iri: str) -> str:
        """Return the DTMI of a class of `build_model_iri`."""
        return self._rules.find_model(iri) or unquote(iri.removeprefix(v.NO_MODEL))


def build_predicate(path: Sequence[str], members: Mapping[str, Iri]) -> Iri | None:
    """Return the predicate of the value at this path of an entity with these system members.

    None is for paths into `$metadata` (but see `MODEL`): such values are read from the document.
    """
    if _UNMAPPED in path:
        return None
    if len(path) == 1 and path[0] in members:
        return members[path[0]]
    return v.build_property_iri(*path)


def build_twin_triples(names: GraphNames, record: TwinRecord) -> list[Triple]:
    """Build a twin with its properties; its interface is its `rdf:type`."""
    iri, model = v.build_twin_iri(record.twin_id), names.build_model_iri(record.model_id)
    return [
        (iri, v.RDF_TYPE, v.TWIN),
        (iri, v.RDF_TYPE, model),
        (iri, v.MODEL, model),
        (iri, v.ID, record.twin_id),
        (iri, v.BUCKET, v.build_bucket(record.twin_id)),
        (iri, v.ETAG, record.etag),
        (iri, v.DOCUMENT, record.body),
        *_build_properties(iri, record.body, TWIN_MEMBERS),
    ]


def build_relationship_triples(record: RelationshipRecord) -> list[Triple]:
    """A relationship as a resource, without its direct triple (`build_edge_triple`)."""
    iri = v.build_relationship_iri(record.source_id, record.relationship_id)
    return [
        (iri, v.RDF_TYPE, v.RELATIONSHIP),
        (iri, v.ID, record.relationship_id),
        (iri, v.NAME, record.name),
        (iri, v.SOURCE, v.build_twin_iri(record.source_id)),
        (iri, v.TARGET, v.build_twin_iri(record.target_id)),
        (iri, v.SOURCE_ID, record.source_id),
        (iri, v.TARGET_ID, record.target_id),
        (iri, v.ETAG, record.etag),
        (iri, v.DOCUMENT, record.body),
        *_build_properties(iri, record.body, RELATIONSHIP_MEMBERS),
    ]


def build_edge_triple(record: RelationshipRecord) -> Triple:
    """The direct triple from source to target, one for all parallel relationships of a name."""
    return (
        v.build_twin_iri(record.source_id),
        v.build_edge_iri(record.name),
        v.build_twin_iri(record.target_id),
    )


def build_interface_triples(
    names: GraphNames, model_id: str, extends: Sequence[str]
) -> list[Triple]:
    """Build a known interface and its parents, which are kept when the model is deleted."""
    iri = names.build_model_iri(model_id)
    return [
        (iri, v.RDF_TYPE, v.INTERFACE),
        (iri, v.ID, model_id),
        (iri, v.LABEL, build_model_name(model_id)),
        *((iri, v.RDFS_SUBCLASS, names.build_model_iri(parent)) for parent in extends),
    ]


def build_model_triples(names: GraphNames, record: ModelRecord) -> list[Triple]:
    """A stored model, without its interface; `REFERENCES` keeps the order of its references."""
    iri = names.build_model_iri(record.model_id)
    references = orjson.dumps({"extends": record.extends, "components": record.components})
    return [
        (iri, v.DOCUMENT, record.document),
        (iri, v.DISPLAY_NAME, record.display_name),
        (iri, v.DESCRIPTION, record.description),
        (iri, v.REFERENCES, references),
        (iri, v.UPLOAD_TIME, record.upload_time),
        (iri, v.DECOMMISSIONED, record.decommissioned),
        (iri, v.POSITION, record.position),
        *((iri, v.COMPONENT, names.build_model_iri(part)) for part in record.components),
    ]


def build_entry_triples(kind: str, key: str, body: bytes) -> list[Triple]:
    """An entry of the service, for the state graph."""
    iri = v.build_entry_iri(kind, key)
    return [(iri, v.build_key_iri(kind), key), (iri, v.BODY, body)]


def build_event_triples(position: int, event: OutboxEvent) -> list[Triple]:
    """An event, for the state graph.

    NOTE: one that an earlier release stored has the same text again, or it could not be deleted.
    """
    iri = v.build_event_iri(position)
    triples: list[Triple] = [(iri, v.EVENT, orjson.dumps(pack_event(event)))]
    if event.replaced is not None:
        triples.append((iri, v.REPLACES, v.build_entity_iri(*event.replaced)))
    return triples


def read_event(text: bytes) -> OutboxEvent:
    """Read the text of an event; one that an earlier release stored has no kind."""
    return unpack_event(cast("list[Any]", orjson.loads(text)))


def pack_event(event: OutboxEvent) -> list[Any]:
    """Return the fields of an event that are kept, for `unpack_event`."""
    fields: list[Any] = [event.subject, event.body.decode()]
    return fields if event.kind is None else [*fields, event.kind, event.relationship_id]


def unpack_event(fields: Sequence[Any]) -> OutboxEvent:
    """Build an event from its fields, of which an earlier release stored only the first two."""
    subject, body, *rest = fields
    kind, relationship_id = rest or (None, "")
    kind = None if kind is None else ChangeKind(kind)
    return OutboxEvent(subject, body.encode(), kind, relationship_id)


def measure_triples(triples: Iterable[Triple]) -> int:
    """Return the bytes of the triples' names and values, about as in N-Triples."""
    return sum(len(s) + len(p) + _measure(o) for s, p, o in triples)


def _measure(value: Term) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    return len(value) if isinstance(value, bytes) else len(str(value))


def _build_properties(subject: Iri, body: bytes, members: Mapping[str, Iri]) -> Iterator[Triple]:
    document = cast("JsonValue", orjson.loads(body))
    if isinstance(document, dict):
        for name, value in document.items():
            if name not in members and name != _UNMAPPED:
                yield from _build_property(subject, (name,), value)


def _build_property(subject: Iri, path: tuple[str, ...], value: JsonValue) -> Iterator[Triple]:
    predicate = v.build_property_iri(*path)
    if isinstance(value, dict):
        yield subject, predicate, orjson.dumps(value)
        for name, inner in value.items():
            if name != _UNMAPPED:
                yield from _build_property(subject, (*path, name), inner)
    elif isinstance(value, list):
        yield subject, predicate, orjson.dumps(value)
    elif value is not None:
        yield subject, predicate, value
