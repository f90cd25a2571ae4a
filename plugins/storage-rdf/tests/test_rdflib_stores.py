"""Any store plugin of rdflib with named graphs can hold the triples of the `rdflib` engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from twinframe.errors import ConfigurationError
from twinframe.storage.base import GraphStore
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.contracts.twins import TwinContract
from twinframe.testing.factories import build_model_record, build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings

pytest.importorskip("oxrdflib", reason="needs a second store of rdflib: pip install oxrdflib")


def build(graph: str = "default", **settings: Any) -> GraphStore:
    return build_store(RdfSettings(engine="rdflib", **settings), graph)


class TestOxigraphThroughRdflib(TwinContract):
    def make_store(self, place: Path) -> GraphStore:
        return build(rdflib_store="Oxigraph", rdflib_configuration=f"{place}/{{graph}}")

    @pytest.fixture
    def other(self) -> GraphStore:
        """No second store on the same files."""
        pytest.skip("a store of rdflib is opened once")


def test_a_store_with_a_configuration_is_there_again_after_it_was_closed(tmp_path: Path) -> None:
    settings = {"rdflib_store": "Oxigraph", "rdflib_configuration": f"{tmp_path}/{{graph}}"}
    store = build(**settings)
    store.open()
    put(store, build_model_record("Room"), build_twin_record("a"))
    store.close()
    assert (tmp_path / "default").is_dir()
    again = build(**settings)
    again.open()
    with reading(again) as session:
        assert session.has_twin("a")
    assert list(again.verify()) == []
    again.close()


def test_a_store_that_rdflib_does_not_know_is_refused_with_those_it_knows() -> None:
    with pytest.raises(ConfigurationError, match="Oxigraph"):
        build(rdflib_store="Oxygraph").open()


def test_a_store_without_named_graphs_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="named graphs"):
        build(rdflib_store="SimpleMemory").open()
