"""All twins and relationships of a graph are read in parts, and are those of one state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from twinframe.storage.base import GraphStore
from twinframe.testing.contracts.base import put, reading, run
from twinframe.testing.factories import (
    build_model_record,
    build_relationship_record,
    build_twin_record,
)
from twinframe_storage_rdf import records, vocabulary
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings

COUNT = 60


@pytest.fixture(params=["oxigraph", "rdflib", "virtuoso", "oxigraph_server"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphStore]:
    monkeypatch.setattr(vocabulary, "BUCKETS", 64)  # as many as a part of a large graph has
    monkeypatch.setattr(records, "_SLICE_BYTES", 12 * 1024)
    monkeypatch.setattr(records, "_FEWEST_SLICES", 2)
    settings = RdfSettings(engine="oxigraph", directory="")
    if request.param == "rdflib":
        settings = RdfSettings(engine="rdflib")
    elif request.param != "oxigraph":
        server: Any = request.getfixturevalue(request.param)
        settings = server.build_settings()
    store = build_store(settings, "whole")
    store.open()
    put(store, build_model_record("Thing"), *[build_twin_record(f"t{n}") for n in range(COUNT)])
    put(store, *[build_relationship_record(f"t{n}", "r", "t0") for n in range(0, COUNT, 2)])
    yield store
    store.close()
    store.remove(5)


def test_the_parts_are_all_of_the_graph_by_code_point(store: GraphStore) -> None:
    with reading(store) as session, session.snapshot():
        assert [t.twin_id for t in session.iterate_twins()] == sorted(f"t{n}" for n in range(COUNT))
        assert [r.source_id for r in session.iterate_relationships()] == sorted(
            f"t{n}" for n in range(0, COUNT, 2)
        )


def test_what_is_written_meanwhile_is_put_back(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reading(store) as session, session.snapshot():
        before = [t.twin_id for t in session.iterate_twins()]
        lines = session.iterate_twins()
        found = [next(lines).twin_id]
        put(store, build_twin_record("t00"), build_twin_record("zz"))
        run(store, lambda t: t.delete_relationship("t58", "r"))
        run(store, lambda t: t.delete_twin("t58"))
        assert found + [t.twin_id for t in lines] == before
        assert len(list(session.iterate_relationships())) == COUNT // 2
    with reading(store) as session:
        assert len(list(session.iterate_twins())) == COUNT + 1


def test_the_parts_of_a_graph_are_each_place_once(store: GraphStore) -> None:
    with reading(store) as session:
        parts = list(session._records._slice())  # type: ignore[attr-defined]
    assert len(parts) > 2
    assert [place for part in parts for place in part] == list(range(vocabulary.BUCKETS))
