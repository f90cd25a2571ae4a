"""What callers get, and what stays stored, when the store fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    PreconditionFailed,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    TwinNotFound,
)
from twinframe.graph import Graph
from twinframe.model.etags import parse_condition, parse_put_condition
from twinframe.testing.factories import FLOOR, ROOM, SENSOR
from twinframe.testing.faulty_store import Fault, FaultKind, FaultyStore

WARMER: Any = [{"op": "add", "path": "/temperature", "value": 2.0}]
CALMER: Any = [{"op": "add", "path": "/mode", "value": "x"}]
SENSOR_BODY: Any = {"$metadata": {"$model": SENSOR}}


def build_graph(world: Any, faults: Mapping[int, Fault]) -> Graph:
    return Graph(InlineRunner(FaultyStore(world.store, faults)), world.settings)


@pytest.mark.parametrize("kind", [FaultKind.REFUSE, FaultKind.ROLL_BACK])
@pytest.mark.parametrize("error", [StorageBusy("busy"), StorageFull("full"), StorageError("bad")])
def test_a_failed_write_changes_nothing_and_the_next_one_works(
    world: Any, kind: FaultKind, error: StorageError
) -> None:
    before = world.put("r", temperature=1.0)
    graph = build_graph(world, {1: Fault(kind, error)})
    with pytest.raises(type(error)):
        world.do(graph.twins.patch_twin("r", WARMER, parse_condition(before["$etag"])))
    assert world.read("r") == before
    world.do(graph.twins.patch_twin("r", WARMER, parse_condition(before["$etag"])))
    assert world.read("r")["temperature"] == 2.0


def test_a_lost_reply_is_told_by_the_etag_when_the_write_is_repeated(world: Any) -> None:
    before = world.put("r", temperature=1.0)
    graph = build_graph(world, {1: Fault(FaultKind.LOSE_REPLY), 3: Fault(FaultKind.LOSE_REPLY)})
    with pytest.raises(StorageBusy):
        world.do(graph.twins.patch_twin("r", WARMER, parse_condition(before["$etag"])))
    with pytest.raises(PreconditionFailed):
        world.do(graph.twins.patch_twin("r", WARMER, parse_condition(before["$etag"])))
    with pytest.raises(StorageBusy):
        world.do(graph.twins.put_twin("s", SENSOR_BODY, parse_put_condition(None, "*")))
    with pytest.raises(PreconditionFailed):
        world.do(graph.twins.put_twin("s", SENSOR_BODY, parse_put_condition(None, "*")))


def test_works_that_run_twice_have_the_effect_of_one(world: Any) -> None:
    """A store may run a work again; documents and patches of the caller must not be used up."""
    graph = build_graph(world, {n: Fault(FaultKind.RUN_TWICE) for n in range(1, 100)})
    document: Any = {"$metadata": {"$model": ROOM}, "thermostat": {"setPoint": 1.0}, "tags": {}}
    patch: Any = [
        {"op": "add", "path": "/readings", "value": []},
        {"op": "add", "path": "/readings/-", "value": 1.0},
        {"op": "replace", "path": "/thermostat", "value": {"mode": "x"}},
        {"op": "add", "path": "/thermostat/setPoint", "value": 2.0},
    ]
    stored = world.do(graph.twins.put_twin("r", document, parse_put_condition(None, "*")))
    assert world.read("r")["$etag"] == stored.etag
    assert document["thermostat"] == {"setPoint": 1.0}
    world.do(graph.twins.patch_twin("r", patch, parse_condition(stored.etag)))
    world.do(graph.components.patch_component("r", "thermostat", CALMER))
    twin = world.read("r")
    assert twin["readings"] == [1.0]
    assert (twin["thermostat"]["mode"], twin["thermostat"]["setPoint"]) == ("x", 2.0)
    assert patch[0]["value"] == []
    assert patch[2]["value"] == {"mode": "x"}

    world.do(graph.twins.put_twin("s", SENSOR_BODY))
    body: Any = {"$relationshipName": "watchedBy", "$targetId": "s"}
    world.do(graph.relationships.put_relationship("r", "e", body, parse_put_condition(None, "*")))
    world.do(graph.relationships.patch_relationship("r", "e", []))
    world.do(graph.relationships.delete_relationship("r", "e"))
    world.do(graph.twins.delete_twin("s"))
    with pytest.raises(TwinNotFound):
        world.read("s")
    world.do(graph.models.delete_model(SENSOR))
    upload: Any = [{"@id": SENSOR, "@type": "Interface", "@context": "dtmi:dtdl:context;3"}]
    assert len(world.do(graph.models.create_models(upload))) == 1
    world.do(graph.models.delete_all_models())


def test_a_stored_model_that_cannot_be_read_is_damage_and_not_the_callers_fault(world: Any) -> None:
    record = world.store.session().read_model(FLOOR)

    def spoil(transaction: Any) -> None:
        transaction.delete_models([FLOOR])
        transaction.put_models([type(record)(**{**fields(record), "document": b'{"@id":1}'})])

    world.store.write([spoil])
    with pytest.raises(StorageDamaged, match=FLOOR):
        world.put("f", FLOOR)


def fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}
