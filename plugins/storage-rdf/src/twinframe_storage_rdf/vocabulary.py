"""The IRIs of a twin graph in RDF: of resources, classes and predicates.

IRIs made of ids contain them percent-encoded in UTF-8, except letters, digits and `_.-~`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final
from urllib.parse import quote, unquote

from twinframe_storage_rdf.terms import Iri

BASE: Final = "urn:twinframe:"
_VOCABULARY: Final = BASE + "vocabulary:"
_TWIN: Final = BASE + "twin:"
_RELATIONSHIP: Final = BASE + "relationship:"
_EDGE: Final = BASE + "edge:"
_PROPERTY: Final = BASE + "property:"
_SHAPE: Final = BASE + "shape:"
NO_MODEL: Final = BASE + "model:"
"""The prefix of IRIs for model names in a request that are not valid model names."""
_ENTRY: Final = BASE + "entry:"
_EVENT: Final = BASE + "event:"

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SHACL: Final = "http://www.w3.org/ns/shacl#"
RDF_TYPE: Final = Iri(RDF + "type")
RDFS_SUBCLASS: Final = Iri("http://www.w3.org/2000/01/rdf-schema#subClassOf")

# --- classes ------------------------------------------------------------------------------------

TWIN: Final = Iri(_VOCABULARY + "Twin")
RELATIONSHIP: Final = Iri(_VOCABULARY + "Relationship")
INTERFACE: Final = Iri(_VOCABULARY + "Interface")
"""A known interface: once stored, or used by a twin. A stored one has a `DOCUMENT`."""

# --- of twins and relationships -----------------------------------------------------------------

ID: Final = Iri(_VOCABULARY + "id")
ETAG: Final = Iri(_VOCABULARY + "etag")
DOCUMENT: Final = Iri(_VOCABULARY + "document")
MODEL: Final = Iri(_VOCABULARY + "model")
"""From a twin to its interface: the same resource as its other `rdf:type`."""
SOURCE: Final = Iri(_VOCABULARY + "source")
TARGET: Final = Iri(_VOCABULARY + "target")
SOURCE_ID: Final = Iri(_VOCABULARY + "sourceId")
TARGET_ID: Final = Iri(_VOCABULARY + "targetId")
NAME: Final = Iri(_VOCABULARY + "name")
BUCKET: Final = Iri(_VOCABULARY + "place")
"""From a twin to a number below `BUCKETS` derived from its id: scans go through twins by
it.
"""
BUCKETS: Final = 2**14

# --- of interfaces ------------------------------------------------------------------------------

LABEL: Final = Iri(_VOCABULARY + "label")
"""The last name segment of the DTMI: `Room`."""
COMPONENT: Final = Iri(_VOCABULARY + "component")
REFERENCES: Final = Iri(_VOCABULARY + "references")
DISPLAY_NAME: Final = Iri(_VOCABULARY + "displayName")
DESCRIPTION: Final = Iri(_VOCABULARY + "description")
UPLOAD_TIME: Final = Iri(_VOCABULARY + "uploadTime")
DECOMMISSIONED: Final = Iri(_VOCABULARY + "decommissioned")
POSITION: Final = Iri(_VOCABULARY + "position")

# --- of the state graph -------------------------------------------------------------------------

VERSION: Final = Iri(_VOCABULARY + "version")
WRITE_ID: Final = Iri(_VOCABULARY + "writeId")
CLAIM: Final = Iri(_VOCABULARY + "claim")
"""On a state: a claim of a writer that holds or waits for the lock; see `engines.claims`."""
REVOKED: Final = Iri(_VOCABULARY + "buried")
"""On a state: a claim that ended without an answer."""
SCHEMA_VERSION: Final = Iri(_VOCABULARY + "schemaVersion")
LAST_POSITION: Final = Iri(_VOCABULARY + "lastPosition")
HIERARCHY_VERSION: Final = Iri(_VOCABULARY + "hierarchyVersion")
INSTANCE: Final = Iri(_VOCABULARY + "instance")
SECRET: Final = Iri(_VOCABULARY + "secret")
FORMAT: Final = Iri(_VOCABULARY + "format")
TWINS: Final = Iri(_VOCABULARY + "twins")
"""The number of twins."""
CONTENT: Final = Iri(_VOCABULARY + "content")
"""The bytes of the triples of twins, relationships and models."""
FIRST_EVENT: Final = Iri(_VOCABULARY + "firstEvent")
LAST_EVENT: Final = Iri(_VOCABULARY + "lastEvent")
BODY: Final = Iri(_VOCABULARY + "body")
"""The document of an entry."""
EVENT: Final = Iri(_VOCABULARY + "event")
"""Subject, body, kind and relationship id of an event, as a JSON array; an event that an earlier
release stored has no kind."""
REPLACES: Final = Iri(_VOCABULARY + "replaces")
"""From an event to the twin or relationship whose document the write replaced or deleted."""
UNDO: Final = Iri(_VOCABULARY + "undo")
WRITTEN_AT: Final = Iri(_VOCABULARY + "writtenAt")

STATE: Final = {
    "version": VERSION,
    "schema_version": SCHEMA_VERSION,
    "last_position": LAST_POSITION,
    "hierarchy_version": HIERARCHY_VERSION,
    "twins": TWINS,
    "content": CONTENT,
    "first_event": FIRST_EVENT,
    "last_event": LAST_EVENT,
}
"""The predicate of each number of the graph's state, by the number's name here."""


def build_graph_iri(name: str) -> Iri:
    """The named graph that holds twins, relationships and models of the twin graph `name`."""
    return Iri(f"{BASE}graph:{_quote(name)}")


def build_state_iri(name: str) -> Iri:
    """The IRI of the graph's state: a named graph, and its only permanent subject."""
    return Iri(f"{BASE}state:{_quote(name)}")


def build_write_iri(state: Iri, version: int) -> Iri:
    """The resource of the write that made this version of a graph."""
    return Iri(f"{state}:{version}")


def parse_write_iri(iri: str) -> int:
    """The version in an IRI of `build_write_iri`."""
    return int(iri.rpartition(":")[2])


def build_twin_iri(twin_id: str) -> Iri:
    """The IRI of a twin."""
    return Iri(_TWIN + _quote(twin_id))


def parse_twin_iri(iri: str) -> str:
    """The twin id in an IRI of `build_twin_iri`."""
    return unquote(iri[len(_TWIN) :])


def build_relationship_iri(source_id: str, relationship_id: str) -> Iri:
    """The IRI of a relationship; its ids hold no plain colon, which separates them."""
    return Iri(f"{_RELATIONSHIP}{_quote(source_id)}:{_quote(relationship_id)}")


def build_edge_iri(name: str) -> Iri:
    """The predicate of the direct triples of relationships of this name."""
    return Iri(_EDGE + _quote(name))


def build_entry_iri(kind: str, key: str) -> Iri:
    """The IRI of an entry of the service."""
    return Iri(f"{_ENTRY}{_quote(kind)}:{_quote(key)}")


def build_key_iri(kind: str) -> Iri:
    """The predicate from an entry of this kind to its key."""
    return Iri(_ENTRY + _quote(kind))


def build_event_iri(position: int) -> Iri:
    """The IRI of the event at this position."""
    return Iri(f"{_EVENT}{position}")


def parse_event_iri(iri: str) -> int:
    """The position in an IRI of `build_event_iri`."""
    return int(iri[len(_EVENT) :])


def build_entity_iri(twin_id: str, relationship_id: str) -> Iri:
    """The IRI of a twin, or of a relationship of it where there is a relationship id."""
    if relationship_id:
        return build_relationship_iri(twin_id, relationship_id)
    return build_twin_iri(twin_id)


def build_bucket(twin_id: str) -> int:
    """Return the twin's `BUCKET`: similar ids get places far apart."""
    return int.from_bytes(blake2b(twin_id.encode(), digest_size=2).digest()) % BUCKETS


def build_property_iri(*path: str) -> Iri:
    """The predicate of the member at this path of member names: `("hvac", "power")`."""
    return Iri(_PROPERTY + "/".join(map(_quote, path)))


def parse_member_iri(iri: str) -> tuple[str, str]:
    """Return the kind of a member, `property` or `relationship`, and its path of names."""
    kind, start = ("relationship", _EDGE) if iri.startswith(_EDGE) else ("property", _PROPERTY)
    return kind, unquote(iri[len(start) :])


def is_twin_iri(iri: str) -> bool:
    """Whether the IRI is one of `build_twin_iri`."""
    return iri.startswith(_TWIN)


def build_shape_iri(model_id: str, *path: str) -> Iri:
    """The SHACL shape of a model, or of the member at this path of names in it."""
    return Iri(_SHAPE + ":".join(map(_quote, (model_id, *path))))


def build_rdf_iri(name: str) -> Iri:
    """The IRI of a term of RDF's own vocabulary."""
    return Iri(RDF + name)


def build_shacl_iri(name: str) -> Iri:
    """The IRI of a term of SHACL."""
    return Iri(SHACL + name)


def _quote(text: str) -> str:
    return quote(text, safe="")
