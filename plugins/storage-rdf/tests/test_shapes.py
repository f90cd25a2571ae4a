"""SHACL shapes say of exported graphs what the models say of their twins; pyshacl is the judge."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import orjson
import pytest
import rdflib

from twinframe.storage.base import ModelRecord
from twinframe.storage.memory import MemoryStore
from twinframe.storage.triples import N_TRIPLES, TURTLE, Content
from twinframe.testing.contracts.base import put
from twinframe.testing.factories import build_relationship_record, build_twin_record
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.plugin import RdfWriter

pyshacl = pytest.importorskip("pyshacl", reason="pip install pyshacl to judge the shapes")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, by itself

NAMES = GraphNames("g", {"dtmi:test:Room;1": "https://example.org/ns#Room"})
SPACE, ROOM, HVAC = "dtmi:test:Space;1", "dtmi:test:Room;1", "dtmi:test:Hvac;1"
CONTEXT = "dtmi:dtdl:context;3"


def prop(name: str, schema: Any) -> dict[str, Any]:
    return {"@type": "Property", "name": name, "schema": schema}


MODELS: list[dict[str, Any]] = [
    {
        "@id": SPACE,
        "@type": "Interface",
        "@context": CONTEXT,
        "contents": [
            prop("area", "double"),
            prop("name", "string"),
            {"@type": "Relationship", "name": "has", "target": SPACE},
        ],
    },
    {"@id": HVAC, "@type": "Interface", "@context": CONTEXT, "contents": [prop("power", "long")]},
    {
        "@id": ROOM,
        "@type": "Interface",
        "@context": CONTEXT,
        "extends": SPACE,
        "contents": [
            prop("open", "boolean"),
            prop(
                "state",
                {
                    "@type": "Enum",
                    "valueSchema": "string",
                    "enumValues": [{"name": "on", "enumValue": "on"}],
                },
            ),
            prop(
                "size",
                {"@type": "Object", "fields": [{"name": "height", "schema": "integer"}]},
            ),
            prop("tags", {"@type": "Array", "elementSchema": "string"}),
            {"@type": "Component", "name": "hvac", "schema": HVAC},
        ],
    },
]
HVAC_PART = {"$metadata": {}, "power": 300}
GOOD = {
    "area": 20,
    "name": "A",
    "open": True,
    "state": "on",
    "size": {"height": 3},
    "tags": ["x"],
    "hvac": HVAC_PART,
}


def build_record(document: dict[str, Any], position: int) -> ModelRecord:
    extends = (document["extends"],) if "extends" in document else ()
    parts = (HVAC,) if document["@id"] == ROOM else ()
    body = orjson.dumps(document)
    return ModelRecord(
        document["@id"], body, b"{}", b"{}", extends, parts, "2024-01-01", position=position
    )


def build_bare(document: dict[str, Any], position: int) -> ModelRecord:
    """A record that the store links to no other."""
    body = orjson.dumps(document)
    return ModelRecord(document["@id"], body, b"{}", b"{}", (), (), "2024-01-01", position=position)


def judge(room: dict[str, Any], target: str = "t") -> tuple[bool, set[str]]:
    """Whether a graph with this room conforms, and the paths that do not."""
    store = MemoryStore()
    store.open()
    put(store, *[build_record(model, at) for at, model in enumerate(MODELS)])
    twin = build_twin_record("t", **room)
    record = type(twin)("t", ROOM, twin.etag, twin.body)
    other = type(twin)("other", HVAC, twin.etag, b'{"$dtId":"other","power":1}')
    put(store, record, other, build_relationship_record("t", "r", target))
    session = store.session()
    writer = RdfWriter(NAMES)
    data = rdflib.Graph().parse(
        data=b"".join(writer.write_graph(session, N_TRIPLES, Content.ALL)), format="nt"
    )
    shapes = rdflib.Graph().parse(
        data=b"".join(writer.write_shapes(session, TURTLE)), format="turtle"
    )
    conforms, report, _ = pyshacl.validate(data, shacl_graph=shapes, inference="none")
    paths = {str(path) for path in report.objects(None, rdflib.SH.resultPath)}
    return conforms, paths


@pytest.mark.parametrize("area", [20, 20.5, 1e300])
def test_a_graph_that_keeps_its_models_conforms(area: float) -> None:
    assert judge({**GOOD, "area": area}) == (True, set())


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"area": "large"}, "area"),
        ({"name": 5}, "name"),
        ({"open": "yes"}, "open"),
        ({"state": "off"}, "state"),
        ({"size": 3}, "size"),
        ({"size": {"height": 3.5}}, "size/height"),
        ({"tags": "x"}, "tags"),
        ({"hvac": {"$metadata": {}, "power": "much"}}, "hvac/power"),
        ({"hvac": None}, "hvac"),
    ],
)
def test_what_departs_from_the_model_is_found_at_its_path(
    change: dict[str, Any], path: str
) -> None:
    assert judge({**GOOD, **change}) == (False, {f"urn:twinframe:property:{path}"})


def test_a_relationship_to_a_twin_of_another_model_is_found() -> None:
    assert judge(GOOD, "other") == (False, {"urn:twinframe:edge:has"})


def test_the_models_of_the_field_have_shapes_that_can_be_read() -> None:
    named = os.environ.get("TWINFRAME_REC_MODELS")
    file = Path(named or Path(__file__).parents[4] / "shared/data/rec-building-models.jsonl.gz")
    if not file.exists():
        pytest.skip(f"TWINFRAME_REC_MODELS is not set and there is no {file}")
    with gzip.open(file) as lines:
        models = [orjson.loads(line) for line in lines]
    store = MemoryStore()
    store.open()
    put(store, *[build_bare(one, at) for at, one in enumerate(models)])
    written = b"".join(RdfWriter(NAMES).write_shapes(store.session(), N_TRIPLES)).decode()
    assert written.count("shacl#NodeShape") == len(models)
