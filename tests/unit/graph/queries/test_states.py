"""Copies of earlier states are made when they are worth it, are bounded, and lost at a restore."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.graph.conftest import World, build_sqlite
from tests.unit.graph.history.test_past_queries import NAMES, ask, find_last, read_engines
from twinframe.errors import HistoryNotKept, QueryTimeout
from twinframe.graph.queries import states
from twinframe.settings import QuerySettings, Settings
from twinframe.settings.history import HistorySettings
from twinframe.storage.backups import Backups
from twinframe.storage.base import GraphStore
from twinframe.testing.contracts.base import opening, reading, run
from twinframe.testing.factories import build_building_interfaces

_BYTES = 2**25


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphStore]:
    monkeypatch.setattr(states, "_SHARE", 0.0)
    with opening(build_sqlite(tmp_path)) as store:
        yield store


def open_world(store: GraphStore, most_bytes: int = _BYTES, count: int = 3) -> tuple[World, Any]:
    """A graph in which a twin was changed so often, and the positions before that."""
    world = World(store, Settings(history=HistorySettings(copies_bytes=most_bytes)))
    world.do(world.graph.models.create_models(build_building_interfaces()))
    world.put("a", name="name0")
    found = [find_last(world)[0]]
    for number in range(1, count + 1):
        world.put("a", name=f"name{number}")
        found.append(find_last(world)[0])
    return world, found


def list_copies(store: GraphStore) -> list[int]:
    assert store.scratch is not None
    return sorted(int(path.stem) for path in store.scratch.glob("*.state"))


def find_copy(store: GraphStore, position: int) -> Path:
    assert store.scratch is not None
    return store.scratch / f"{position}.state"


def test_a_copy_is_made_once_questions_took_a_share_of_its_price(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, (position, *_) = open_world(store)
    monkeypatch.setattr(states, "_SHARE", 1e9)
    for _ in range(3):
        assert ask(world, NAMES, position)[0] == [b'{"name":"name0"}']
        assert read_engines(world, NAMES, position) == []
    monkeypatch.setattr(states, "_SHARE", 0.0)
    ask(world, NAMES, position)
    assert list_copies(store) == [position]
    assert read_engines(world, NAMES, position) == ["sqlite"]
    assert ask(world, NAMES, position)[0] == [b'{"name":"name0"}']


def test_questions_that_fail_count_for_the_copy_that_answers_them(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "_SECONDS", 0.0)
    monkeypatch.setattr(states, "_SECONDS_AN_ENTITY", 1e-9)
    world, (position, *_) = open_world(store)
    text = "MATCH (a) UNWIND range(1, 200000) AS i RETURN count(DISTINCT i) AS c"
    narrow = World(store, world.settings.model_copy(update={"query": QuerySettings(max_rows=100)}))
    assert ask(narrow, text, position) == "LimitExceeded"
    assert list_copies(store) == []
    assert ask(narrow, NAMES, position)[0] == [b'{"name":"name0"}']
    assert list_copies(store) == [position]
    assert read_engines(narrow, NAMES, position) == ["sqlite"]


def test_no_copy_is_made_where_none_may_be(store: GraphStore) -> None:
    world, (position, *_) = open_world(store, most_bytes=0)
    for _ in range(2):
        assert ask(world, NAMES, position)[0] == [b'{"name":"name0"}']
    assert list_copies(store) == []


def test_a_state_that_is_too_large_is_read_without_a_copy(store: GraphStore) -> None:
    world, (position, *_) = open_world(store, most_bytes=200_000)
    for _ in range(3):
        assert ask(world, NAMES, position)[0] == [b'{"name":"name0"}']
    assert store.scratch is not None
    assert [path for path in store.scratch.iterdir() if ".state" in path.name] == []


def test_the_copies_that_were_unused_for_longest_make_room(store: GraphStore) -> None:
    world, positions = open_world(store, count=4)
    ask(world, NAMES, positions[0])
    size = find_copy(store, positions[0]).stat().st_size
    world = World(store, Settings(history=HistorySettings(copies_bytes=4 * size)))
    for position in positions[1:3]:
        ask(world, NAMES, position)
    os.utime(find_copy(store, positions[0]))
    os.utime(find_copy(store, positions[1]), (0, 0))  # long ago: its lifetime is over
    os.utime(find_copy(store, positions[2]))
    ask(world, NAMES, positions[3])
    assert list_copies(store) == [positions[at] for at in (0, 2, 3)]
    ask(world, NAMES, positions[1])  # made again by this question
    assert list_copies(store) == positions[1:4]


def test_a_copy_is_lost_at_a_restore_and_not_read_for_what_is_no_longer_kept(
    store: GraphStore, tmp_path: Path
) -> None:
    world, positions = open_world(store)
    ask(world, NAMES, positions[0])
    assert isinstance(store, Backups)
    target = tmp_path / "copies" / "backup"
    target.parent.mkdir()
    store.back_up(target)
    world.put("a", name="lost")
    ask(world, NAMES, positions[-1])
    run(store, lambda transaction: transaction.delete_events(up_to=positions[1], limit=99))
    with pytest.raises(HistoryNotKept):
        world.do(world.graph.queries.run(NAMES, as_of=positions[0]))
    assert ask(world, NAMES, positions[-1])[0] == [b'{"name":"name3"}']

    store.close()
    store.restore(target, 5)
    store.open()
    assert list_copies(store) == []
    world = World(store, world.settings)
    world.put("a", name="other")  # has the position that the lost change had
    assert find_last(world)[0] == positions[-1] + 1
    world.put("a", name="later")
    for _ in range(2):
        assert ask(world, NAMES, positions[-1] + 1)[0] == [b'{"name":"other"}']


def test_a_damaged_copy_is_removed(store: GraphStore) -> None:
    world, (position, *_) = open_world(store)
    ask(world, NAMES, position)
    find_copy(store, position).write_bytes(b"x" * 8192)
    assert ask(world, NAMES, position) == "StorageDamaged"
    assert ask(world, NAMES, position)[0] == [b'{"name":"name0"}']


def test_what_runs_on_a_copy_is_stopped_with_its_session(store: GraphStore) -> None:
    world, (position, *_) = open_world(store)
    ask(world, NAMES, position)
    long = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 99999999) "
    with (
        reading(store) as session,
        session.snapshot(),
        session.open_state(find_copy(store, position)) as copy,  # type: ignore[attr-defined]
        copy.snapshot(),
    ):
        session.interrupt()
        with pytest.raises(QueryTimeout):
            copy.read_one(f"{long} SELECT max(i) FROM n")
