"""Transactions: all operations in order, or none; an error names its operation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    OperationRefused,
    PreconditionFailed,
    StorageBusy,
    TwinframeError,
)
from twinframe.graph import Graph
from twinframe.graph.twins.transactions import OPERATION_NAMES
from twinframe.settings import Settings, StorageSettings
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import FLOOR, ROOM, build_twin_document
from twinframe.testing.faulty_store import Fault, FaultKind, FaultyStore

OTHER = 'W/"00000000-0000-0000-0000-000000000000"'


def put_twin(twin_id: str, model: str = ROOM, **members: Any) -> dict[str, Any]:
    document = build_twin_document(model, **members)
    return {"op": "putTwin", "twinId": twin_id, "document": document}


def patch_twin(twin_id: str, path: str, value: Any, **more: Any) -> dict[str, Any]:
    patch = [{"op": "add", "path": path, "value": value}]
    return {"op": "patchTwin", "twinId": twin_id, "patch": patch, **more}


def delete_twin(twin_id: str, **more: Any) -> dict[str, Any]:
    return {"op": "deleteTwin", "twinId": twin_id, **more}


def put_edge(source: str, relationship_id: str, target: str, **more: Any) -> dict[str, Any]:
    document = {"$relationshipName": "watchedBy" if more else "relatedTo", "$targetId": target}
    key = {"sourceId": source, "relationshipId": relationship_id}
    return {"op": "putRelationship", **key, "document": {**document, **more}}


async def transact(graph: Graph, *operations: Any) -> Sequence[str | None]:
    return await graph.transactions.run(
        await graph.transactions.parse({"operations": list(operations)})
    )


def refused(world: Any, *operations: Any, graph: Graph | None = None) -> OperationRefused:
    with pytest.raises(OperationRefused) as caught:
        world.do(transact(graph or world.graph, *operations))
    return caught.value


def test_every_operation_sees_what_those_before_it_left(world: Any) -> None:
    etags = world.do(
        transact(
            world.graph,
            put_twin("a", temperature=1.0),
            put_twin("b"),
            put_edge("a", "r", "b"),
            patch_twin("a", "/temperature", 2.0),
            {
                "op": "patchComponent",
                "twinId": "a",
                "component": "thermostat",
                "patch": [{"op": "add", "path": "/mode", "value": "x"}],
            },
            put_edge("b", "s", "a"),
            {"op": "deleteRelationship", "sourceId": "a", "relationshipId": "r"},
            {"op": "deleteRelationship", "sourceId": "b", "relationshipId": "s"},
            delete_twin("b"),
        )
    )
    assert [etag is None for etag in etags] == [False] * 6 + [True] * 3
    stored = world.read("a")
    assert (stored["temperature"], stored["thermostat"]["mode"]) == (2.0, "x")
    assert stored["$etag"] == etags[4]
    with pytest.raises(TwinframeError):
        world.read("b")


def test_relationships_are_patched_in_one_too(world: Any) -> None:
    world.put("a")
    world.put("s", "dtmi:com:example:Sensor;1")
    key = {"sourceId": "a", "relationshipId": "r"}
    patch = [{"op": "replace", "path": "/since", "value": "2025-01-01"}]
    etags = world.do(
        transact(
            world.graph,
            put_edge("a", "r", "s", since="2024-01-01"),
            {"op": "patchRelationship", **key, "patch": patch},
        )
    )
    stored = world.do(world.graph.relationships.read_relationship("a", "r"))
    assert stored.etag == etags[1] != etags[0]
    assert orjson.loads(stored.body)["since"] == "2025-01-01"


def test_an_error_names_its_operation_and_undoes_the_whole(world: Any) -> None:
    before = world.put("a", temperature=1.0)
    error = refused(
        world,
        patch_twin("a", "/temperature", 2.0),
        put_twin("new"),
        patch_twin("missing", "/temperature", 2.0),
        delete_twin("a"),
    )
    assert (error.index, error.name, error.code) == (2, "patchTwin", "DigitalTwinNotFound")
    assert error.message.startswith("Operation 2 (patchTwin): ")
    assert world.read("a") == before
    with pytest.raises(TwinframeError):
        world.read("new")


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (patch_twin("a", "/temperature", "hot"), "ValidationFailed"),
        (patch_twin("a", "/$etag", "x"), "JsonPatchInvalid"),
        (patch_twin("a", "/temperature", 2.0, ifMatch=OTHER), "PreconditionFailed"),
        (delete_twin("a", ifMatch=OTHER), "PreconditionFailed"),
        (delete_twin("a"), "RelationshipsNotDeleted"),
        ({**put_twin("a"), "ifNoneMatch": "*"}, "PreconditionFailed"),
        ({**put_edge("a", "r", "b"), "ifNoneMatch": "*"}, "PreconditionFailed"),
        (put_edge("a", "s", "missing"), "TargetDigitalTwinNotFound"),
        (put_edge("a", "s", "a"), "OperationNotAllowed"),
        (
            {"op": "deleteRelationship", "sourceId": "a", "relationshipId": "x"},
            "RelationshipNotFound",
        ),
    ],
)
def test_an_operation_is_refused_for_what_its_single_call_is(
    world: Any, operation: Any, code: str
) -> None:
    world.put("a")
    world.put("b", FLOOR)
    world.relate("a", "r", "b")
    before = world.read("b")
    error = refused(world, patch_twin("b", "/level", 3), operation)
    assert (error.index, error.code, error.reason.code) == (1, code, code)
    assert world.read("b") == before


def read_events(world: Any) -> list[str]:
    session = world.store.session()
    found = [event.subject for _, event in session.read_events(after=0, limit=1000)]
    session.close()
    return found


def test_every_operation_has_its_event_and_a_refused_transaction_has_none(world: Any) -> None:
    world.put("a")
    before = read_events(world)
    change = patch_twin("a", "/temperature", 2.0)
    refused(world, change, put_twin("b"), put_edge("a", "r", "b"), delete_twin("b"))
    assert read_events(world) == before
    world.do(transact(world.graph, change, put_twin("b"), put_edge("a", "r", "b"), change))
    assert read_events(world)[len(before) :] == ["a", "b", "a", "a"]


def test_an_etag_of_before_the_transaction_is_stale_behind_a_change_in_it(world: Any) -> None:
    before = world.put("a", temperature=1.0)
    change = patch_twin("a", "/temperature", 2.0, ifMatch=before["$etag"])
    error = refused(world, change, change)
    assert (error.index, error.code) == (1, "PreconditionFailed")
    assert world.read("a") == before
    world.do(transact(world.graph, change))


def test_an_empty_transaction_changes_nothing(world: Any) -> None:
    assert world.do(transact(world.graph)) == []


@pytest.mark.parametrize(
    ("operation", "hint"),
    [
        ({"op": "patchTwins"}, "deleteRelationship; did you mean patchTwin?"),
        ({"op": "?"}, "deleteRelationship."),
        ({"op": 7}, "deleteRelationship."),
        ({}, "op must be one of"),
        ("x", "JSON object"),
        (None, "JSON object"),
        ({"op": "deleteTwin"}, "twinId is needed"),
        ({"op": "deleteTwin", "twinId": 7}, "twinId is needed"),
        ({"op": "putTwin", "twinId": "a"}, "document is needed"),
        ({"op": "patchTwin", "twinId": "a"}, "patch is needed"),
        (
            {"op": "deleteTwin", "twinId": "a", "ifmatch": "*"},
            "It has no member 'ifmatch', only twinId, ifMatch; did you mean ifMatch?",
        ),
        ({"op": "deleteTwin", "twinId": "a", "ifMatch": 7}, "ifMatch must be a string"),
        ({"op": "deleteTwin", "twinId": "a", "ifMatch": "x"}, "Invalid If-Match"),
        ({"op": "deleteTwin", "twinId": "a", "x" * 10_000: 1}, "It has no member"),
    ],
)
def test_what_is_no_operation_is_refused_before_anything_runs(
    world: Any, operation: Any, hint: str
) -> None:
    error = refused(world, put_twin("a"), operation)
    assert error.index == 1
    assert error.code == "InvalidArgument"
    assert hint in error.message
    assert not error.message.endswith("?.")
    assert len(error.message) < 1000


def test_every_operation_refuses_members_it_does_not_know(world: Any) -> None:
    for name in OPERATION_NAMES:
        error = refused(world, {"op": name, "unknown": 1})
        assert "It has no member 'unknown'" in error.message
        assert error.message.endswith(".")


@pytest.mark.parametrize(
    "body", [[], {}, None, "x", {"operations": {}}, {"operations": [], "more": 1}]
)
def test_a_body_of_another_form_is_refused(world: Any, body: Any) -> None:
    with pytest.raises(InvalidArgument, match="operations"):
        world.do(world.graph.transactions.parse(body))


def build_graph(store: Any, **bulk: Any) -> Graph:
    return Graph(InlineRunner(store), Settings.model_validate({"bulk": bulk}))


def test_more_operations_than_the_limit_are_refused(world: Any) -> None:
    graph = build_graph(world.store, max_operations=1)
    with pytest.raises(LimitExceeded, match="Bulk__MaxOperations"):
        world.do(transact(graph, put_twin("a"), put_twin("b")))


def test_more_bytes_than_the_limit_are_refused_and_undone(world: Any) -> None:
    before = world.put("a", name="x" * 1000)
    graph = build_graph(world.store, max_transaction_bytes=10_000)
    patches = [patch_twin("a", "/temperature", float(at)) for at in range(20)]
    error = refused(world, *patches, graph=graph)
    assert error.code == "LimitExceeded"
    assert 0 < error.index < 10
    assert "Bulk__MaxTransactionBytes" in error.message
    assert world.read("a") == before


def test_many_operations_are_parsed_beside_the_loop_with_equal_results(world: Any) -> None:
    etags = world.do(transact(world.graph, *(put_twin(f"t{at}") for at in range(220))))
    assert len(set(etags)) == 220
    bad = [*(put_twin(f"t{at}") for at in range(220)), {"op": "x"}]
    assert refused(world, *bad).index == 220


def test_a_store_that_fails_changes_nothing(world: Any) -> None:
    before = world.put("a", temperature=1.0)
    fault = {1: Fault(FaultKind.ROLL_BACK, StorageBusy("busy"))}
    graph = Graph(InlineRunner(FaultyStore(world.store, fault)), Settings())
    with pytest.raises(StorageBusy):
        world.do(transact(graph, patch_twin("a", "/temperature", 2.0), put_twin("b")))
    assert world.read("a") == before


def test_of_transactions_that_race_with_one_etag_exactly_one_wins(world: Any) -> None:
    """Two twins are counted up together, by etags that were read before: they never differ."""
    world.put("a", temperature=0.0)
    world.put("b", temperature=0.0)
    wins = 0
    losses: list[tuple[int, type[TwinframeError]]] = []

    async def count_up(graph: Graph) -> None:
        nonlocal wins
        for _ in range(12):
            read = [await graph.twins.read_twin(twin_id) for twin_id in "ab"]
            changes = []
            for twin_id, stored in zip("ab", read, strict=True):
                value = orjson.loads(stored.body)["temperature"] + 1
                changes.append(patch_twin(twin_id, "/temperature", value, ifMatch=stored.etag))
            try:
                await transact(graph, *changes)
                wins += 1
            except OperationRefused as error:
                losses.append((error.index, type(error.reason)))

    async def run() -> None:
        runner = StoreRunner(world.store, StorageSettings())
        graph = Graph(runner, Settings())
        await asyncio.gather(*(count_up(graph) for _ in range(6)))
        await runner.close()

    world.do(run())
    counted = [world.read(twin_id)["temperature"] for twin_id in "ab"]
    assert counted == [wins, wins]
    # Both etags are stale or none is, and the first is looked at first.
    assert losses == [(0, PreconditionFailed)] * (72 - wins)
    assert losses  # or nothing was raced for
