"""Definitions of derived properties: what is refused, what callers may write, how they go on."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.derived_world import AREA, DERIVATIONS, MODELS, PLACE, ROOM, SENSOR, DerivedWorld
from tests.unit.graph.conftest import find_engine
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    DerivationInvalid,
    DerivationNotFound,
    DerivedPropertyReadOnly,
    InvalidArgument,
    LimitExceeded,
    PreconditionFailed,
    QueryTimeout,
    TwinframeError,
)
from twinframe.graph.derivations import keeper, writing
from twinframe.graph.derivations.computing import Computing
from twinframe.graph.events.rows import parse_row
from twinframe.model.etags import parse_put_condition
from twinframe.model.pages import PageRequest
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore

ROOMS = {"match": "(this)-[:contains]->(r:Room)"}
OWN = {"@type": "Property", "name": "own", "schema": "double"}
MEAN = {"model": AREA, "property": "mean", **ROOMS, "value": "avg(r.own)"}


@pytest.fixture
def world(store: GraphStore) -> Iterator[DerivedWorld]:
    world = DerivedWorld(InlineRunner(store), find_engine(store))
    yield world
    world.close()


def put(world: DerivedWorld, twin_id: str, model: str, **members: Any) -> Any:
    document = {"$metadata": {"$model": model}, **members}
    stored = world.do(world.graph.twins.put_twin(twin_id, document))
    return orjson.loads(stored.body)


def patch(world: DerivedWorld, twin_id: str, path: str, value: Any) -> None:
    operation = {"op": "add", "path": path, "value": value}
    world.do(world.graph.twins.patch_twin(twin_id, [operation]))


def read(world: DerivedWorld, twin_id: str) -> Any:
    return orjson.loads(world.do(world.graph.twins.read_twin(twin_id)).body)


def relate(world: DerivedWorld, source: str, target: str, name: str = "contains") -> None:
    body: Any = {"$relationshipName": name, "$targetId": target}
    world.do(world.graph.relationships.put_relationship(source, f"{source}-{target}", body))


def build_area(world: DerivedWorld, rooms: int = 2) -> None:
    """An area with rooms whose own values are 1, 2, ..."""
    put(world, "a", AREA)
    for number in range(1, rooms + 1):
        put(world, f"r{number}", ROOM, own=float(number))
        relate(world, "a", f"r{number}")


def find_state(world: DerivedWorld, derivation_id: str) -> Any:
    return world.do(world.graph.derivations.read(derivation_id))


# --- definitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "max(r['me' + 'an']) + 1",
        "max(properties(r).mean) + 1",
        "max(r{.*}.mean) + 1",
        "max(reduce(s = 0.0, k IN keys(r) | s + 1.0))",
        "max([x IN [r] | x.mean + 1][0])",
        "max(CASE WHEN r = r THEN r END.mean) + 1",
        "max(coalesce(r, r).mean) + 1",
        "max(toFloat(size(toString(properties(r)))))",
    ],
)
def test_a_value_cannot_feed_itself_however_it_is_read(world: DerivedWorld, value: str) -> None:
    """Such a value would be computed and written for ever."""
    document = {"model": AREA, "property": "mean", "match": "(this)-->(r)", "value": value}
    with pytest.raises(DerivationInvalid, match="It depends on its own values: d <- d"):
        world.do(world.graph.derivations.put("d", document))
    # Nor does one through another, over twins of any model.
    first = {
        "model": AREA,
        "property": "mean",
        "match": "(this)-->(r:Place)",
        "value": "max(r.own)",
    }
    world.do(world.graph.derivations.put("first", first))
    other = {**document, "model": PLACE, "property": "own"}
    with pytest.raises(DerivationInvalid, match="depends on its own values"):
        world.do(world.graph.derivations.put("other", other))


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"model": "dtmi:test:Aera;1"}, DerivationInvalid, "Did you mean dtmi:test:Area;1"),
        ({"property": "maen"}, DerivationInvalid, "has no property maen. Did you mean mean"),
        ({"property": "contains"}, DerivationInvalid, "is a Relationship, not a Property"),
        ({"match": "(this)-[:contians]->(r)"}, DerivationInvalid, "did you mean 'contains'"),
        ({"match": "(this)-->(r:Rom)"}, DerivationInvalid, "did you mean 'Room'"),
        ({"value": "avg(r.onw)"}, DerivationInvalid, "did you mean 'own'"),
        ({"value": "avg(r.own) + this.value"}, DerivationInvalid, "has no value"),
        ({"value": "r.own"}, DerivationInvalid, "must aggregate"),
        ({"value": "count(*)"}, DerivationInvalid, "count a node of match"),
        ({"value": "collect(r.own)[0]"}, DerivationInvalid, "no particular order"),
        ({"value": "avg(r.own) * rand()"}, DerivationInvalid, "another value each time"),
        (
            {"value": "max(valueAt(r.own, datetime('2026-03-01T00:00:00Z')))"},
            DerivationInvalid,
            "reads the past",
        ),
        ({"value": "max(datetime().year)"}, DerivationInvalid, "another value each time"),
        ({"value": "max(r.`$metadata`.x)"}, DerivationInvalid, "changes with each write"),
        ({"value": "max(endNode(c).own)", "match": "(this)-[c]->(r)"}, DerivationInvalid, "ends"),
        ({"value": "avg(r.own) > 3"}, DerivationInvalid, "gives a boolean.* of type double"),
        ({"value": "max(toString(r.own))+toString(1)"}, None, ""),
        ({"property": "places", "value": "avg(r.own)"}, DerivationInvalid, "toInteger"),
        ({"value": "avg(r.own), 1"}, DerivationInvalid, "value is one expression"),
        ({"value": "1 AS v RETURN 1 AS id // x"}, DerivationInvalid, "no part of a query"),
        (
            {"value": "1 AS v RETURN 1 AS id, 2 AS value UNION MATCH (this) WITH this, 1"},
            DerivationInvalid,
            "one expression",
        ),
        ({"match": "(this)-->(r) MATCH (r)-->(s)"}, DerivationInvalid, "further clauses"),
        ({"match": "(this)-->(r), (s)"}, DerivationInvalid, r"\(s\) is not connected"),
        ({"match": "p = (this)-->(r)"}, DerivationInvalid, "Named paths"),
        ({"match": "(this)-->(r) WHERE (r)-->()"}, DerivationInvalid, "write it into match"),
        ({"match": "(this)-[:_extends]->(r)"}, DerivationInvalid, "not models"),
        ({"value": "avg(r.own) + $x"}, DerivationInvalid, r"no value was sent for .* \$x"),
        ({"value": "avg(r.own) + size($ids)"}, DerivationInvalid, "no parameters"),
        ({"value": "avg(r.own"}, DerivationInvalid, "no part of a query"),
        ({"value": "avg(r.mean)", "match": "(this)-->(r:Area)"}, DerivationInvalid, "x <- x"),
        ({"value": ""}, InvalidArgument, "value is needed"),
        ({"match": 3}, InvalidArgument, "match is needed"),
        ({"settleSeconds": -1}, InvalidArgument, "from 0 to 3600"),
        ({"settleSeconds": True}, InvalidArgument, "from 0 to 3600"),
        ({"valeu": "1"}, InvalidArgument, "Did you mean value"),
        ({"id": "y"}, InvalidArgument, "id must be that of the path"),
        ({"value": "1" * 8193}, LimitExceeded, "Derivations__MaxTextBytes"),
    ],
)
def test_a_wrong_definition_says_what_is_wrong(
    world: DerivedWorld, changed: dict[str, Any], error: type[TwinframeError] | None, text: str
) -> None:
    if error is None:
        world.define("x", **{**MEAN, **changed})
        return
    with pytest.raises(error, match=text):
        world.define("x", **{**MEAN, **changed})
    with pytest.raises(DerivationNotFound, match="no derivation x"):
        find_state(world, "x")


def test_a_property_has_one_derivation_also_through_models_that_extend_others(
    world: DerivedWorld,
) -> None:
    world.define("all", model=PLACE, property="parts", value="this.size")
    with pytest.raises(DerivationInvalid, match="derived by all already"):
        world.define("areas", model=AREA, property="parts", value="this.size")
    world.define("all", model=ROOM, property="parts", value="this.size")
    world.define("areas", model=AREA, property="parts", value="this.size")


def test_a_cycle_is_refused_also_through_models_that_extend_others(world: DerivedWorld) -> None:
    world.define("one", model=AREA, property="size", value="this.parts + 1")
    # Areas are places.
    with pytest.raises(DerivationInvalid, match="two <- one <- two"):
        world.define("two", model=PLACE, property="parts", value="this.size + 1")
    # Rooms are no areas: the same names are no cycle.
    world.define("two", model=ROOM, property="parts", value="this.size + 1")


def test_derivations_that_a_new_model_brings_together_halt_with_the_reason(
    world: DerivedWorld,
) -> None:
    world.define("areas", model=AREA, property="parts", value="this.size + 1")
    world.define("rooms", model=ROOM, property="parts", value="this.size + 2")
    both = {**MODELS[0], "@id": "dtmi:test:Both;1", "extends": [AREA, ROOM], "contents": []}
    world.do(world.graph.models.create_models([both]))
    put(world, "a", AREA, size=1)
    world.settle()
    assert read(world, "a")["parts"] == 2
    state = find_state(world, "rooms")
    assert (state.name, state.progress.halted) == (
        "halted",
        "parts of these twins is derived by areas already.",
    )
    world.do(world.graph.models.delete_model("dtmi:test:Both;1"))
    put(world, "r", ROOM, size=1)
    world.do(world.graph.derivations.delete("areas"))
    world.settle()
    assert find_state(world, "rooms").name == "current"
    assert read(world, "r")["parts"] == 3


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ([OWN], "has no property mean. Its properties: own"),
        ([OWN, {"@type": "Relationship", "name": "mean"}], "is a Relationship, not a Property"),
        ([OWN, {**OWN, "@type": ["Property", "Required"], "name": "mean"}], "is required"),
        ([OWN, {**OWN, "name": "mean", "schema": "boolean"}], "is of type boolean"),
        ([{**OWN, "name": "mean"}], "has no own"),
    ],
)
def test_a_derivation_halts_where_its_model_was_replaced_by_one_that_it_does_not_fit(
    world: DerivedWorld, contents: list[Any], reason: str
) -> None:
    build_area(world)
    world.define("mean", **{**MEAN, "value": "avg(r.own) + count(this.own) * 0.0"})
    world.settle()
    assert find_state(world, "mean").name == "current"
    area = next(one for one in MODELS if one["@id"] == AREA)
    other = {**area, "extends": [], "contents": contents}
    other["@context"] = ["dtmi:dtdl:context;3", "dtmi:dtdl:extension:requirement;2"]
    for model, halted in ((other, reason), (area, "")):
        world.run_transaction(lambda found: found.delete_models([AREA]))
        world.settle()
        world.do(world.graph.models.create_models([model]))
        world.settle()
        state = find_state(world, "mean")
        assert state.name == ("halted" if halted else "current")
        assert halted in state.progress.halted
    patch(world, "r1", "/own", 11.0)
    world.settle()
    assert read(world, "a")["mean"] == 6.5


def test_a_graph_that_is_closed_when_idle_is_opened_only_for_what_is_behind(
    world: DerivedWorld,
) -> None:
    kind = world.graph.deriving
    kind.idle_seconds = 0.0

    def is_pending() -> bool:
        return bool(world.do(world.runner.read(lambda session: list(kind.list_pending(session)))))

    build_area(world)
    assert not is_pending()
    world.define("mean", **MEAN)
    world.define("rooms", model=ROOM, property="parts", value="this.size + 2")
    assert is_pending()
    world.settle()
    assert not is_pending()
    patch(world, "r1", "/size", 7)
    assert is_pending()
    world.settle()
    assert not is_pending()
    world.run_transaction(lambda found: found.delete_models([AREA]))
    world.settle()
    assert find_state(world, "mean").name == "halted"
    assert "is not stored" in find_state(world, "mean").progress.halted
    assert not is_pending()
    world.do(world.graph.models.create_models([one for one in MODELS if one["@id"] == AREA]))
    world.settle()
    assert find_state(world, "mean").name == "current"
    patch(world, "r1", "/own", 11.0)
    world.settle()
    assert read(world, "a")["mean"] == 6.5


def test_definitions_are_listed_replaced_and_deleted(world: DerivedWorld) -> None:
    build_area(world)
    world.define("mean", **MEAN)
    world.settle()
    before = find_state(world, "mean")
    assert (before.name, read(world, "a")["mean"]) == ("current", 1.5)
    # The same definition goes on; another one begins anew.
    assert world.define("mean", **MEAN, settleSeconds=0.5).progress.fill is None
    assert find_state(world, "mean").derivation.settle_seconds == 0.5
    assert world.define("mean", **{**MEAN, "value": "max(r.own)"}).name == "computing"
    world.settle()
    assert read(world, "a")["mean"] == 2.0
    world.define("total", **DERIVATIONS["total"])
    page = world.do(world.graph.derivations.list_all(PageRequest(size=1)))
    assert [one.derivation.id for one in page.items] == ["mean"]
    with pytest.raises(PreconditionFailed):
        world.do(world.graph.derivations.put("mean", MEAN, parse_put_condition(None, "*")))
    world.do(world.graph.derivations.delete("mean"))
    with pytest.raises(DerivationNotFound):
        world.do(world.graph.derivations.delete("mean"))
    patch(world, "a", "/mean", 3.0)
    assert read(world, "a")["mean"] == 3.0


def test_there_are_only_so_many(store: GraphStore) -> None:
    settings = Settings.model_validate({"Derivations": {"MaxDerivations": 1}})
    world = DerivedWorld(InlineRunner(store), find_engine(store), settings)
    world.define("one", **MEAN)
    with pytest.raises(LimitExceeded, match="Derivations__MaxDerivations"):
        world.define("two", **DERIVATIONS["total"])
    world.define("one", **{**MEAN, "value": "max(r.own)"})
    world.close()


# --- what callers may write -----------------------------------------------------------------------


def test_callers_cannot_write_a_derived_property_in_any_way(world: DerivedWorld) -> None:
    build_area(world)
    world.define("mean", **MEAN)
    world.settle()
    twin, graph = read(world, "a"), world.graph
    wanted = "mean is derived by mean"
    with pytest.raises(DerivedPropertyReadOnly, match=wanted):
        patch(world, "a", "/mean", 4.0)
    for document in ({**twin, "mean": 4.0}, {"$metadata": twin["$metadata"], "mean": True}):
        with pytest.raises(DerivedPropertyReadOnly, match=wanted):
            world.do(graph.twins.put_twin("a", document))
    with pytest.raises(DerivedPropertyReadOnly, match=wanted):
        put(world, "new", AREA, mean=1.5)
    (result,) = world.do(graph.bulk.put_twins([{**twin, "mean": 4.0}]))
    assert isinstance(result.error, DerivedPropertyReadOnly)
    operation = {"op": "remove", "path": "/mean"}
    body: Any = {"operations": [{"op": "patchTwin", "twinId": "a", "patch": [operation]}]}
    operations = world.do(graph.transactions.parse(body))
    with pytest.raises(TwinframeError, match=wanted):
        world.do(graph.transactions.run(operations))
    assert read(world, "a") == twin


def test_callers_cannot_write_the_metadata_of_a_derived_property(world: DerivedWorld) -> None:
    build_area(world)
    source_time = {"sourceTime": "2026-03-01T00:00:00Z"}
    world.do(world.graph.twins.put_twin("b", {"$metadata": {"$model": PLACE}, "own": 1.0}))
    world.define("mean", **MEAN)
    world.settle()
    twin, graph = read(world, "a"), world.graph
    path, value = "/$metadata/mean/sourceTime", source_time["sourceTime"]
    wanted = "mean is derived by mean"
    for operation in (
        {"op": "add", "path": path, "value": value},
        {"op": "replace", "path": path, "value": value},
        {"op": "remove", "path": path},
    ):
        with pytest.raises(DerivedPropertyReadOnly, match=wanted):
            world.do(graph.twins.patch_twin("a", [operation]))
        body: Any = {"operations": [{"op": "patchTwin", "twinId": "a", "patch": [operation]}]}
        with pytest.raises(TwinframeError, match=wanted):
            world.do(graph.transactions.run(world.do(graph.transactions.parse(body))))
    # A move to a model with the derived property is no way around it.
    move = {"op": "replace", "path": "/$metadata/$model", "value": AREA}
    add = {"op": "add", "path": path, "value": value}
    with pytest.raises(DerivedPropertyReadOnly, match=wanted):
        world.do(graph.twins.patch_twin("b", [move, add]))
    metadata = {**twin["$metadata"], "mean": source_time}
    with pytest.raises(DerivedPropertyReadOnly, match=wanted):
        world.do(graph.twins.put_twin("a", {**twin, "$metadata": metadata}))
    (result,) = world.do(graph.bulk.put_twins([{**twin, "$metadata": metadata}]))
    assert isinstance(result.error, DerivedPropertyReadOnly)
    assert read(world, "a") == twin
    patch(world, "r1", "/$metadata/own/sourceTime", value)
    # A time that a caller gave before it was derived may be put as it was read.
    world.do(graph.derivations.delete("mean"))
    patch(world, "a", path, value)
    world.define("mean", **MEAN)
    world.do(graph.twins.put_twin("a", read(world, "a")))
    assert read(world, "a")["$metadata"]["mean"]["sourceTime"] == value


def test_a_twin_may_be_put_as_it_was_read_or_without_the_value(world: DerivedWorld) -> None:
    build_area(world)
    world.define("mean", **MEAN)
    world.settle()
    twin = read(world, "a")
    for document in ({**twin, "own": 1.0}, {"$metadata": {"$model": AREA}, "own": 2.0}):
        world.do(world.graph.twins.put_twin("a", document))
        found = read(world, "a")
        assert (found["mean"], found["own"]) == (1.5, document["own"])
        assert found["$metadata"]["mean"] == twin["$metadata"]["mean"]
    # Clients in JavaScript write 2 where they read 2.0.
    patch(world, "r1", "/own", 2.0)
    world.settle()
    world.do(world.graph.twins.put_twin("a", {**read(world, "a"), "mean": 2}))
    assert isinstance(read(world, "a")["mean"], float)


def test_an_export_with_derived_values_can_be_imported(world: DerivedWorld) -> None:
    build_area(world)
    world.define("mean", **MEAN)
    world.settle()
    exported = io.BytesIO()
    world.do(world.graph.portable.export_graph(exported.write))
    twin = read(world, "a")
    patch(world, "r1", "/own", 11.0)
    world.settle()
    assert read(world, "a")["mean"] == 6.5
    exported.seek(0)
    progress = world.do(world.graph.portable.import_graph(exported))
    assert progress.errors == 0
    assert read(world, "a") == twin
    world.settle()
    assert read(world, "a") == twin


# --- values ---------------------------------------------------------------------------------------


def test_a_value_that_cannot_be_computed_is_null_and_counted(world: DerivedWorld) -> None:
    for twin_id, parts in (("a", 2), ("b", 0), ("c", 4)):
        put(world, twin_id, AREA, size=8, parts=parts)
    world.define("ratio", **DERIVATIONS["ratio"])
    world.settle()
    assert [read(world, one).get("ratio") for one in "abc"] == [4, None, 2]
    progress = find_state(world, "ratio").progress
    assert (progress.errors, progress.error_twin) == (1, "b")
    assert "DivisionByZero" in progress.error
    patch(world, "a", "/parts", 0)
    patch(world, "b", "/parts", 1)
    world.settle()
    assert [read(world, one).get("ratio") for one in "abc"] == [None, 8, 2]


def test_a_derivation_whose_values_never_end_leaves_their_turn_to_others(
    world: DerivedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"a{number:02}" for number in range(20)]
    for twin_id in ids:
        put(world, twin_id, AREA, own=2.0, size=1)
    runs: list[int] = []
    run = Computing.run

    async def time_out(
        self: Computing, text: str, parameters: Any, *, may_be_short: bool = False
    ) -> Any:
        asked = parameters.get("ids", [])
        if "this.size" in text and asked:
            runs.append(len(asked))
            # The last one has an end.
            if asked != ids[-1:]:
                raise QueryTimeout("It takes too long.")
        elif asked:
            runs.append(0)
        return await run(self, text, parameters, may_be_short=may_be_short)

    monkeypatch.setattr(Computing, "run", time_out)
    world.define("endless", model=AREA, property="parts", value="this.size + 1")
    world.define("other", model=AREA, property="mean", value="this.own + 1")
    world.settle()
    # Each twin that times out does so once alone.
    assert sorted(set(runs)) == [0, 1, 2, 5, 10, 20]
    assert runs.count(1) == 20
    assert [(read(world, one).get("parts"), read(world, one)["mean"]) for one in ids] == [
        *[(None, 3.0)] * 19,
        (2, 3.0),
    ]
    progress = find_state(world, "endless").progress
    assert (progress.errors, progress.done, progress.error_twin) == (19, 20, ids[-2])
    assert {find_state(world, one).name for one in ("endless", "other")} == {"current"}
    # Followed changes take turns as well: one attempt, then the other derivation.
    runs.clear()
    for twin_id in ids[:3]:
        patch(world, twin_id, "/size", 5)
        patch(world, twin_id, "/own", 7.0)
    world.settle()
    assert runs.index(0) == 1
    assert [read(world, one)["mean"] for one in ids[:3]] == [8.0] * 3
    assert find_state(world, "endless").progress.errors == 22
    assert find_state(world, "endless").name == "current"


def test_a_value_that_the_property_does_not_take_is_null_and_counted(world: DerivedWorld) -> None:
    put(world, "a", PLACE, own=2.5)
    world.define("size", model=PLACE, property="size", value="this.own * 1")
    world.settle()
    progress = find_state(world, "size").progress
    assert (progress.errors, progress.error_twin) == (1, "a")
    assert "integer" in progress.error
    assert "size" not in read(world, "a")


def test_values_of_large_twins_are_written_in_parts(
    world: DerivedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_GROUP_BYTES", 1)
    ids = [f"t{number}" for number in range(150)]
    for number, twin_id in enumerate(ids):
        put(world, twin_id, PLACE, own=float(number))
    world.define("near", model=PLACE, property="nearest", value="this.own + 1")
    world.stop_after(2)  # the lease, then the first part
    first = [read(world, twin_id).get("nearest") for twin_id in ids]
    assert 0 < sum(value is not None for value in first) < 150
    assert find_state(world, "near").progress.fill == ""
    world.settle()
    assert [read(world, twin_id)["nearest"] for twin_id in ids] == [
        float(number + 1) for number in range(150)
    ]
    state = find_state(world, "near")
    assert (state.name, state.progress.written, state.progress.done) == ("current", 150, 150)


def test_a_change_that_concerns_too_many_computes_all(
    world: DerivedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_area(world)
    world.define("mean", **MEAN)
    world.settle()

    def find_too_many(*_arguments: Any) -> set[str]:
        raise QueryTimeout("It takes too long.")

    patch(world, "r1", "/own", 11.0)
    monkeypatch.setattr(keeper, "find_concerned", find_too_many)
    world.settle()
    assert read(world, "a")["mean"] == 6.5
    assert find_state(world, "mean").name == "current"


def test_only_values_that_changed_are_written_and_only_what_is_concerned_is_computed(
    world: DerivedWorld,
) -> None:
    build_area(world)
    put(world, "other", AREA)
    world.define("mean", **MEAN)
    world.settle()
    before, rows = find_state(world, "mean").progress, world.count_rows()
    patch(world, "r1", "/size", 7)  # not read
    patch(world, "other", "/own", 1.0)  # of no room
    put(world, "s", SENSOR, value=1)
    patch(world, "r1", "/own", 3.0)
    patch(world, "r2", "/own", 0.0)  # the mean stays
    world.settle()
    after = find_state(world, "mean").progress
    assert (after.computed - before.computed, after.written - before.written) == (1, 0)
    assert world.count_rows() == rows + 5


def test_a_burst_below_one_twin_costs_one_computation(world: DerivedWorld) -> None:
    build_area(world, rooms=40)
    world.define("mean", **MEAN)
    world.settle()
    before = find_state(world, "mean").progress
    for number in range(1, 41):
        patch(world, f"r{number}", "/own", 100.0 + number)
    world.settle()
    after = find_state(world, "mean").progress
    assert (after.computed - before.computed, after.written - before.written) == (1, 1)


def test_values_are_written_as_events_with_what_they_replace(world: DerivedWorld) -> None:
    build_area(world)
    world.define("mean", **MEAN)
    world.settle()
    trial = world.do(
        world.graph.event_routes.try_filter("type = 'Microsoft.DigitalTwins.Twin.Update'", 10)
    )
    event = trial.events[-1]
    assert event.document["subject"] == "a"
    assert event.document["data"]["patch"] == [{"op": "add", "path": "/mean", "value": 1.5}]
    last = world.count_rows()
    ((_, written),) = world.do(
        world.runner.read(lambda session: session.read_events(after=last - 1, limit=1))
    )
    row = parse_row(written.body)
    assert row is not None
    assert row.who == "derivation:mean"


def test_all_is_computed_again_where_changes_were_forgotten(world: DerivedWorld) -> None:
    build_area(world)
    world.define("mean", **MEAN)
    world.settle()
    patch(world, "r1", "/own", 11.0)
    last = world.count_rows()
    world.run_transaction(lambda found: found.delete_events(up_to=last, limit=1000))
    put(world, "s", SENSOR)
    world.settle()
    assert read(world, "a")["mean"] == 6.5
