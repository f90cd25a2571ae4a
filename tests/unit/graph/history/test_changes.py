"""The changes of an entity and of the graph say exactly how one state became the other."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import World
from tests.unit.graph.events import test_outbox_reading as histories
from tests.unit.graph.history.test_past_sessions import ACTIONS, MODELS, TWINS, Player
from twinframe.errors import (
    HistoryNotKept,
    InvalidArgument,
    InvalidContinuationToken,
    RelationshipNotFound,
    TwinNotFound,
    Unsupported,
)
from twinframe.graph.history import changes as changes_module
from twinframe.graph.history.changes import HistoryQuestion
from twinframe.graph.history.comparison import compare_documents, select_changes
from twinframe.graph.history.graph_changes import EntityType
from twinframe.model.clock import render_update_time
from twinframe.model.pages import PageRequest
from twinframe.model.paths import split_path
from twinframe.settings import Settings
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.factories import ROOM, build_interface

KEYS = [*((twin, "") for twin in TWINS), *((twin, own) for twin in TWINS for own in ("r1", "r2"))]
METADATA = "$metadata"


def strip(document: Any) -> Any:
    """The contents, and the model: what a caller wrote, except times of sources."""
    kept = {
        name: {inner: item for inner, item in value.items() if inner != METADATA}
        if isinstance(value, dict) and METADATA in value
        else value
        for name, value in document.items()
        if not name.startswith("$") or name in ("$targetId", "$relationshipName")
    }
    model = document.get(METADATA, {}).get("$model")
    return {**kept, METADATA: {"$model": model}} if model else kept


def apply(document: Any, changes: list[Any]) -> Any:
    """The contents after changes; None if nothing is left."""
    found = orjson.loads(orjson.dumps(document or {}))
    for change in changes:
        *above, last = split_path(change["path"])
        owner = found
        for name in above:
            owner = owner.setdefault(name, {})
        assert ("before" in change) == (last in owner)
        if "before" in change and not change["before"] == owner[last] == {}:
            assert change["before"] == owner[last]
        if "after" in change:
            owner[last] = change["after"]
        else:
            del owner[last]
    if found.get(METADATA) == {}:
        del found[METADATA]
    return found or None


def read_state(session: Any) -> dict[Any, Any]:
    state: dict[Any, Any] = {}
    for key in KEYS:
        stored = session.read_relationship(*key) if key[1] else session.read_twin(key[0])
        if stored is not None:
            state[key] = strip(orjson.loads(stored.body))
    for model_id in MODELS:
        record = session.read_model(model_id)
        if record is not None:
            document = orjson.loads(record.document)
            state[model_id] = {"decommissioned": record.decommissioned, "model": document}
    return state


def collect(player: Player, ask: Any, size: int = 3) -> list[Any]:
    """All items of all pages."""
    found: list[Any] = []
    token = None
    while True:
        page = player.world.do(ask(PageRequest(size, token))).page
        assert len(page.items) <= size
        found += map(orjson.loads, page.items)
        token = page.token
        if token is None:
            return found


def ask_entity(player: Player, key: Any, **question: Any) -> Any:
    asked = HistoryQuestion(**question)
    changes = player.world.graph.changes
    if key[1]:
        return lambda page: changes.list_of_relationship(*key, asked, page)
    return lambda page: changes.list_of_twin(key[0], asked, page)


def find_key(item: Any) -> Any:
    match item["kind"]:
        case "twin":
            return item["id"], ""
        case "relationship":
            return item["sourceId"], item["relationshipId"]
    return item["id"]


def play(store: Any, actions: list[Any]) -> tuple[Player, dict[int, Any]]:
    """The player, and the state at each position at which a write ended."""
    player = Player(store)
    states: dict[int, Any] = {}
    with reading(store) as session:
        states[session.read_event_bounds()[1]] = read_state(session)
    for action in actions:
        if action[0] not in ("read", "prune"):
            player.play(action, {})
        with reading(store) as session:
            states[session.read_event_bounds()[1]] = read_state(session)
    return player, states


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(actions=st.lists(ACTIONS, min_size=1, max_size=14), size=st.integers(1, 4))
def test_changes_lead_from_each_state_to_each_later_one(
    kind: str, actions: list[Any], size: int
) -> None:
    with histories.open_store(kind) as store, pytest.MonkeyPatch.context() as patched:
        patched.setattr(changes_module, "_MOST_SEARCHED", 5)
        player, states = play(store, actions)
        for start, end in combinations(states, 2):
            state = dict(states[start])
            ask = player.world.graph.changes.list_of_graph
            for item in collect(player, lambda p: ask(str(start), str(end), page=p), size):  # noqa: B023
                key = find_key(item)
                match item["action"]:
                    case "created":
                        assert key not in state
                        after = item["after"]
                        state[key] = after if item["kind"] == "model" else strip(after)
                    case "deleted":
                        before = item["before"]
                        assert state[key] == (before if item["kind"] == "model" else strip(before))
                        del state[key]
                    case _:
                        assert item["changes"]
                        state[key] = apply(state[key], item["changes"])
            assert state == states[end]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(actions=st.lists(ACTIONS, min_size=1, max_size=20), size=st.integers(1, 4))
def test_the_history_of_an_entity_is_what_was_done_to_it(
    kind: str, actions: list[Any], size: int
) -> None:
    with histories.open_store(kind) as store, pytest.MonkeyPatch.context() as patched:
        patched.setattr(changes_module, "_MOST_SEARCHED", 5)
        player, states = play(store, actions)
        for key in KEYS:
            if not any(key in state for state in states.values()):
                with pytest.raises((TwinNotFound, RelationshipNotFound)):
                    collect(player, ask_entity(player, key))
                continue
            items = collect(player, ask_entity(player, key), size)
            newest = collect(player, ask_entity(player, key, newest_first=True), size)
            assert newest == items[::-1]
            document = None
            for position, state in states.items():
                for item in [one for one in items if one["position"] <= position]:
                    items.remove(item)
                    gone = document is None
                    document = apply(document, item["changes"])
                    assert item["action"] == (
                        "created" if gone else "updated" if document else "deleted"
                    )
                assert document == state.get(key)
            assert items == []
            for path in ("name", "thermostat", "thermostat/setPoint", "$targetId"):
                found = collect(player, ask_entity(player, key, path=path), size)
                expected = [
                    each | {"changes": some}
                    for each in newest[::-1]
                    if (
                        some := [
                            x for x in each["changes"] if f"{x['path']}/".startswith(f"{path}/")
                        ]
                    )
                ]
                assert found == expected
            start, end = min(states), max(states)
            some = collect(player, ask_entity(player, key, start=str(start), end=str(end)), size)
            assert some == newest[::-1]


@pytest.fixture
def told(world: Any) -> Any:
    """A world with a twin that was changed twice."""
    world.put("a", temperature=20.5, thermostat={"$metadata": {}, "setPoint": 5.0})
    world.patch("a", {"op": "replace", "path": "/temperature", "value": 21.5})
    world.patch("a", {"op": "replace", "path": "/thermostat/setPoint", "value": 6.0})
    with reading(world.store) as session:
        if not session.keeps_history:
            pytest.skip("This storage keeps no history.")
    return world


def read(world: Any, **question: Any) -> list[Any]:
    asked = HistoryQuestion(**question)
    page = world.do(world.graph.changes.list_of_twin("a", asked)).page
    return [orjson.loads(item) for item in page.items]


def test_a_change_has_its_moment_and_the_time_of_the_source(told: Any) -> None:
    source = "2024-01-31T11:59:58Z"
    told.patch(
        "a",
        {"op": "replace", "path": "/temperature", "value": 22.5},
        {"op": "add", "path": "/$metadata/temperature/sourceTime", "value": source},
    )
    stamp = told.stamp()
    told.patch(
        "a",
        {"op": "replace", "path": "/$metadata/temperature/sourceTime", "value": stamp},
    )
    *_, changed, again = read(told)
    moment = changed.pop("time")
    assert abs(int(moment[17:19]) - int(stamp[17:19])) % 60 <= 1
    del changed["position"]
    change = {"path": "temperature", "before": 21.5, "after": 22.5, "sourceTime": source}
    assert changed == {"action": "updated", "changes": [change]}
    same = {"path": "temperature", "before": 22.5, "after": 22.5, "sourceTime": stamp}
    assert again["changes"] == [same]


def test_bounds_are_moments_or_positions(told: Any) -> None:
    created, first, second = read(told)
    at = first["position"]
    for start, end, found in (
        (str(at - 1), str(at), [first]),
        (created["time"], first["time"], [first]),
        (first["time"], None, [second]),
        (str(at), str(at), []),
        (None, created["time"], [created]),
    ):
        assert read(told, start=start, end=end) == found


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        ("Tuesday", None, "from 'Tuesday' is neither"),
        ("1", "Tuesday", "to 'Tuesday' is neither"),
        ("9999", None, "from 9999 is beyond the last event"),
        ("2054-01-31T00:00:00Z", None, "from 2054-01-31T00:00:00.0000000Z is in the future"),
        ("1", "2054-01-31T00:00:00Z", "to 2054-01-31T00:00:00.0000000Z is in the future"),
        ("3", "2", "must not be after"),
        ("2024-01-31T00:00:01Z", "2024-01-31T00:00:00Z", "must not be after"),
    ],
)
def test_wrong_bounds_say_what_would_be_right(told: Any, start: str, end: str, text: str) -> None:
    for ask in (
        lambda: told.graph.changes.list_of_twin("a", HistoryQuestion(start, end)),
        lambda: told.graph.changes.list_of_graph(start, end),
    ):
        with pytest.raises(InvalidArgument) as raised:
            told.do(ask())
        assert text in raised.value.message


def test_what_is_no_longer_kept_is_not_answered(told: Any) -> None:
    _, first, _ = read(told)
    at = first["position"]
    run(told.store, lambda t: t.delete_events(up_to=at - 1, limit=99))
    assert [item["position"] for item in read(told)] == [at, at + 1]
    for bound in (str(at - 2), render_update_time(0)):
        with pytest.raises(HistoryNotKept):
            read(told, start=bound)
        with pytest.raises(HistoryNotKept):
            told.do(told.graph.changes.list_of_graph(bound))


def test_a_page_is_bound_to_its_question(told: Any) -> None:
    changes = told.graph.changes
    page = told.do(changes.list_of_twin("a", HistoryQuestion(), PageRequest(1))).page
    with pytest.raises(InvalidContinuationToken):
        told.do(changes.list_of_twin("a", HistoryQuestion(path="name"), PageRequest(1, page.token)))


def test_only_some_types_are_compared(told: Any) -> None:
    told.do(told.graph.models.create_models([build_interface("dtmi:test:Lamp;1")]))
    told.put("b")
    told.relate("a", "r", "b")
    for types in ([], ["twins"], ["models", "relationships"], ["twins", "relationships", "models"]):
        asked = [EntityType(one) for one in types]
        page = told.do(told.graph.changes.list_of_graph("0", None, asked)).page
        assert {f"{orjson.loads(item)['kind']}s" for item in page.items} == set(types)


def test_a_storage_without_history_says_so(world: Any) -> None:
    with reading(world.store) as session:
        if session.keeps_history:
            pytest.skip("This storage keeps history.")
    for question in (
        world.graph.changes.list_of_twin("a", HistoryQuestion()),
        world.graph.changes.list_of_graph("0"),
    ):
        with pytest.raises(Unsupported, match="keeps no history"):
            world.do(question)


def test_a_service_without_history_says_so(world: Any) -> None:
    with reading(world.store) as session:
        if not session.keeps_history:
            pytest.skip("This storage keeps no history.")
    off = World(world.store, Settings.model_validate({"history": {"enabled": False}}))
    with pytest.raises(Unsupported, match="History__Enabled"):
        off.do(off.graph.changes.list_of_graph("0"))


def test_members_of_objects_are_compared_and_selected() -> None:
    before = {"at": {"x": 1, "y": {"a/b": [1]}}, "$metadata": {"$model": ROOM}}
    after = {"at": {"x": True, "y": {"a/b": [1], "c": None}}, "new": {"z": 1}}
    after["$metadata"] = {"$model": ROOM, "new": {"sourceTime": "t"}}
    changes = compare_documents(before, after)
    assert [change.render() for change in changes] == [
        {"path": "at/x", "before": 1, "after": True},
        {"path": "at/y/c", "after": None},
        {"path": "new", "after": {"z": 1}, "sourceTime": "t"},
    ]
    assert [change.path for change in select_changes(changes, "at/y")] == ["at/y/c"]
    (part,) = select_changes(changes, "new/z")
    assert part.render() == {"path": "new/z", "after": 1, "sourceTime": "t"}
    assert select_changes(changes, "new/q") == []
    assert select_changes(changes, "at/y/a~1b") == []
