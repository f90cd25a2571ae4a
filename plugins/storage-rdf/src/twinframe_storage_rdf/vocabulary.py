"""The names of a twin graph in RDF: IRIs of resources, classes and predicates. It writes no triple.

Names made of ids hold them percent-encoded in UTF-8, all but letters, digits and `_.-~`.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from twinframe_storage_rdf.terms import Iri

BASE: Final = "urn:twinframe:"
_VOCABULARY: Final = BASE + "vocabulary:"
_TWIN: Final = BASE + "twin:"
_RELATIONSHIP: Final = BASE + "relationship:"
_EDGE: Final = BASE + "edge:"
_PROPERTY: Final = BASE + "property:"

RDF_TYPE: Final = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
RDFS_SUBCLASS: Final = Iri("http://www.w3.org/2000/01/rdf-schema#subClassOf")

# --- classes ------------------------------------------------------------------------------------

TWIN: Final = Iri(_VOCABULARY + "Twin")
RELATIONSHIP: Final = Iri(_VOCABULARY + "Relationship")
INTERFACE: Final = Iri(_VOCABULARY + "Interface")
"""A known interface: once stored, or named by a twin. A stored one has a `DOCUMENT`."""

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
SCHEMA_VERSION: Final = Iri(_VOCABULARY + "schemaVersion")
LAST_POSITION: Final = Iri(_VOCABULARY + "lastPosition")
HIERARCHY_VERSION: Final = Iri(_VOCABULARY + "hierarchyVersion")
INSTANCE: Final = Iri(_VOCABULARY + "instance")
SECRET: Final = Iri(_VOCABULARY + "secret")
FORMAT: Final = Iri(_VOCABULARY + "format")
UNDO: Final = Iri(_VOCABULARY + "undo")
NUMBER: Final = Iri(_VOCABULARY + "number")
WRITTEN_AT: Final = Iri(_VOCABULARY + "writtenAt")


def build_graph_iri(name: str) -> Iri:
    """The named graph that holds twins, relationships and models of the twin graph `name`."""
    return Iri(f"{BASE}graph:{_quote(name)}")


def build_state_iri(name: str) -> Iri:
    """The named graph of what belongs to the graph as a whole, and its only lasting subject."""
    return Iri(f"{BASE}state:{_quote(name)}")


def build_twin_iri(twin_id: str) -> Iri:
    """The IRI of a twin."""
    return Iri(_TWIN + _quote(twin_id))


def parse_twin_iri(iri: str) -> str:
    """The twin id in an IRI of `build_twin_iri`."""
    return unquote(iri[len(_TWIN) :])


def build_relationship_iri(source_id: str, relationship_id: str) -> Iri:
    """The IRI of a relationship; ids cannot hold the separator, which is quoted in them."""
    return Iri(f"{_RELATIONSHIP}{_quote(source_id)}:{_quote(relationship_id)}")


def build_edge_iri(name: str) -> Iri:
    """The predicate of the direct triples of relationships of this name."""
    return Iri(_EDGE + _quote(name))


def build_property_iri(*path: str) -> Iri:
    """The predicate of the member at this path of member names: `("hvac", "power")`."""
    return Iri(_PROPERTY + "/".join(map(_quote, path)))


def _quote(text: str) -> str:
    return quote(text, safe="")
