"""Bulk writes: each item by itself, in order, a bounded group a commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    MemoryExhausted,
    QuotaExceeded,
    StorageBusy,
    StorageFull,
    TwinframeError,
)
from twinframe.graph import Graph
from twinframe.graph.twins import bulk, changes
from twinframe.model.etags import parse_put_condition
from twinframe.settings import Settings
from twinframe.storage.base import GraphTransaction
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import (
    FLOOR,
    ROOM,
    SENSOR,
    build_building_interfaces,
    build_twin_document,
)
from twinframe.testing.faulty_store import Fault, FaultKind, FaultyStore


def twin(twin_id: Any, model: str = ROOM, **members: Any) -> dict[str, Any]:
    return {"$dtId": twin_id, **build_twin_document(model, **members)}


def edge(source: Any, relationship_id: Any, target: str, **members: Any) -> dict[str, Any]:
    ends = {"$sourceId": source, "$relationshipId": relationship_id, "$targetId": target}
    return {**ends, "$relationshipName": "relatedTo", **members}


def codes(results: Sequence[Any]) -> list[str | None]:
    return [None if result.error is None else result.error.code for result in results]


class CountingRunner(InlineRunner):
    """Counts the works and lets something be done before each of them."""

    def __init__(self, store: Any, before: Callable[[int], None] = lambda _at: None) -> None:
        super().__init__(store)
        self.works = 0
        self._before = before

    async def write(self, work: Any, *, alone: bool = False) -> Any:
        self._before(self.works)
        self.works += 1
        return await super().write(work, alone=alone)


def test_twins_are_put_with_their_components_and_tell_their_etags(world: Any) -> None:
    documents: Any = [
        twin("a", temperature=1.0, thermostat={"mode": "x", "$metadata": {}}),
        twin("b", SENSOR),
    ]
    results = world.do(world.graph.bulk.put_twins(documents))
    assert codes(results) == [None, None]
    assert [result.key for result in results] == [("a",), ("b",)]
    assert [world.read("a")["$etag"], world.read("b")["$etag"]] == [r.etag for r in results]
    assert world.read("a")["thermostat"]["mode"] == "x"


def test_what_one_item_is_refused_for_does_not_concern_the_others(world: Any) -> None:
    results = world.do(
        world.graph.bulk.put_twins(
            [
                twin("a"),
                "no object",
                {"$metadata": {"$model": ROOM}},
                twin(7),
                twin("bad id?\u0000"),
                twin("c", temperature="hot"),
                twin("d", "dtmi:com:example:Unknown;1"),
                {"$dtId": "e"},
                twin("f", FLOOR),
            ]
        )
    )
    assert codes(results) == [
        None,
        *["InvalidArgument"] * 4,
        *["ValidationFailed"] * 3,
        None,
    ]
    assert [result.key for result in results[:4]] == [("a",), (None,), (None,), (None,)]
    assert [result.etag is None for result in results] == [c is not None for c in codes(results)]
    world.read("a")
    world.read("f")
    for absent in ("c", "d", "e"):
        with pytest.raises(TwinframeError):
            world.read(absent)


def test_refused_items_have_no_event(world: Any) -> None:
    documents: Any = [twin("a"), twin("b", temperature="hot"), twin("c"), twin("a")]
    world.do(world.graph.bulk.put_twins(documents))
    session = world.store.session()
    found = [event.subject for _, event in session.read_events(after=0, limit=1000)]
    session.close()
    assert [subject for subject in found if not subject.startswith("dtmi:")] == ["a", "c", "a"]


def test_of_two_items_with_one_id_the_later_stays(world: Any) -> None:
    results = world.do(
        world.graph.bulk.put_twins([twin("a", temperature=1.0), twin("a", temperature=2.0)])
    )
    assert codes(results) == [None, None]
    stored = world.read("a")
    assert (stored["temperature"], stored["$etag"]) == (2.0, results[1].etag)


def test_with_if_none_match_nothing_is_replaced(world: Any) -> None:
    before = world.put("a", temperature=1.0)
    documents: Any = [twin("a"), twin("b"), twin("b", temperature=2.0)]
    results = world.do(world.graph.bulk.put_twins(documents, parse_put_condition(None, "*")))
    assert codes(results) == ["PreconditionFailed", None, "PreconditionFailed"]
    assert world.read("a") == before
    assert "temperature" not in world.read("b")
    with pytest.raises(InvalidArgument):
        world.do(world.graph.bulk.put_twins([], parse_put_condition(None, 'W/"x"')))


def test_relationships_are_put_each_by_its_source_and_id(world: Any) -> None:
    world.put("a")
    world.put("b")
    results = world.do(
        world.graph.bulk.put_relationships(
            [
                edge("a", "r", "b"),
                edge("b", "r", "a"),
                edge("a", "s", "missing"),
                edge("missing", "s", "a"),
                edge("a", "t", "b", **{"$relationshipName": "unknown"}),
                edge(None, "t", "b"),
                edge("a", "r", "b", **{"$relationshipName": "relatedTo"}),
            ]
        )
    )
    assert codes(results) == [
        None,
        None,
        "TargetDigitalTwinNotFound",
        "DigitalTwinNotFound",
        "InvalidRelationship",
        "InvalidArgument",
        None,
    ]
    assert results[5].key == (None, "t")
    stored = world.do(world.graph.relationships.read_relationship("a", "r"))
    assert stored.etag == results[6].etag


@pytest.mark.parametrize("body", [{}, "x", None, 7, {"value": []}])
def test_a_body_that_is_no_array_is_refused(world: Any, body: Any) -> None:
    for put in (world.graph.bulk.put_twins, world.graph.bulk.put_relationships):
        with pytest.raises(InvalidArgument, match="array"):
            world.do(put(body))


def build_graph(store: Any, **bulk: Any) -> tuple[Graph, CountingRunner]:
    runner = CountingRunner(store)
    return Graph(runner, Settings.model_validate({"bulk": bulk})), runner


def test_more_items_than_the_limit_are_refused_whole(world: Any) -> None:
    graph, runner = build_graph(world.store, max_items=2)
    with pytest.raises(LimitExceeded, match="Bulk__MaxItems"):
        world.do(graph.bulk.put_twins([twin("a"), twin("b"), twin("c")]))
    assert runner.works == 0


def test_items_are_committed_in_groups_of_the_setting(world: Any) -> None:
    graph, runner = build_graph(world.store, group_items=3)
    results = world.do(graph.bulk.put_twins([twin(f"t{at}") for at in range(7)]))
    assert codes(results) == [None] * 7
    assert runner.works == 3


def test_a_group_ends_with_so_many_bytes_of_documents(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "_GROUP_BYTES", 1)
    graph, runner = build_graph(world.store, group_items=3)
    results = world.do(graph.bulk.put_twins([twin(f"t{at}") for at in range(7)]))
    assert codes(results) == [None] * 7
    assert runner.works == 7


def test_a_group_without_memory_for_it_is_not_kept_in_part(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = changes.write_twin

    def write_twin(context: Any, transaction: Any, document: Any, *more: Any) -> Any:
        stored = write(context, transaction, document, *more)
        if document["$dtId"] == "t4":
            raise MemoryExhausted("writes", "Memory__Writes")
        return stored

    monkeypatch.setattr("twinframe.graph.twins.twins.write_twin", write_twin)
    graph, _ = build_graph(world.store, group_items=3)
    results = world.do(graph.bulk.put_twins([twin(f"t{at}") for at in range(7)]))
    assert codes(results) == [None] * 3 + ["MemoryExhausted"] * 4
    for absent in ("t3", "t4"):
        with pytest.raises(TwinframeError):
            world.read(absent)


def test_a_store_that_fails_at_once_fails_the_call(world: Any) -> None:
    store = FaultyStore(world.store, {1: Fault(FaultKind.REFUSE, StorageBusy("busy"))})
    graph, _ = build_graph(store, group_items=1)
    with pytest.raises(StorageBusy):
        world.do(graph.bulk.put_twins([twin("a"), twin("b")]))


def test_a_store_that_fails_later_leaves_what_was_stored_and_says_so(world: Any) -> None:
    store = FaultyStore(world.store, {2: Fault(FaultKind.ROLL_BACK, StorageFull("full"))})
    graph, runner = build_graph(store, group_items=2)
    results = world.do(graph.bulk.put_twins([twin(f"t{at}") for at in range(7)]))
    assert codes(results) == [None, None, *[StorageFull.code] * 5]
    assert runner.works == 2  # the rest is not tried
    world.read("t1")
    for absent in ("t2", "t6"):
        with pytest.raises(TwinframeError):
            world.read(absent)


class QuotaOfTwins(InlineRunner):
    """Undoes each work that leaves more twins than `most`."""

    def __init__(self, store: Any, most: int) -> None:
        super().__init__(store)
        self._most = most

    async def write(self, work: Any, *, alone: bool = False) -> Any:
        def bound(transaction: GraphTransaction) -> Any:
            result = work(transaction)
            if transaction.count_twins() > self._most:
                raise QuotaExceeded("full", quota="twins", limit=self._most, used=self._most)
            return result

        return await super().write(bound, alone=alone)


def test_a_group_beyond_a_quota_is_stored_as_far_as_it_goes(world: Any) -> None:
    graph = Graph(QuotaOfTwins(world.store, 3), Settings())
    names = ("a", "b", "a", "c", "d")
    documents: Any = [*map(twin, names), twin("b", temperature=2.0)]
    results = world.do(graph.bulk.put_twins(documents))
    assert codes(results) == [None, None, None, None, "QuotaExceeded", None]
    assert world.read("b")["temperature"] == 2.0


ITEMS = st.one_of(
    st.builds(
        twin,
        st.sampled_from(["a", "b", "c", "", "x" * 200, 3, None]),
        st.sampled_from([ROOM, ROOM, FLOOR, "dtmi:com:example:Unknown;1"]),
        temperature=st.sampled_from([1.0, 2, "hot"]),
    ),
    st.sampled_from(["x", None, {}, [], {"$dtId": "a"}]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ITEMS, max_size=8), st.sampled_from([None, "*"]), st.integers(1, 4))
def test_a_bulk_write_equals_the_single_ones(
    items: list[Any], if_none_match: str | None, group: int
) -> None:
    async def put_singly(graph: Graph) -> list[str | None]:
        told: list[str | None] = []
        for item in items:
            try:
                twin_id = item.get("$dtId") if isinstance(item, dict) else None
                if not isinstance(twin_id, str):
                    raise InvalidArgument("it has no id")
                await graph.twins.put_twin(twin_id, item, parse_put_condition(None, if_none_match))
                told.append(None)
            except TwinframeError as error:
                told.append(error.code)
        return told

    async def read(graph: Graph) -> list[bytes | None]:
        found: list[bytes | None] = []
        for twin_id in "abc":
            try:
                stored = await graph.twins.read_twin(twin_id)
                found.append(stored.body.replace(stored.etag[2:].strip('"').encode(), b""))
            except TwinframeError:
                found.append(None)
        return found

    async def run() -> None:
        sections = Settings.model_validate({"bulk": {"group_items": group}})
        graphs = [
            Graph(InlineRunner(MemoryStore()), sections, clock=lambda: 10**18) for _ in range(2)
        ]
        for graph in graphs:
            await graph.models.create_models(build_building_interfaces())  # type: ignore[arg-type]
        assert codes(
            await graphs[0].bulk.put_twins(items, parse_put_condition(None, if_none_match))
        ) == await put_singly(graphs[1])
        assert await read(graphs[0]) == await read(graphs[1])

    asyncio.run(run())
