"""Stores in a directory of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

MakeStore = Callable[..., SqliteGraphStore]


@pytest.fixture
def make_store(tmp_path: Path) -> Iterator[MakeStore]:
    """Opens stores of the graph `graph` with these settings; all are closed at the end."""
    opened = []

    def make(**settings: Any) -> SqliteGraphStore:
        store = SqliteGraphStore(SqliteSettings(directory=str(tmp_path), **settings), "graph")
        store.open()
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> SqliteGraphStore:
    """An open store with default settings."""
    return make_store()


@pytest.fixture
def session(store: SqliteGraphStore) -> Iterator[SqliteSession]:
    """A session of `store`."""
    session = store.session()
    yield session
    session.close()
