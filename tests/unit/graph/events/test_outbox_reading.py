"""Events are made whole as they were at their write, whatever happened to their documents since."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.storages import require
from tests.unit.graph.conftest import World, build_postgres, build_rdf, build_sqlite
from tests.unit.graph.transfer.test_importing import File
from twinframe.errors import TwinframeError
from twinframe.graph.context.model_cache import ModelCache
from twinframe.graph.delivery.reading import build_read
from twinframe.graph.events import differences, outbox, recorder, rows
from twinframe.graph.events.differences import read_difference, render_difference
from twinframe.graph.events.envelope import render_event
from twinframe.graph.twins.removal import Removal
from twinframe.settings import Settings
from twinframe.settings.events import EventsSettings
from twinframe.settings.jobs import JobsSettings
from twinframe.storage.base import ChangeKind, GraphStore, OutboxEvent, TwinRecord
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.base import opening, reading, run
from twinframe.testing.factories import (
    ROOM,
    SENSOR,
    build_building_interfaces,
    build_interface,
)


@contextmanager
def open_store(kind: str) -> Iterator[GraphStore]:
    """Open a new store, which is sound at the end."""
    require(kind)
    with TemporaryDirectory() as folder:
        store: GraphStore = MemoryStore()
        if kind == "postgres":
            store = build_postgres(Path(folder))
        elif kind != "memory":
            store = build_sqlite(Path(folder)) if kind == "sqlite" else build_rdf(kind, None)
        with opening(store):
            yield store


@contextmanager
def keeping_whole(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """Give the text of each event by its id, rendered with its document when it is written."""
    whole: dict[str, bytes] = {}
    bodies: list[bytes] = []
    heads: list[tuple[Any, bytes, bytes]] = []
    build_digest, render_row = rows.build_digest, rows.render_row

    def keep_body(document: bytes) -> str:
        bodies.append(document)
        return build_digest(document)

    def keep_row(
        head: Any, data: bytes = b"", notes: bytes = b"", difference: bytes = b""
    ) -> bytes:
        heads.append((head, bodies[-1] if head[4] else data, notes))
        return render_row(head, data, notes, difference)

    def keep_event(
        subject: str, body: bytes, kind: ChangeKind, relation: str = "", *rest: Any
    ) -> OutboxEvent:
        (guid, time, source, trace, *_), data, notes = heads[-1]
        about = f"{subject}/relationships/{relation}" if relation else subject
        if guid:
            text = render_event(
                rows.EVENT_TYPES[kind], source, about, time, data, None, guid, trace
            )
            whole[guid] = b"%b\n%b" % (text, notes) if notes else text
        return OutboxEvent(subject, body, kind, relation, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(recorder, "build_digest", keep_body)
        patched.setattr(recorder, "render_row", keep_row)
        patched.setattr(recorder, "OutboxEvent", keep_event)
        yield whole


def read_texts(store: GraphStore, *, after: int = 0) -> dict[str, bytes]:
    """Every event by its id."""
    with reading(store) as session:
        found = outbox.read_events(session, after=after, limit=9999)
    texts = {}
    for _, read in found:
        assert read.text is not None
        if read.text:
            texts[orjson.loads(read.text.partition(b"\n")[0])["id"]] = read.text
    return texts


def check(store: GraphStore, whole: dict[str, bytes], *, some: bool = False) -> None:
    texts = read_texts(store)
    assert texts.keys() <= whole.keys() if some else texts.keys() == whole.keys()
    for guid, text in texts.items():
        assert text == whole[guid]


IDS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from([0, 1.5, -0.0, 1e22, "", '\u00e9\n"\\', "x" * 300, None, True, 2**53])
ACTIONS = st.one_of(
    st.tuples(st.just("put"), IDS, VALUES),
    st.tuples(st.just("sensor"), IDS, VALUES),
    st.tuples(st.just("patch"), IDS, VALUES),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("remove"), IDS),
    st.tuples(st.just("relate"), IDS, IDS, VALUES),
    st.tuples(st.just("repatch"), IDS, VALUES),
    st.tuples(st.just("part"), IDS),
    st.tuples(st.just("load"), IDS, VALUES, st.booleans()),
    st.tuples(st.just("read")),
    st.tuples(st.just("prune"), st.integers(1, 9)),
)


def build_name(value: Any) -> str:
    return "v" if value is None else str(value)


class Player:
    """Plays actions on a graph, also such that are refused."""

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        self.world = World(store, Settings())
        self.silent = World(store, Settings(jobs=JobsSettings(events=False)))
        self.world.do(self.world.graph.models.create_models(build_building_interfaces()))

    def play(self, action: tuple[Any, ...], whole: dict[str, bytes]) -> None:
        name, *arguments = action
        if name == "read":
            check(self.store, whole, some=True)
        elif name == "prune":
            with reading(self.store) as session:
                end = session.read_event_bounds()[0] + arguments[0] - 1
            run(self.store, lambda t: t.delete_events(up_to=end, limit=9))
        else:
            with suppress(TwinframeError):
                getattr(self, name)(*arguments)

    def put(self, twin_id: str, value: Any) -> None:
        members = (
            {"temperature": value} if isinstance(value, float) else {"name": build_name(value)}
        )
        self.world.put(twin_id, **members, thermostat={"$metadata": {}, "setPoint": 5.0})

    def sensor(self, twin_id: str, value: Any) -> None:
        self.world.put(twin_id, SENSOR, serial=build_name(value))

    def patch(self, twin_id: str, value: Any) -> None:
        operation = {"op": "add", "path": "/name", "value": build_name(value)}
        if value is None:
            operation = {"op": "remove", "path": "/name"}
        self.world.do(self.world.graph.twins.patch_twin(twin_id, [operation]))

    def part(self, twin_id: str) -> None:
        patch = [{"op": "replace", "path": "/setPoint", "value": 7.5}]
        graph = self.world.graph
        self.world.do(graph.components.patch_component(twin_id, "thermostat", patch))

    def delete(self, twin_id: str) -> None:
        self.world.do(self.world.graph.twins.delete_twin(twin_id))

    def remove(self, twin_id: str) -> None:
        self.world.do(Removal(self.world.graph.twins._context).remove_twin(twin_id))

    def relate(self, source: str, target: str, value: Any) -> None:
        if isinstance(value, str):
            self.world.relate(source, "r1", target, "watchedBy", since="2024-01-01")
        else:
            self.world.relate(source, "r1", target)

    def repatch(self, source: str, value: Any) -> None:
        patch = [{"op": "add", "path": "/since", "value": "2024-02-01"}]
        if value is None:
            patch = [{"op": "remove", "path": "/since"}]
        self.world.do(self.world.graph.relationships.patch_relationship(source, "r1", patch))

    def load(self, twin_id: str, value: Any, silently: bool) -> None:
        file = File()
        file.section(
            "Twins",
            file.twin(twin_id, name=build_name(value)),
            file.twin("z", temperature=1.5),
            file.twin(twin_id, name="again"),
        )
        file.section("Relationships", file.edge(twin_id, "r1", "z"), file.edge("z", "r2", twin_id))
        world = self.silent if silently else self.world
        world.do(world.graph.portable.import_graph(io.BytesIO(file.render())))


@pytest.mark.parametrize("kind", ["memory", "sqlite", "oxigraph"])
@pytest.mark.parametrize("is_whole", [True, False])
@settings(
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(actions=st.lists(ACTIONS, min_size=1, max_size=20))
def test_events_read_later_are_those_that_were_written(
    monkeypatch: pytest.MonkeyPatch, kind: str, is_whole: bool, actions: list[tuple[Any, ...]]
) -> None:
    with monkeypatch.context() as patched, open_store(kind) as store:
        patched.setattr(differences, "getrandbits", lambda _: not is_whole)
        with keeping_whole(patched) as whole:
            player = Player(store)
            for action in actions:
                player.play(action, whole)
            check(store, whole, some=any(name == "prune" for name, *_ in actions))


def test_a_twin_that_changed_often_is_told_as_it_was_created(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differences, "getrandbits", lambda _: 1)
    created = world.put("a", temperature=0.5)
    for at in range(100):
        patch = [{"op": "replace", "path": "/temperature", "value": at + 1.0}]
        world.do(world.graph.twins.patch_twin("a", patch))
    (first, *_) = [
        orjson.loads(text) for text in read_texts(world.store).values() if b"Twin.Create" in text
    ]
    assert first["data"] == created


@pytest.mark.parametrize("by_job", [False, True])
def test_a_twin_that_changed_without_events_is_told_as_it_was_created(
    world: Any, by_job: bool
) -> None:
    created = world.put("a", temperature=0.5)
    before = read_texts(world.store)
    without_jobs = Settings(jobs=JobsSettings(events=False))
    without_all = Settings(events=EventsSettings(enabled=False))
    other = World(world.store, without_jobs if by_job else without_all)
    file = File()
    file.section("Twins", file.twin("a", name="new"), file.twin("b"))
    file.section("Relationships", file.edge("a", "r", "b"))
    other.do(other.graph.portable.import_graph(io.BytesIO(file.render())))
    assert read_texts(world.store) == before
    texts = [orjson.loads(text) for text in before.values()]
    assert [text["data"] for text in texts if text["subject"] == "a"] == [created]


def test_every_write_makes_a_row_whatever_the_settings(world: Any) -> None:
    for settings_ in (
        Settings(),
        Settings(events=EventsSettings(enabled=False)),
        Settings(jobs=JobsSettings(events=False)),
    ):
        own = World(world.store, settings_)
        with reading(world.store) as session:
            after = session.read_event_bounds()[1]
        own.put("a", temperature=1.0)
        own.put("a", temperature=2.0)
        own.patch("a", {"op": "add", "path": "/name", "value": "n"})
        own.put("b")
        own.relate("a", "r", "b")
        own.relate("a", "r", "b")
        own.do(own.graph.models.create_models([build_interface("dtmi:test:Lamp;1")]))
        own.do(own.graph.models.delete_model("dtmi:test:Lamp;1"))
        file = File().section("Models", build_interface("dtmi:test:Desk;1"))
        file.section("Twins", file.twin("a"), file.twin("c"))
        file.section("Relationships", file.edge("a", "r", "b"), file.edge("c", "r", "b"))
        own.do(own.graph.portable.import_graph(io.BytesIO(file.render())))
        own.do(own.graph.models.delete_model("dtmi:test:Desk;1"))
        for twin_id in ("a", "c", "b"):
            own.do(Removal(own.graph.twins._context).remove_twin(twin_id))
        with reading(world.store) as session:
            page = session.read_changes(after=after, limit=99)
        assert page.is_complete
        assert [(x.kind.name, x.subject, x.relationship_id) for x in page.changes] == [
            ("TWIN_CREATED", "a", ""),
            ("TWIN_UPDATED", "a", ""),
            ("TWIN_UPDATED", "a", ""),
            ("TWIN_CREATED", "b", ""),
            ("RELATIONSHIP_CREATED", "a", "r"),
            ("RELATIONSHIP_UPDATED", "a", "r"),
            ("MODEL_CREATED", "dtmi:test:Lamp;1", ""),
            ("MODEL_DELETED", "dtmi:test:Lamp;1", ""),
            ("MODEL_CREATED", "dtmi:test:Desk;1", ""),
            ("TWIN_UPDATED", "a", ""),
            ("TWIN_CREATED", "c", ""),
            ("RELATIONSHIP_UPDATED", "a", "r"),
            ("RELATIONSHIP_CREATED", "c", "r"),
            ("MODEL_DELETED", "dtmi:test:Desk;1", ""),
            ("RELATIONSHIP_DELETED", "a", "r"),
            ("TWIN_DELETED", "a", ""),
            ("RELATIONSHIP_DELETED", "c", "r"),
            ("TWIN_DELETED", "c", ""),
            ("TWIN_DELETED", "b", ""),
        ]


def test_the_row_of_a_new_twin_has_no_document(world: Any) -> None:
    world.put("a", name="x" * 5000)
    with reading(world.store) as session:
        _, event = session.read_events(after=0, limit=99)[-1]
    assert event.kind == ChangeKind.TWIN_CREATED
    assert len(event.body) < 150


def test_an_event_whose_later_rows_are_lost_counts_as_missed(world: Any) -> None:
    world.put("a", temperature=1.0)
    with reading(world.store) as session:
        last = session.read_event_bounds()[1]
    record = TwinRecord("a", ROOM, 'W/"x"', orjson.dumps({"$dtId": "a", "$etag": 'W/"x"'}))
    run(world.store, lambda t: t.put_twin(record))  # a write that makes no row
    with reading(world.store) as session:
        batch = build_read(ModelCache(), last - 1, None, 9)(session)
    assert (batch.events, batch.missed, batch.position) == ([], 1, last)


TEXTS = st.one_of(
    st.binary(max_size=300),
    st.builds(
        lambda part, count: part * count, st.binary(min_size=1, max_size=40), st.integers(0, 3000)
    ),
)


@given(st.lists(TEXTS, max_size=6), st.lists(TEXTS, max_size=6), TEXTS, st.booleans())
def test_a_difference_gives_the_earlier_text(
    one: list[bytes], other: list[bytes], note: bytes, is_whole: bool
) -> None:
    before, source = (
        b"".join(texts).replace(b"\n", b"") for texts in (one, [*one[:3], *other, *one[2:]])
    )
    notes = b"".join([note, *one[1:3], note])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(differences, "getrandbits", lambda _: not is_whole)
        difference = render_difference(before, source, notes)
    assert b"\n" not in difference
    assert read_difference(difference, source, notes) == before


@pytest.mark.parametrize("size", [200, 8_000, 400_000])
def test_a_small_change_of_a_large_document_is_a_small_difference(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(differences, "getrandbits", lambda _: 1)
    values = Random(1).sample(range(10**9), size // 10)
    before = orjson.dumps({"$etag": "1", "a": 1, "many": values, "z": 1, "$metadata": "t1"})
    after = orjson.dumps({"$etag": "2", "a": 5000, "many": values, "z": 222, "$metadata": "t2"})
    difference = render_difference(before, after)
    assert len(difference) < 1500
    assert read_difference(difference, after) == before


def test_a_large_value_that_was_replaced_is_kept_once(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differences, "getrandbits", lambda _: 1)
    old, new = (Random(seed).randbytes(10_000).hex() for seed in (1, 2))
    created = world.put("a", name=old)
    world.patch("a", {"op": "replace", "path": "/name", "value": new})
    with reading(world.store) as session:
        _, event = session.read_events(after=0, limit=99)[-1]
        ((_, first), *_) = outbox.read_events(
            session, after=session.read_event_bounds()[1] - 2, limit=9
        )
    assert len(event.body) < len(old) + len(new) + 1000
    assert first.text is not None
    assert orjson.loads(first.text)["data"] == created
