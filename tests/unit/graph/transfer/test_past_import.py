"""A graph that was imported with its history answers what the exported one answers of the past."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import World
from tests.unit.graph.events import test_outbox_reading as histories
from tests.unit.graph.history.test_past_sessions import ACTIONS, LAMP, TWINS, Player, dump
from twinframe.errors import HistoryNotKept, ImportFileInvalid, NotFound, Unsupported
from twinframe.graph.history.changes import HistoryQuestion
from twinframe.graph.history.history import Asked
from twinframe.graph.history.past import PastSession
from twinframe.graph.transfer import past_import
from twinframe.graph.transfer.importing import Importer
from twinframe.graph.transfer.progress import BEGIN, Progress
from twinframe.model.clock import render_update_time as as_text
from twinframe.model.pages import PageRequest
from twinframe.runtime.instruments.base import CURRENT_SUBJECT
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.base import reading
from twinframe.testing.factories import SPACE, build_interface

PROPERTY = {"@type": "Property", "name": "x", "schema": "double"}
_LATER = 100_000
_OWN = re.compile(rb'"history":"[^"]*"')
"""What names the history of one graph."""


def make_later(store: GraphStore, **more: Any) -> World:
    """A world whose clock is behind all moments of the others."""
    world = World(store, Settings.model_validate({"jobs": {"chunk_rows": 3}, **more}))
    world._seconds = itertools.count(_LATER)
    return world


def export(world: World) -> bytes:
    out = io.BytesIO()
    world.do(world.graph.portable.export_graph(out.write, history=True))
    return out.getvalue()


def take(world: World, text: bytes, **more: Any) -> Progress:
    return world.do(world.graph.portable.import_graph(io.BytesIO(text), **more))


def list_moments(store: GraphStore) -> list[int]:
    """Each moment of the history, one in between, and the one before."""
    with reading(store) as session:
        first, last = session.read_event_bounds()
        found = {
            moment
            for at in range(first, last + 1)
            if (found := session.read_moment(at)) is not None and (moment := found[1])
        }
    return sorted({*found, *(moment + 500_000_000 for moment in found), min(found, default=9) - 1})


def forget_positions(value: Any) -> Any:
    """The answer without what may differ."""
    if isinstance(value, dict):
        return {k: forget_positions(v) for k, v in value.items() if k != "position"}
    return [forget_positions(each) for each in value] if isinstance(value, list) else value


def ask(answer: Callable[[], Any]) -> Any:
    try:
        return answer()
    except HistoryNotKept as error:
        return error.message.partition(" of ")[2].partition(", position")[0]
    except NotFound as error:
        return error.code


def answer_all(world: World, moments: list[int]) -> dict[str, Any]:
    """All that can be asked of the past."""
    graph, texts = world.graph, [as_text(moment) for moment in moments]
    every = PageRequest(999)
    found: dict[str, Any] = {}

    def dump_state(asked: Asked) -> Any:
        position = world.do(graph.history.find_position(asked))
        with reading(world.store) as session, session.snapshot():
            state = dump(PastSession(session, position))
        # Models of one upload are stored in the order in which they need each other.
        state["models"] = sorted(state["models"])
        state["records"] = [
            None if each is None else replace(each, position=0) for each in state["records"]
        ]
        return state

    def read_item(page: Any) -> Any:
        return [forget_positions(orjson.loads(item)) for item in world.do(page).page.items]

    for text in texts:
        found[text] = ask(lambda text=text: dump_state(text))
        found[f"since {text}"] = ask(
            lambda text=text: sorted(
                read_item(graph.changes.list_of_graph(text, None, page=every)), key=orjson.dumps
            )
        )
    for twin in TWINS:
        found[twin] = ask(
            lambda t=twin: read_item(graph.changes.list_of_twin(t, HistoryQuestion(), every))
        )
        for own in ("r1", "r2"):
            found[f"{twin} {own}"] = ask(
                lambda t=twin, own=own: read_item(
                    graph.changes.list_of_relationship(t, own, HistoryQuestion(), every)
                )
            )
    return found


@contextmanager
def acting(who: str) -> Iterator[None]:
    token = CURRENT_SUBJECT.set(who)
    try:
        yield
    finally:
        CURRENT_SUBJECT.reset(token)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("memory", "sqlite"),
        ("sqlite", "memory"),
        ("postgres", "sqlite"),
        ("sqlite", "postgres"),
    ],
)
@settings(
    deadline=None,
    max_examples=8,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(actions=st.lists(ACTIONS, min_size=1, max_size=14))
def test_every_answer_of_the_past_is_that_of_the_exported_graph(
    source: str, target: str, actions: list[Any]
) -> None:
    with histories.open_store(source) as store, histories.open_store(target) as other:
        player = Player(store)
        for number, action in enumerate(actions):
            with acting(f"caller {number % 3}"):
                player.play(action, {}) if action[0] != "read" else None
        with reading(store) as session:
            oldest = session.read_moment(0)
            if oldest is None:  # upkeep leaves the last row
                return
            first = session.read_event_bounds()[0]
        text = export(player.world)
        world = make_later(other)
        assert take(world, text).errors == 0
        moments = list_moments(store)
        expected, found = answer_all(player.world, moments), answer_all(world, moments)
        for name, value in expected.items():
            if first > 1 and isinstance(value, list):  # the state at the oldest moment is the first
                value = [each for each in value if each.get("time") != as_text(oldest[1])]
            assert found[name] == value, name
        assert not histories.read_texts(other)  # no event is sent of it
        with reading(other) as session:
            assert past_import.read_unfinished(session) is None
        world.put("new")
        again = answer_all(world, moments[:1])
        assert again[as_text(moments[0])] == found[as_text(moments[0])]


def build_source() -> World:
    """A graph with changes of all kinds, of several callers."""
    player = Player(MemoryStore())
    for action in (
        ("put", "a", 1.5),
        ("sensor", "b", "x"),
        ("relate", "a", "b", "x"),
        ("upload", (SPACE,)),
        ("lamp", "c"),
        ("relate", "c", "b", 1),
        ("repatch", "a", 1),
        ("patch", "a", "new"),
        ("decommission",),
        ("unload", LAMP),
        ("relate", "a", "a", 1),
        ("remove", "b"),
    ):
        with acting("alice"):
            player.play(action, {})
    return player.world


@pytest.mark.parametrize("name", ["memory", "sqlite", "postgres"])
def test_a_history_leaves_again_as_it_came(name: str) -> None:
    text = export(build_source())
    with histories.open_store(name) as store:
        world = make_later(store)
        assert take(world, text).errors == 0
        assert _OWN.sub(b"", export(world)) == _OWN.sub(b"", text)


def test_relationships_stay_of_a_twin_that_has_another_model_where_a_history_begins() -> None:
    player = Player(MemoryStore())
    for action in (("prune", 6), ("load", "a", 1, True), ("prune", 8), ("sensor", "a", 1)):
        player.play(action, {})
    text = export(player.world)
    assert b"PastRelationships" in text
    world = make_later(MemoryStore())
    assert take(world, text).errors == 0
    assert _OWN.sub(b"", export(world)) == _OWN.sub(b"", text)


def read_lines(text: bytes) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in text.splitlines()]


def test_a_change_has_who_made_it_and_no_position() -> None:
    *_, lines = itertools.accumulate([read_lines(export(build_source()))])
    changes = lines[lines.index({"Section": "Changes"}) + 1 :]
    assert changes.pop() == {"changes": len(changes)}
    assert {each.get("who") for each in changes[-9:]} == {"alice"}
    assert {"TwinUpdated", "ModelDecommissioned", "ModelDeleted", "RelationshipDeleted"} <= {
        each["change"] for each in changes
    }
    assert not any("position" in each for each in changes)
    off = make_later(MemoryStore(), history={"who": False})
    take(off, export(build_source()))
    assert b'"who"' not in export(off)


def test_without_its_history_the_file_is_the_present_state(world: World) -> None:
    source = build_source()
    world.put("own")
    done = take(world, export(source), changes=False)
    assert (done.errors, done.changes, done.twins) == (0, 0, 2)
    assert world.read("a") == source.read("a")
    assert world.read("own")


@pytest.mark.parametrize("used", ["twin", "emptied", "other"])
def test_a_history_is_only_taken_by_an_empty_graph(empty: World, used: str) -> None:
    if not empty.store.session().keeps_history:
        with pytest.raises(Unsupported, match=r"keeps none\. Import it with --no-changes"):
            take(empty, export(build_source()))
        return
    world = make_later(empty.store)
    text = export(build_source())
    if used == "other":
        with pytest.raises(Interrupted):
            interrupt(world, text, 3)
        text = export(build_source())
    else:
        world.do(world.graph.models.create_models([build_interface("dtmi:test:Own;1")]))
        if used == "emptied":
            world.do(world.graph.models.delete_model("dtmi:test:Own;1"))
    before = export(world)
    with pytest.raises(ImportFileInvalid, match=r"empty graph|another history is unfinished"):
        take(world, text)
    assert export(world) == before
    off = make_later(MemoryStore(), history={"enabled": False})
    with pytest.raises(Unsupported, match="History__Enabled is false"):
        take(off, text)


class Interrupted(BaseException):
    """Stands for the end of the process."""


def interrupt(world: World, text: bytes, chunks: int, *, after: bool = False) -> None:
    """Import until some chunks are stored, before or after the commit of the next."""
    count = itertools.count()

    def stop(*_: Any) -> None:
        if next(count) >= chunks:
            raise Interrupted

    keep, report = (lambda *_: None, stop) if after else (stop, lambda *_: None)
    importer = Importer(world.graph.twins._context, keep, report)
    world.do(importer.run(io.BytesIO(text)))


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_import_goes_on_behind_what_is_stored(after: bool) -> None:
    source, text = build_source(), export(build_source())
    moments = list_moments(source.store)
    text = export(source)
    for chunks in range(99):
        world = make_later(MemoryStore())
        try:
            interrupt(world, text, chunks, after=after)
        except Interrupted:
            with pytest.raises(ImportFileInvalid, match="begin with the first line"):
                take(make_later(MemoryStore()), text, start=replace(BEGIN, line=4))
        else:
            assert chunks > 5
            break
        done = take(world, text)
        expected = read_lines(text)
        assert done.changes == expected[-1]["changes"]
        assert answer_all(world, moments) == answer_all(source, moments)


def test_what_another_writer_stores_meanwhile_is_noticed_and_kept() -> None:
    world, text = make_later(MemoryStore()), export(build_source())
    with pytest.raises(Interrupted):
        interrupt(world, text, 5)
    world.do(world.graph.models.create_models([build_interface("dtmi:test:Own;1")]))
    with pytest.raises(ImportFileInvalid, match="Another writer has changed the graph"):
        take(world, text)
    assert world.store.session().read_model("dtmi:test:Own;1")


def change(lines: list[Any], name: str, **members: Any) -> int:
    """Set members of the last change of this name; return the number of its line."""
    at = max(at for at, line in enumerate(lines) if line.get("change") == name)
    lines[at] = {k: v for k, v in (lines[at] | members).items() if v is not None}
    return at + 1


@pytest.mark.parametrize(
    ("name", "members", "text"),
    [
        ("TwinUpdated", {"change": "TwinUpdate"}, "'TwinUpdate'.*did you mean 'TwinUpdated'"),
        ("TwinUpdated", {"change": 7}, "There is no change"),
        ("TwinUpdated", {"time": "1706702400"}, "time must be a date and time with an offset"),
        ("TwinUpdated", {"time": "2023-01-01T00:00:00Z"}, "before that of the change before it"),
        ("TwinUpdated", {"time": "2999-01-01T00:00:00Z"}, "is in the future"),
        ("TwinUpdated", {"id": "nobody"}, "The document of nobody is of another"),
        ("TwinUpdated", {"id": ["a"]}, "id of a change must be a text"),
        ("TwinUpdated", {"who": {}}, "who of a change must be a text"),
        ("TwinUpdated", {"document": []}, "document of a change must be an object"),
        ("TwinUpdated", {"document": None}, "has no document"),
        ("TwinUpdated", {"position": 4}, "unknown member 'position'"),
        ("TwinUpdated", {"change": "TwinCreated"}, "a is there already"),
        ("TwinDeleted", {"id": "nobody"}, "nobody is not there"),
        ("RelationshipDeleted", {"change": "TwinDeleted", "relationshipId": None}, "relationship"),
        ("RelationshipCreated", {"relationshipId": ""}, "must not be empty|ID"),
        ("RelationshipDeleted", {"relationshipId": "r9"}, "is not there"),
        ("ModelCreated", {"uploadTime": "once"}, "uploadTime must be a date"),
        ("ModelCreated", {"document": {"@id": LAMP, "@type": "Interface"}}, "@context"),
        ("ModelDecommissioned", {"id": "dtmi:test:None;1"}, "dtmi:test:None;1"),
        ("ModelDeleted", {"id": "dtmi:test:None;1"}, "dtmi:test:None;1"),
        ("ModelDeleted", {"id": "lamp"}, "lamp"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_stored(
    name: str, members: dict[str, Any], text: str
) -> None:
    world = make_later(MemoryStore())
    lines = read_lines(export(build_source()))
    number = change(lines, name, **members)
    with pytest.raises(ImportFileInvalid, match=f"(?s)Line {number}: .*({text})"):
        take(world, b"\n".join(map(orjson.dumps, lines)))
    session = world.store.session()
    assert list(session.iterate_twins()) == [] == list(session.read_models(after=0, limit=9))
    assert session.read_moment(0) is None
    assert take(world, export(build_source())).errors == 0  # the graph takes another file


@pytest.mark.parametrize("left", [0, 5])
def test_a_file_that_breaks_off_is_refused(empty: World, left: int) -> None:
    if not empty.store.session().keeps_history:
        pytest.skip("This storage keeps no history.")
    world, lines = make_later(empty.store), export(build_source()).splitlines()
    cut = lines[: len(lines) - 1 - left]
    with pytest.raises(ImportFileInvalid, match="breaks off"):
        take(world, b"\n".join(cut))
    with pytest.raises(ImportFileInvalid, match=r"changes, not"):
        take(world, b"\n".join([*cut[:-1], lines[-1]]))
    assert world.store.session().read_moment(0) is None


def test_a_violation_that_a_model_brought_is_taken_and_another_refused() -> None:
    """Other contents of a model leave its twins as they are."""
    player = Player(MemoryStore())
    source = player.world
    with_property = build_interface(LAMP, [PROPERTY])
    source.do(source.graph.models.create_models([with_property]))
    source.put("a", LAMP, x=1.5)
    source.do(source.graph.models.delete_model(LAMP))
    other = build_interface(LAMP, [{**PROPERTY, "name": "y"}])
    source.do(source.graph.models.create_models([other]))
    source.patch("a", {"op": "add", "path": "/y", "value": 2.5})
    target = make_later(MemoryStore())
    assert take(target, export(source)).errors == 0
    assert target.read("a") == source.read("a")
    lines = read_lines(export(source))
    document = {**lines[-2]["document"], "z": 1}
    number = change(lines, "TwinUpdated", document=document)
    with pytest.raises(ImportFileInvalid, match=f"Line {number}"):
        take(make_later(MemoryStore()), b"\n".join(map(orjson.dumps, lines)))
