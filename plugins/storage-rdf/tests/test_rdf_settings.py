"""Settings of RDF storage that cannot work are refused before anything is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from twinframe.errors import ConfigurationError
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.factories import build_model_id, build_model_record, build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings

PUBLIC = "https://w3id.org/rec#Room"


@pytest.mark.parametrize(
    "settings",
    [
        {"engine": "sparql"},
        {"engine": "sparql", "query_url": "http://far.example/q", "authentication": "basic"},
        {"engine": "sparql", "query_url": "http://far.example/q", "authentication": "bearer"},
        {"engine": "sparql", "query_url": "far.example/q"},
        {"engine": "sparql", "query_url": "ftp://far.example/q"},
        {"engine": "sparql", "query_url": "http://far.example:port/q"},
        {"engine": "sparql", "query_url": "https://far.example/q", "update_url": "/update"},
        {"engine": "sparql", "query_url": "http://me:secret@far.example/q"},
        {"ontology": {"dtmi:a;1": PUBLIC, "dtmi:b;1": PUBLIC}},
        {"engine": "other"},
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RdfSettings(**settings)


def test_a_refusal_of_an_address_names_the_setting_and_no_password() -> None:
    with pytest.raises(ValidationError, match="UpdateUrl must name no user") as refusal:
        RdfSettings(
            engine="sparql",
            query_url="https://far.example/q",
            update_url="https://me:secret@far.example/u",
        )
    assert "secret" not in str(refusal.value.errors()[0]["msg"])


def test_a_model_may_be_named_by_a_public_ontology(tmp_path: Path) -> None:
    room = build_model_id("Room")
    settings = RdfSettings(directory=str(tmp_path), in_process=True, ontology={room: PUBLIC})
    store = build_store(settings, "g")
    store.open()
    put(store, build_model_record("Space"), build_model_record("Room", extends=["Space"]))
    put(store, build_twin_record("a", model="Room"))
    with reading(store) as session:
        assert session.read_twin_model("a") == room
        assert session.read_descendants(build_model_id("Space")) == {room, build_model_id("Space")}
        (node,) = session.scan_nodes(None)
        assert "Room" in node.labels
    assert list(store.verify()) == []
    store.close()

    other = build_store(RdfSettings(directory=str(tmp_path), in_process=True), "g")
    with pytest.raises(ConfigurationError, match="another mapping"):
        other.open()
