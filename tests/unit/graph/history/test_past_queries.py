"""Each query of an earlier state answers what it answered then, on every store with history."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import World
from tests.unit.graph.events.test_outbox_reading import open_store
from tests.unit.graph.history.test_past_sessions import ACTIONS, Player
from twinframe.errors import (
    HistoryNotKept,
    InvalidArgument,
    InvalidContinuationToken,
    LimitExceeded,
    QueryInvalid,
    TwinframeError,
    Unsupported,
)
from twinframe.graph.history.past import PastSession
from twinframe.graph.queries import states
from twinframe.model.clock import render_update_time
from twinframe.settings import QuerySettings, Settings
from twinframe.settings.history import HistorySettings
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.factories import build_building_interfaces

NAMES = "MATCH (n:Room) RETURN n.name AS name ORDER BY name"
QUERIES = [
    "MATCH (n) RETURN n",
    "MATCH (n:Room) WHERE n.name IS NOT NULL RETURN n.`$dtId` AS id, n.name AS name",
    "MATCH (n:Space|Lamp) RETURN labels(n) AS l, count(*) AS c",
    "MATCH (a)-[r]->(b) RETURN a.`$dtId` AS a, r AS r, b.`$etag` AS b",
    "MATCH (a {`$dtId`: 'a'})<-[r:watchedBy]-(b) RETURN b, r.since AS since",
    "MATCH p = (a)-[*1..3]-(b) RETURN length(p) AS l, count(*) AS c",
    "MATCH (a) WHERE EXISTS { (a)-->()-->(a) } RETURN a.`$metadata`.`$lastUpdateTime` AS t",
    "MATCH (m:Model) RETURN m",
    "MATCH (a:Base) OPTIONAL MATCH (a)-[r]->(b) RETURN a.`$dtId` AS a, count(r) AS c",
    "SELECT * FROM digitaltwins T WHERE IS_OF_MODEL(T, 'dtmi:test:Base;1')",
    "SELECT T.name, R.since FROM digitaltwins T JOIN S RELATED T.relatedTo R",
    "SELECT COUNT() FROM relationships",
]


def ask(world: World, text: str, as_of: Any = None, **more: Any) -> Any:
    """The rows in an order of our own, and codes of warnings; or the code of the error."""
    try:
        page = world.do(world.graph.queries.run(text, as_of=as_of, **more))
    except TwinframeError as error:
        return error.code
    assert page.continuation_token is None
    return sorted(page.rows), sorted(warning.message for warning in page.warnings)


def change(player: Player, action: tuple[Any, ...]) -> None:
    # A deletion of a model before the kept range is forgotten with its row.
    if action[0] not in ("read", "prune"):
        player.play(action, {})


def read_engines(world: World, text: str, position: int) -> list[str]:
    """The engines that answer parts of a query now."""
    (row,) = ask(world, f"EXPLAIN {text}", position)[0]
    return [part["engine"] for part in orjson.loads(row)["pushed"]]


@pytest.mark.parametrize("kind", ["memory", "sqlite", "copies"])
@settings(
    deadline=None,
    max_examples=16,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(actions=st.lists(ACTIONS, min_size=1, max_size=12))
def test_a_query_of_an_earlier_state_answers_what_it_answered_then(
    monkeypatch: pytest.MonkeyPatch, kind: str, actions: list[Any]
) -> None:
    has_copies = kind == "copies"
    with monkeypatch.context() as patched, open_store("sqlite" if has_copies else kind) as store:
        patched.setattr(states, "_SHARE", 0.0 if has_copies else 1e9)
        player = Player(store)
        answers: dict[int, Any] = {}
        for action in actions:
            change(player, action)
            with reading(store) as session:
                last = session.read_event_bounds()[1]
            answers[last] = [ask(player.world, text) for text in QUERIES]
        for position, expected in answers.items():
            ask(player.world, NAMES, position)  # makes the copy, if there are any
            if has_copies and position != last:
                assert read_engines(player.world, NAMES, position) == ["sqlite"]
            for text, answer in zip(QUERIES, expected, strict=True):
                found = ask(player.world, text, position)
                if ("unload",) in [action[:1] for action in actions]:
                    # Whether a twin still named a deleted model is known of the present alone.
                    found, answer = found[0], answer[0]
                assert found == answer, (text, position)


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Any:
    kind = getattr(request, "param", "sqlite")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(states, "_SHARE", 0.0)
        with open_store("sqlite" if kind == "copies" else kind) as store:
            most_bytes = 2**25 if kind == "copies" else 0
            world = World(store, Settings(history=HistorySettings(copies_bytes=most_bytes)))
            world.do(world.graph.models.create_models(build_building_interfaces()))
            yield world


def find_last(world: World) -> tuple[int, int]:
    with reading(world.store) as session:
        found = session.read_moment(session.read_event_bounds()[1])
    assert found is not None
    return found


@pytest.mark.parametrize("world", ["memory", "sqlite"], indirect=True)
def test_the_clause_as_of_names_the_state(world: World) -> None:
    world.put("a", name="old")
    position, moment = find_last(world)
    world.put("a", name="new")
    time = render_update_time(moment)
    for clause, values in [
        (f"AS OF datetime('{time}')", {}),
        (f"as /* the */ of '{time}'\n", {}),
        (f"AS OF {position}", {}),
        ("AS OF $t", {"t": time}),
        ("AS OF datetime($t)", {"t": time}),
        ("AS OF datetime($t) + duration('PT0.5S')", {"t": time}),
    ]:
        assert ask(world, f"{clause} {NAMES}", parameters=values)[0] == [b'{"name":"old"}']
        (row,) = ask(world, f"EXPLAIN {clause} {NAMES}", parameters=values)[0]
        assert orjson.loads(row)["pushed"] == []
        (row,) = ask(world, f"{clause} PROFILE {NAMES}", parameters=values)[0]
        profile = orjson.loads(row)
        assert (profile["engine"], profile["rows"]) == ("evaluator", 1)
    assert ask(world, NAMES)[0] == [b'{"name":"new"}']


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        (f"AS OF {NAMES}", QueryInvalid, "line 1, column 7: unexpected MATCH"),
        (f"AS OF datetime('nope') {NAMES}", QueryInvalid, "line 1, column 7: 'nope'"),
        (f"AS OF $none {NAMES}", QueryInvalid, "no value was sent for the parameter $none"),
        (f"AS OF n {NAMES}", QueryInvalid, "'n' is not defined"),
        (f"AS OF max(1) {NAMES}", QueryInvalid, "a moment is no aggregate"),
        (f"AS OF COUNT {{ (n) }} {NAMES}", InvalidArgument, "cannot be read from the graph"),
        (f"AS OF date('2020-01-01') {NAMES}", InvalidArgument, "asOf of the type Date"),
        (f"AS OF null {NAMES}", InvalidArgument, "asOf null"),
        (f"AS OF datetime({{year: 99999}}) {NAMES}", InvalidArgument, "in the future"),
        (f"AS OF 99 {NAMES}", InvalidArgument, "beyond the last event"),
        (
            "AS OF size([i IN range(1, 999) WHERE all(j IN range(1, 99) WHERE i > j)]) RETURN 1",
            LimitExceeded,
            "too many steps",
        ),
        ("AS OF 1 SELECT * FROM digitaltwins", QueryInvalid, "send asOf as a member of the body"),
        ("AS OF 1 MATCH (n) RETURN x", QueryInvalid, "line 1, column 26"),
        ("AS OF 1 CREATE (n)", QueryInvalid, "CREATE is refused"),
        ("AS OF 1 AS OF 1 RETURN 1", QueryInvalid, "column 9: AS OF may stand before a query once"),
    ],
)
def test_a_wrong_clause_is_refused(
    world: World, text: str, kind: type[TwinframeError], part: str
) -> None:
    with pytest.raises(kind) as raised:
        world.do(world.graph.queries.run(text))
    assert part in raised.value.message


def test_a_state_is_named_once(world: World) -> None:
    with pytest.raises(InvalidArgument, match="Send one of them"):
        world.do(world.graph.queries.run(f"AS OF 1 {NAMES}", as_of=1))


@pytest.mark.parametrize("world", ["sqlite", "copies"], indirect=True)
@pytest.mark.parametrize("by_clause", [True, False])
def test_pages_of_an_earlier_state_go_on_in_it(world: World, by_clause: bool) -> None:
    for at in range(6):
        world.put(f"t{at}", name=f"old{at}")
    position, _ = find_last(world)
    text, as_of = (f"AS OF {position} {NAMES}", None) if by_clause else (NAMES, position)
    queries = world.graph.queries
    if world.settings.history.copies_bytes:
        world.put("t0", name="between")
        ask(world, NAMES, position)  # makes the copy
        assert read_engines(world, NAMES, position) == ["sqlite"]
    page = world.do(queries.run(text, as_of=as_of, page_size=2))
    rows = list(page.rows)
    while page.continuation_token is not None:
        world.put(f"t{len(rows)}", name="new")
        token = page.continuation_token
        for other in (NAMES, f"AS OF {position - 1} {NAMES}"):
            with pytest.raises(InvalidContinuationToken):
                world.do(queries.run(other, {}, token, as_of=None if by_clause else position - 1))
        sent = (text, {}, token, None, as_of) if len(rows) == 2 else (None, {}, token)
        page = world.do(queries.run(*sent))
        rows += page.rows
    assert rows == [b'{"name":"old%d"}' % at for at in range(6)]


@pytest.mark.parametrize("world", ["memory", "sqlite"], indirect=True)
def test_the_state_after_the_last_event_is_read_as_the_present_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[Any] = []
    scan = PastSession.scan_nodes
    monkeypatch.setattr(
        PastSession, "scan_nodes", lambda self, labels: scans.append(labels) or scan(self, labels)
    )
    for at in range(5):
        world.put(f"t{at}", name=f"old{at}")
    position, _ = find_last(world)
    queries = world.graph.queries
    for text in (NAMES, "MATCH (n:Room) RETURN n.name AS name"):  # the other one has keys to go on
        page = world.do(queries.run(text, as_of=position, page_size=2))
        assert (len(page.rows), scans) == (2, [])
        rows = list(page.rows)
        world.put("t4", name="new")
        while page.continuation_token is not None:
            page = world.do(queries.run(None, {}, page.continuation_token))
            rows += page.rows
        assert sorted(rows) == [b'{"name":"old%d"}' % at for at in range(5)]
        assert ask(world, text, position)[0] == sorted(rows)
        assert scans
        scans.clear()
        world.put("t4", name="old4")
        position, _ = find_last(world)


def test_names_are_checked_against_the_models_of_then(world: World) -> None:
    _, warnings = ask(world, "MATCH (n:Room) RETURN n.nme AS x", 0)
    assert "No stored model knows the label 'Room'." in warnings
    _, warnings = ask(world, "MATCH (n:Room) RETURN n.nme AS x", find_last(world)[0])
    assert warnings == ["No stored model knows the property 'nme'; did you mean 'name'?"]


def test_limits_hold_for_earlier_states(world: World) -> None:
    for at in range(30):
        world.put(f"t{at}")
    position, _ = find_last(world)
    world.put("t0", name="new")  # else it is the present state, which a store may read alone
    narrow = World(world.store, Settings(query=QuerySettings(max_rows=100)))
    text = "MATCH (a), (b) RETURN count(DISTINCT a.`$dtId` + b.`$dtId`) AS c"
    assert ask(narrow, text, position) == "LimitExceeded"
    assert ask(world, text, position) == ([b'{"c":900}'], [])


def test_what_is_not_kept_is_gone_and_a_store_without_history_says_so(world: World) -> None:
    world.put("a", name="x")
    position, _ = find_last(world)
    world.put("a", name="y")
    run(world.store, lambda t: t.delete_events(up_to=position - 1, limit=99))
    with pytest.raises(HistoryNotKept):
        world.do(world.graph.queries.run(f"AS OF {position - 2} {NAMES}"))
    off = World(world.store, Settings(history=HistorySettings(enabled=False)))
    with open_store("oxigraph") as store:
        for other, part in ((off, "History__Enabled"), (World(store, Settings()), "no history")):
            with pytest.raises(Unsupported, match=part):
                other.do(other.graph.queries.run(NAMES, as_of=0))
