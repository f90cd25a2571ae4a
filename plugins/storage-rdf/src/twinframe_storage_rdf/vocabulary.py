"""The IRIs of a twin graph in RDF. It reads and writes no triple.

Twins and relationships have IRIs made of their ids; a model's IRI is its DTMI.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from rdflib import Namespace, URIRef

TF: Final = Namespace("urn:twinframe:vocabulary:")

JSON_TEXT: Final = TF.json
"""Datatype of documents.

NOTE: not rdf:JSON: a library that knows it may rewrite the text; documents are kept to the byte.
"""


def build_graph_iri(name: str) -> URIRef:
    """The named graph that holds the twin graph `name`."""
    return URIRef(f"urn:twinframe:graph:{quote(name, safe='')}")


def build_twin_iri(twin_id: str) -> URIRef:
    """The IRI of a twin."""
    return URIRef(f"urn:twinframe:twin:{quote(twin_id, safe='')}")


def build_relationship_iri(source_id: str, relationship_id: str) -> URIRef:
    """The IRI of a relationship; ids cannot hold the separator, which is quoted in them."""
    return URIRef(
        f"urn:twinframe:relationship:{quote(source_id, safe='')}:{quote(relationship_id, safe='')}"
    )


def build_model_iri(model_id: str) -> URIRef:
    """The IRI of a model: its DTMI."""
    return URIRef(model_id)
