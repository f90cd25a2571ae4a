"""The holder gives columns of exactly the state that a session sees, or none."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from threading import enumerate as enumerate_threads
from typing import Any

import orjson
import pytest

from tests.waiting import PATIENCE, Threads, join, start
from twinframe.errors import QueryTimeout
from twinframe.storage.base import (
    ChangeKind,
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    TwinRecord,
)
from twinframe.storage.memory import MemoryStore
from twinframe.testing.query_law import MODELS, build_twin_document
from twinframe_columns import holder as holding
from twinframe_columns import making
from twinframe_columns.catch_up import Changes, apply_changes
from twinframe_columns.holder import ProjectionHolder, find_path
from twinframe_columns.making import FileMaker, build_mark
from twinframe_columns.settings import ColumnsSettings

MODEL = next(iter(MODELS))


def put(store: GraphStore, *twins: str, x: int = 0) -> None:
    """Write twins, each with its row in the outbox."""

    def write(transaction: GraphTransaction) -> None:
        for twin in twins:
            body = orjson.dumps(build_twin_document(1, (twin, MODEL, {"x": x})))
            transaction.put_twin(TwinRecord(twin, MODEL, 'W/"1"', body))
            event = OutboxEvent(twin, b"{}", ChangeKind.TWIN_UPDATED, "")
            transaction.append_events([event])

    (outcome,) = store.write([write])
    assert outcome.error is None


def open_store(scratch: Path) -> GraphStore:
    """A store with two twins."""
    made = MemoryStore()
    made.scratch = scratch
    made.open()

    def write(transaction: GraphTransaction) -> None:
        transaction.put_models(
            [ModelRecord(m, b"{}", b"{}", b"{}", up, (), "2026") for m, up in MODELS.items()]
        )

    (outcome,) = made.write([write])
    assert outcome.error is None
    put(made, "a", "b")
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    """A store with two twins, and a file of their columns."""
    made = open_store(tmp_path)
    FileMaker(made, tmp_path / "columns").make(None)
    yield made
    made.close()


@pytest.fixture
def holder(store: GraphStore) -> Iterator[ProjectionHolder]:
    made = ProjectionHolder(store, ColumnsSettings(least_twins=0))
    yield made
    made.close()


def read(holder: ProjectionHolder, session: Any) -> dict[str, float] | None:
    """The values of `x` by twin, as columns have them."""
    with holder.open(session) as projection:
        if projection is None:
            return None
        column = projection.columns[("x",)]
        return {
            twin: float(column.numbers[projection.find_row(twin)])  # type: ignore[index]
            for twin in "abcd"
            if projection.find_row(twin) >= 0
        }


def test_an_older_snapshot_than_that_of_the_columns_gets_none(
    store: GraphStore, holder: ProjectionHolder
) -> None:
    with closing(store.session()) as old, closing(store.session()) as new, old.snapshot():
        assert read(holder, old) == {"a": 0, "b": 0}
        put(store, "a", "c", x=1)
        with new.snapshot():
            assert read(holder, new) == {"a": 1, "b": 0, "c": 1}
        assert read(holder, old) is None
    with closing(store.session()) as again, again.snapshot():
        assert read(holder, again) == {"a": 1, "b": 0, "c": 1}


def test_a_run_that_ends_while_changes_are_applied_leaves_no_half_of_them(
    store: GraphStore, holder: ProjectionHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(store.session()) as old, old.snapshot():
        assert read(holder, old) == {"a": 0, "b": 0}
        put(store, "a", "b", x=1)

        def apply(projection: Any, session: Any, changes: Changes) -> None:
            first = dict.fromkeys([*changes.twins][:1])
            apply_changes(projection, session, replace(changes, twins=first))
            raise QueryTimeout("too late")

        with monkeypatch.context() as patch:
            patch.setattr(holding, "apply_changes", apply)
            with closing(store.session()) as new, new.snapshot(), pytest.raises(QueryTimeout):
                read(holder, new)
        assert read(holder, old) == {"a": 0, "b": 0}
    with closing(store.session()) as new, new.snapshot():
        assert read(holder, new) == {"a": 1, "b": 1}


def test_one_that_waits_for_another_goes_on_without(
    store: GraphStore, holder: ProjectionHolder
) -> None:
    is_open, has_ended = Event(), Event()

    def hold() -> None:
        with closing(store.session()) as session, session.snapshot(), holder.open(session) as found:
            assert found is not None
            is_open.set()
            assert has_ended.wait(PATIENCE)

    with Threads() as pool, closing(store.session()) as session, session.snapshot():
        held = pool.submit(hold)
        assert is_open.wait(PATIENCE)
        assert read(holder, session) is None
        has_ended.set()
        held.result(PATIENCE)
        assert read(holder, session) == {"a": 0, "b": 0}


def test_a_file_that_another_made_is_not_made_again(store: GraphStore, tmp_path: Path) -> None:
    before = (tmp_path / "columns").stat()
    maker = FileMaker(store, tmp_path / "columns")
    maker.make(None)
    maker.make((1, 1))
    assert (tmp_path / "columns").stat().st_ino == before.st_ino
    maker.make((before.st_ino, before.st_mtime_ns))
    assert (tmp_path / "columns").stat().st_mtime_ns > before.st_mtime_ns


def test_more_changes_than_a_query_applies_are_applied_beside_queries(
    store: GraphStore, holder: ProjectionHolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = build_mark((tmp_path / "columns").stat())
    monkeypatch.setattr(holding, "MOST_CHANGES", 2)
    with closing(store.session()) as session:
        assert read(holder, session) == {"a": 0, "b": 0}
        for turn in range(1, 4):
            put(store, "a", "b", "c", x=turn)
            assert read(holder, session) is None
            wait_for(lambda: read(holder, session) is not None)
            assert read(holder, session) == {"a": turn, "b": turn, "c": turn}
    assert build_mark((tmp_path / "columns").stat()) == before


def test_while_queries_come_the_changes_between_them_are_applied_beside_them(
    store: GraphStore, holder: ProjectionHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each query would find more than it applies itself, and none would have columns."""
    monkeypatch.setattr(holding, "MOST_CHANGES", 2)
    with closing(store.session()) as session:
        assert read(holder, session) == {"a": 0, "b": 0}
        put(store, "a", "b", "c", x=1)
        wait_for(lambda: read(holder, session) is not None)
        for turn in range(2, 5):
            for twin in "abc":
                put(store, twin, x=turn)
            last = session.read_event_bounds()[1]
            wait_for(partial(has_position, holder, last))
            assert read(holder, session) == {"a": turn, "b": turn, "c": turn}


def has_position(holder: ProjectionHolder, position: int) -> bool:
    projection = holder._projection
    return projection is not None and projection.position == position


def test_many_changes_of_few_twins_are_applied_at_once(
    store: GraphStore, holder: ProjectionHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "MOST_CHANGES", 2)
    with closing(store.session()) as session:
        assert read(holder, session) == {"a": 0, "b": 0}
        for turn in range(8):
            put(store, "a", "b", x=turn)
        assert read(holder, session) == {"a": 7, "b": 7}


# --- other histories ------------------------------------------------------------------------------


@pytest.fixture
def twin_store(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphStore]:
    """A store of the same identity that went another way, with its file in place of the first's."""
    monkeypatch.setattr(holding, "read_key", lambda session: "the same")
    monkeypatch.setattr(making, "read_key", lambda session: "the same")
    other = open_store(find_path(store).parent)
    put(other, "a", "d", x=5)
    yield other
    other.close()


@pytest.mark.parametrize("more", [0, 2])
def test_the_file_of_a_copy_that_went_another_way_is_not_used(
    store: GraphStore, twin_store: GraphStore, holder: ProjectionHolder, more: int
) -> None:
    replace_file(twin_store)
    make_old(store)
    for turn in range(more):
        put(store, "a", "c", x=turn)
    with closing(store.session()) as session:
        assert read(holder, session) is None
        expected = {"a": 1, "b": 0, "c": 1} if more else {"a": 0, "b": 0}
        wait_for(lambda: read(holder, session) is not None)
        assert read(holder, session) == expected


def test_the_file_of_a_later_state_is_replaced_when_the_graph_was_put_back(
    store: GraphStore, twin_store: GraphStore, holder: ProjectionHolder
) -> None:
    for turn in range(3):
        put(twin_store, "a", "b", x=turn)
    replace_file(twin_store)
    make_old(store)
    with closing(store.session()) as session:
        assert read(holder, session) is None
        wait_for(lambda: read(holder, session) is not None)
        assert read(holder, session) == {"a": 0, "b": 0}
        for turn in range(9):
            put(store, "a", x=turn)
            assert read(holder, session) == {"a": turn, "b": 0}


def test_the_file_of_a_later_state_is_kept_when_the_snapshot_is_an_older_one(
    store: GraphStore, holder: ProjectionHolder
) -> None:
    with closing(store.session()) as old, old.snapshot():
        put(store, "a", x=3)
        replace_file(store)
        make_old(store)
        before = build_mark(find_path(store).stat())
        assert read(holder, old) is None
        with closing(store.session()) as session:
            assert read(holder, session) == {"a": 3, "b": 0}
        holder.close()
    assert build_mark(find_path(store).stat()) == before


def test_without_the_event_at_its_position_only_a_file_of_this_run_is_used(
    store: GraphStore, holder: ProjectionHolder
) -> None:
    def forget(transaction: GraphTransaction) -> None:
        transaction.delete_events(up_to=transaction.read_event_bounds()[1], limit=100)

    with closing(store.session()) as session:
        (outcome,) = store.write([forget])
        assert outcome.error is None
        assert read(holder, session) is None
        wait_for(lambda: read(holder, session) == {"a": 0, "b": 0})
        again = ProjectionHolder(store, ColumnsSettings(least_twins=0))
        assert read(again, session) is None
        wait_for(lambda: read(again, session) == {"a": 0, "b": 0})


def replace_file(store: GraphStore) -> None:
    """Make the file of this store, whatever file is there."""
    path = find_path(store)
    path.unlink()
    FileMaker(store, path).make(None)


def make_old(store: GraphStore) -> None:
    """Let the file be one that was not made just now."""
    os.utime(find_path(store), (1, 1))


# --- ends and failures ----------------------------------------------------------------------------


def test_the_end_of_a_holder_ends_the_process_that_makes_the_file(
    store: GraphStore, holder: ProjectionHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_sending, may_go_on = Event(), Event()
    others = enumerate_threads()  # of other tests

    def hold(session: GraphSession) -> Iterator[Any]:
        for at, part in enumerate(describe(session)):
            yield part
            if at:
                is_sending.set()
                assert may_go_on.wait(PATIENCE)

    describe = making._describe
    monkeypatch.setattr(making, "_describe", hold)
    find_path(store).unlink()
    with closing(store.session()) as session:
        assert read(holder, session) is None
    assert is_sending.wait(PATIENCE)
    process = holder._maker._process
    assert process is not None
    assert process.poll() is None
    ending = start(holder.close)
    assert process.wait(PATIENCE) == -signal.SIGKILL
    may_go_on.set()
    join(ending)
    assert [one.name for one in find_path(store).parent.iterdir()] == ["columns.lock"]
    with closing(store.session()) as session:
        assert read(holder, session) is None
    left = set(enumerate_threads()) - set(others)
    assert [one for one in left if one.name.startswith("columns")] == []


def test_a_file_that_cannot_be_made_is_tried_more_and_more_seldom(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(known: object) -> None:
        raise OSError("No space left on device")

    holder = ProjectionHolder(store, ColumnsSettings(least_twins=0))
    monkeypatch.setattr(holder._maker, "make", fail)
    pauses = []
    for _ in range(9):
        before = time.monotonic()
        holder._make(None)
        pauses.append(round(holder._next - before, -1))
    assert pauses == [10, 20, 40, 80, 160, 320, 600, 600, 600]
    assert len(caplog.records) == 9


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
