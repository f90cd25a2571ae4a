"""Records of the storage seam as triples, and back. It checks no rule of the graph."""

from __future__ import annotations

from typing import cast

import orjson
from rdflib import RDF, Literal, URIRef

from twinframe.storage.base import ModelRecord, RelationshipRecord, StoredDocument, TwinRecord
from twinframe_storage_rdf.triples import Triple, Triples
from twinframe_storage_rdf.vocabulary import (
    JSON_TEXT,
    TF,
    build_model_iri,
    build_relationship_iri,
    build_twin_iri,
)

MODEL_PROPERTIES = (
    TF.document,
    TF.displayName,
    TF.description,
    TF.references,
    TF.uploadTime,
    TF.decommissioned,
    TF.position,
)
"""What goes when a model is deleted; its place in the hierarchy stays."""


def build_twin_triples(record: TwinRecord) -> list[Triple]:
    """A twin; its interface is its `rdf:type`."""
    iri, model = build_twin_iri(record.twin_id), build_model_iri(record.model_id)
    return [
        (iri, RDF.type, TF.Twin),
        (iri, RDF.type, model),
        (iri, TF.model, model),
        (iri, TF.id, Literal(record.twin_id)),
        (iri, TF.etag, Literal(record.etag)),
        (iri, TF.document, _build_json(record.body)),
        (model, RDF.type, TF.Interface),
    ]


def read_twin(triples: Triples, iri: URIRef) -> TwinRecord:
    """The twin of this IRI."""
    return TwinRecord(
        twin_id=_read(triples, iri, TF.id),
        model_id=_read(triples, iri, TF.model),
        etag=_read(triples, iri, TF.etag),
        body=_read(triples, iri, TF.document).encode(),
    )


def build_relationship_triples(record: RelationshipRecord) -> list[Triple]:
    """A relationship as a resource: it has properties, and others may run parallel to it."""
    iri = build_relationship_iri(record.source_id, record.relationship_id)
    return [
        (iri, RDF.type, TF.Relationship),
        (iri, TF.id, Literal(record.relationship_id)),
        (iri, TF.name, Literal(record.name)),
        (iri, TF.source, build_twin_iri(record.source_id)),
        (iri, TF.target, build_twin_iri(record.target_id)),
        (iri, TF.etag, Literal(record.etag)),
        (iri, TF.document, _build_json(record.body)),
    ]


def read_relationship(triples: Triples, iri: URIRef) -> RelationshipRecord:
    """The relationship of this IRI."""
    return RelationshipRecord(
        source_id=_read(triples, _read_end(triples, iri, TF.source), TF.id),
        relationship_id=_read(triples, iri, TF.id),
        name=_read(triples, iri, TF.name),
        target_id=_read(triples, _read_end(triples, iri, TF.target), TF.id),
        etag=_read(triples, iri, TF.etag),
        body=_read(triples, iri, TF.document).encode(),
    )


def read_document(triples: Triples, iri: URIRef) -> StoredDocument | None:
    """The document of a twin or relationship; None when there is none."""
    body = triples.read_text(iri, TF.document)
    return None if body is None else StoredDocument(_read(triples, iri, TF.etag), body.encode())


def build_model_triples(record: ModelRecord, position: int) -> list[Triple]:
    """A model; `TF.references` keeps the order of its references, the other two are for walking."""
    iri = build_model_iri(record.model_id)
    references = orjson.dumps({"extends": record.extends, "components": record.components})
    return [
        (iri, RDF.type, TF.Interface),
        (iri, TF.document, _build_json(record.document)),
        (iri, TF.displayName, _build_json(record.display_name)),
        (iri, TF.description, _build_json(record.description)),
        (iri, TF.references, _build_json(references)),
        (iri, TF.uploadTime, Literal(record.upload_time)),
        (iri, TF.decommissioned, _build_flag(record.decommissioned)),
        (iri, TF.position, Literal(str(position))),
        *((iri, TF.extends, build_model_iri(parent)) for parent in record.extends),
        *((iri, TF.component, build_model_iri(part)) for part in record.components),
    ]


def build_decommissioned_triple(model_id: str, decommissioned: bool) -> Triple:
    """The flag of a model."""
    return build_model_iri(model_id), TF.decommissioned, _build_flag(decommissioned)


def read_model(triples: Triples, iri: URIRef) -> ModelRecord | None:
    """The stored model of this IRI; None when there is none."""
    document = triples.read_text(iri, TF.document)
    if document is None:
        return None
    references = cast("dict[str, list[str]]", orjson.loads(_read(triples, iri, TF.references)))
    return ModelRecord(
        model_id=str(iri),
        document=document.encode(),
        display_name=_read(triples, iri, TF.displayName).encode(),
        description=_read(triples, iri, TF.description).encode(),
        extends=tuple(references["extends"]),
        components=tuple(references["components"]),
        upload_time=_read(triples, iri, TF.uploadTime),
        decommissioned=_read(triples, iri, TF.decommissioned) == "true",
        position=int(_read(triples, iri, TF.position)),
    )


def _read(triples: Triples, iri: URIRef, predicate: URIRef) -> str:
    text = triples.read_text(iri, predicate)
    if text is None:
        raise KeyError(f"{iri} has no {predicate}")
    return text


def _read_end(triples: Triples, iri: URIRef, predicate: URIRef) -> URIRef:
    return URIRef(_read(triples, iri, predicate))


def _build_json(text: bytes) -> Literal:
    return Literal(text.decode(), datatype=JSON_TEXT)


def _build_flag(flag: bool) -> Literal:
    return Literal("true" if flag else "false")
