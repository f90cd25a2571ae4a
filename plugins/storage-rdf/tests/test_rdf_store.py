"""The RDF store keeps the storage contract, and what it holds is RDF."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import RDF, Literal, URIRef

from twinframe.storage.base import GraphStore, GraphTransaction
from twinframe.testing.contracts.base import put
from twinframe.testing.factories import (
    build_model_id,
    build_model_record,
    build_relationship_record,
    build_twin_record,
)
from twinframe.testing.storage_contract import GraphStoreContract
from twinframe_storage_rdf.plugin import twinframe_graph_store
from twinframe_storage_rdf.store import RdfGraph, RdfStore
from twinframe_storage_rdf.vocabulary import (
    TF,
    build_relationship_iri,
    build_twin_iri,
)


class TestRdfStore(GraphStoreContract):
    def make_store(self, place: Path) -> GraphStore:
        graphs = self.__dict__.setdefault("graphs", {})
        return RdfStore(graphs.setdefault(place, RdfGraph("default")))


@pytest.fixture
def graph() -> RdfGraph:
    return RdfGraph("default")


def test_the_hook_gives_an_empty_store_of_its_own() -> None:
    first, second = twinframe_graph_store(graph="a"), twinframe_graph_store(graph="a")
    put(first, build_twin_record("t"))
    assert first.session().has_twin("t")
    assert not second.session().has_twin("t")
    assert not first.traits.shared


def test_twins_models_and_relationships_are_resources(graph: RdfGraph) -> None:
    put(
        RdfStore(graph),
        build_model_record("Space"),
        build_model_record("Room", extends=["Space"]),
        build_twin_record("a b/ü", model="Room"),
        build_twin_record("c", model="Space"),
        build_relationship_record("a b/ü", "r:1", "c", "isIn"),
    )
    room, space = (URIRef(build_model_id(name)) for name in ("Room", "Space"))
    twin = URIRef("urn:twinframe:twin:a%20b%2F%C3%BC")
    relationship = URIRef("urn:twinframe:relationship:a%20b%2F%C3%BC:r%3A1")
    with graph.shared.reading() as triples:
        found = set(triples)
    assert (twin, RDF.type, room) in found
    assert (room, TF.extends, space) in found
    assert (relationship, TF.source, twin) in found
    assert (relationship, TF.target, build_twin_iri("c")) in found
    assert (relationship, TF.name, Literal("isIn")) in found


def test_relationship_ids_and_twin_ids_never_meet_in_one_iri() -> None:
    assert build_relationship_iri("a:b", "c") != build_relationship_iri("a", "b:c")


def test_documents_are_kept_to_the_byte(graph: RdfGraph) -> None:
    body = '{"$dtId":"t",  "x": 1.0,"y":"\\u00fc ü","z":[ ]}\n'.encode()
    store = RdfStore(graph)
    record = build_twin_record("t")
    put(store, type(record)(record.twin_id, record.model_id, record.etag, body))
    stored = store.session().read_twin("t")
    assert stored is not None
    assert stored.body == body


def test_an_undone_work_leaves_the_very_same_triples(graph: RdfGraph) -> None:
    store = RdfStore(graph)
    put(store, build_model_record("A"), build_twin_record("t", model="A"), build_twin_record("u"))
    with graph.shared.reading() as triples:
        before = set(triples)

    def work(transaction: GraphTransaction) -> None:
        transaction.put_twin(build_twin_record("t", model="New", n=2))
        transaction.delete_twin("u")
        transaction.delete_models([build_model_id("A")])
        raise ValueError

    (outcome,) = store.write([work])
    assert isinstance(outcome.error, ValueError)
    with graph.shared.reading() as triples:
        assert set(triples) == before


def test_verify_finds_a_relationship_without_its_twin(graph: RdfGraph) -> None:
    store = RdfStore(graph)
    put(store, build_twin_record("a"), build_twin_record("b"))
    put(store, build_relationship_record("a", "r", "b"))
    with graph.shared.writing() as triples:
        triples.remove(build_twin_iri("b"))
    (fault,) = store.verify()
    assert "urn:twinframe:relationship:a:r must have one twin" in fault
