"""Validation reports: what of the twins departs from their models, however many there are."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import rdflib
from rdflib import SH

from twinframe.errors import StorageBusy, Unsupported
from twinframe.storage.base import GraphStore, ModelRecord, RelationshipRecord, TwinRecord
from twinframe.storage.memory import MemoryStore
from twinframe.storage.triples import GRAPH_SYNTAXES, REPORT_JSON, TURTLE, Syntax
from twinframe.testing.contracts.base import put, reading, run
from twinframe.testing.factories import build_relationship_record, build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.plugin import RdfWriter
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.shacl import judge
from twinframe_storage_rdf.shacl import report as reports

pytest.importorskip("pyshacl", reason="pip install pyshacl to judge")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, by itself

NAMES = GraphNames("g", {"dtmi:test:Room;1": "https://example.org/ns#Room"})
SPACE, ROOM, PUMP = "dtmi:test:Space;1", "dtmi:test:Room;1", "dtmi:test:Pump;1"
FORMATS = {"ntriples": "nt", "nquads": "nquads", "trig": "trig", "jsonld": "json-ld"}


def build_model(model_id: str, position: int, *contents: Any, extends: str = "") -> ModelRecord:
    document = {
        "@id": model_id,
        "@type": "Interface",
        "@context": "dtmi:dtdl:context;3",
        "contents": list(contents),
        **({"extends": extends} if extends else {}),
    }
    parents = (extends,) if extends else ()
    body = orjson.dumps(document)
    return ModelRecord(model_id, body, b"{}", b"{}", parents, (), "2024", position=position)


AREA = {"@type": "Property", "name": "area", "schema": "double"}
STATE = {"@type": "Property", "name": "state", "schema": "string"}
HAS = {"@type": "Relationship", "name": "has", "target": SPACE}
MODELS = [
    build_model(SPACE, 1, AREA, HAS),
    build_model(ROOM, 2, STATE, extends=SPACE),
    build_model(PUMP, 3),
]


def build_twin(twin_id: str, model_id: str = ROOM, **members: Any) -> TwinRecord:
    twin = build_twin_record(twin_id, **members)
    document = orjson.loads(twin.body) | {"$metadata": {"$model": model_id}}
    return TwinRecord(twin_id, model_id, twin.etag, orjson.dumps(document))


def has(source: str, name: str, target: str) -> RelationshipRecord:
    return build_relationship_record(source, name, target)


def build_memory(_place: Path) -> GraphStore:
    return MemoryStore()


def build_rdflib(_place: Path) -> GraphStore:
    return build_store(RdfSettings(engine="rdflib", ontology=NAMES.ontology), "g")


def build_oxigraph(place: Path) -> GraphStore:
    directory = str(place / "rdf")
    return build_store(
        RdfSettings(directory=directory, idle_seconds=0.5, ontology=NAMES.ontology), "g"
    )


@pytest.fixture(params=[build_memory, build_rdflib, build_oxigraph], ids=lambda make: make.__name__)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    make: Callable[[Path], GraphStore] = request.param
    store = make(tmp_path)
    store.open()
    put(store, *MODELS)
    yield store
    store.close()
    store.remove(5)


@pytest.fixture
def memory() -> MemoryStore:
    store = MemoryStore()
    store.open()
    put(store, *MODELS)
    return store


def report(store: GraphStore, syntax: Syntax = REPORT_JSON, most: int = 100) -> bytes:
    with reading(store) as session, session.snapshot():
        return b"".join(RdfWriter(NAMES).write_report(session, syntax, most))


def results(store: GraphStore, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(report(store, **more))["results"]
    return sorted(found, key=lambda result: (result["twin"], str(result)))


def test_twins_that_keep_their_models_conform(store: GraphStore) -> None:
    put(store, *[build_twin(f"t{n}", area=n) for n in range(30)], build_twin("pump", PUMP))
    put(store, *[has(f"t{n}", "r", f"t{n * 7 % 30}") for n in range(30)])
    assert json.loads(report(store)) == {
        "results": [],
        "twins": 31,
        "whole": True,
        "conforms": True,
    }


def test_what_departs_is_told_with_twin_path_and_value(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_MOST_TWINS", 2)
    put(store, *[build_twin(f"t{n}", area=1.5) for n in range(9)])
    put(store, build_twin("t x/é", area="wide"), build_twin("t3 1", state=5), build_twin("p", PUMP))
    put(store, has("t1", "r", "t0"), has("t1", "s", "p"), has("t8", "r", "t3 1"))
    told = [
        {name: value for name, value in result.items() if name != "message"}
        for result in results(store)
    ]
    assert told == [
        {
            "twin": "t x/é",
            "property": "area",
            "value": "wide",
            "constraint": "OrConstraintComponent",
        },
        {
            "twin": "t1",
            "relationship": "has",
            "value": "p",
            "constraint": "ClassConstraintComponent",
        },
        {
            "twin": "t3 1",
            "property": "state",
            "value": 5,
            "constraint": "DatatypeConstraintComponent",
        },
    ]


@pytest.mark.parametrize("syntax", GRAPH_SYNTAXES, ids=lambda syntax: syntax.name)
def test_the_report_is_one_of_shacl_in_each_syntax(memory: MemoryStore, syntax: Syntax) -> None:
    put(memory, build_twin("a", area="wide"), build_twin("b", area=True))
    found = rdflib.Dataset(default_union=True)
    found.parse(data=report(memory, syntax), format=FORMATS.get(syntax.name, syntax.name))
    (one,) = found.subjects(rdflib.RDF.type, SH.ValidationReport)
    assert found.value(one, SH.conforms) == rdflib.Literal(False)
    values = {
        (str(found.value(result, SH.focusNode)), found.value(result, SH.value))
        for result in found.objects(one, SH.result)
    }
    assert values == {
        ("urn:twinframe:twin:a", rdflib.Literal("wide")),
        ("urn:twinframe:twin:b", rdflib.Literal(True)),
    }
    for result in found.objects(one, SH.result):
        assert str(found.value(result, SH.resultPath)) == "urn:twinframe:property:area"
        assert found.value(result, SH.sourceConstraintComponent) == SH.OrConstraintComponent
        assert found.value(result, SH.resultSeverity) == SH.Violation


def test_a_report_ends_at_the_most_results_and_says_so(memory: MemoryStore) -> None:
    put(memory, *[build_twin(f"t{n}", area="wide") for n in range(20)])
    found = json.loads(report(memory, most=5))
    assert (len(found["results"]), found["whole"], found["conforms"]) == (5, False, False)
    assert json.loads(report(memory, most=21))["whole"] is True


def test_a_twin_of_a_model_that_is_gone_is_judged_by_what_that_extended(
    memory: MemoryStore,
) -> None:
    put(memory, build_twin("t", area="wide", state=5))
    run(memory, lambda transaction: transaction.delete_models([ROOM]))
    assert [result["property"] for result in results(memory)] == ["area"]


def test_relationships_that_were_not_held_are_told(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_MOST_EDGES", 5)
    put(memory, *[build_twin(f"t{n:02}") for n in range(40)])
    put(memory, *[has("t00", f"r{n:02}", f"t{n:02}") for n in range(40)])
    (one,) = results(memory)
    assert (one["twin"], one["constraint"]) == ("t00", "RelationshipsHeldConstraintComponent")


def test_without_pyshacl_the_report_says_what_to_install(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unsupported, match=r"pip install 'twinframe-storage-rdf\[shacl\]'"):
        report(memory)


def test_a_judge_that_dies_is_an_error_and_leaves_nothing(memory: MemoryStore) -> None:
    with pytest.raises(StorageBusy), judge.start_judge("no triples") as started:
        started.judge("", {})
    assert started._process.returncode is not None


def test_a_report_that_nobody_reads_ends_its_process(memory: MemoryStore) -> None:
    put(memory, *[build_twin(f"t{n}", area="wide") for n in range(4)])
    with reading(memory) as session, session.snapshot():
        pieces = RdfWriter(NAMES).write_report(session, TURTLE, 10)
        next(pieces)
        del pieces
    with judge.start_judge("") as started:
        assert started.judge("", {}) == []
