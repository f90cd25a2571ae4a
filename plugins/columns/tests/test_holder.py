"""The holder gives columns of exactly the state that a session sees, or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import orjson
import pytest

from tests.waiting import PATIENCE, Threads
from twinframe.errors import QueryTimeout
from twinframe.storage.base import (
    ChangeKind,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    TwinRecord,
)
from twinframe.storage.memory import MemoryStore
from twinframe.testing.query_law import MODELS, build_twin_document
from twinframe_columns import holder as holding
from twinframe_columns.catch_up import apply_changes
from twinframe_columns.holder import ProjectionHolder
from twinframe_columns.making import make_file
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


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    """A store with two twins, and a file of their columns."""
    made = MemoryStore()
    made.scratch = tmp_path
    made.open()

    def write(transaction: GraphTransaction) -> None:
        transaction.put_models(
            [ModelRecord(m, b"{}", b"{}", b"{}", up, (), "2026") for m, up in MODELS.items()]
        )

    (outcome,) = made.write([write])
    assert outcome.error is None
    put(made, "a", "b")
    make_file(made, tmp_path / "columns", None)
    yield made
    made.close()


@pytest.fixture
def holder(store: GraphStore) -> ProjectionHolder:
    return ProjectionHolder(store, ColumnsSettings(least_twins=0))


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

        def apply(projection: Any, session: Any, changes: Any, position: int) -> None:
            apply_changes(projection, session, changes[:1], projection.position)
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
    make_file(store, tmp_path / "columns", None)
    make_file(store, tmp_path / "columns", (1, 1))
    assert (tmp_path / "columns").stat().st_ino == before.st_ino
    make_file(store, tmp_path / "columns", (before.st_ino, before.st_mtime_ns))
    assert (tmp_path / "columns").stat().st_mtime_ns > before.st_mtime_ns


def test_more_changes_than_a_query_applies_are_left_to_a_new_file(
    store: GraphStore, holder: ProjectionHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(store.session()) as session:
        assert read(holder, session) == {"a": 0, "b": 0}
        monkeypatch.setattr(holding, "MOST_CHANGES", 2)
        put(store, "a", "b", "c", x=1)
        assert read(holder, session) is None
        wait_for(lambda: read(holder, session) == {"a": 1, "b": 1, "c": 1})


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
