"""The fixtures and helpers that the parts of the control store's contract share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Final, TypeVar, cast

import pytest

from twinframe.storage.control import (
    Condition,
    ControlSession,
    ControlStore,
    ControlWriteFunction,
    Key,
    Record,
    RecordKind,
)

T = TypeVar("T")

THING: Final = RecordKind(
    "thing",
    keys=("place", "name", "rank", "note"),
    unique=(("place", "name"), ("note",)),
    indexes=(("place", "rank"),),
)
PLAIN: Final = RecordKind("plain")
KINDS: Final = (THING, PLAIN)
"""The kinds with which the contract's stores are opened."""


def build_thing(record_id: str, body: bytes = b"{}", version: int = 0, **keys: Key) -> Record:
    """A thing with these keys."""
    return Record(THING.name, record_id, body, keys, version)


def run(store: ControlStore, function: ControlWriteFunction[T]) -> T:
    """Run one write function; return its result, or raise its error."""
    (outcome,) = store.write([function])
    if outcome.error is not None:
        raise outcome.error
    return cast("T", outcome.result)


def insert(store: ControlStore, *records: Record) -> list[Record]:
    """Insert these in one transaction; return them as stored."""
    return run(store, lambda transaction: [transaction.insert(record) for record in records])


def reading(store: ControlStore) -> AbstractContextManager[ControlSession]:
    """Open a session, closed at the end."""
    return closing(store.session())


def read_ids(store: ControlStore, *conditions: Condition) -> list[str]:
    """Ids of the things that meet all conditions, sorted."""
    with reading(store) as session:
        return [record.id for record in session.find(THING.name, conditions)]


class ControlContract:
    """Base of the parts. A driver's test class defines how its stores are made."""

    def make_opener(self, place: Path) -> Callable[[], ControlStore]:
        """Return a function that makes a store without opening it. All that it makes hold the same
        records.

        `place` is an empty directory that the driver may fill. If other processes can share the
        records, the function must be picklable: `functools.partial(MyStore, place)`.
        """
        raise NotImplementedError

    @pytest.fixture
    def opener(self, tmp_path: Path) -> Callable[[], ControlStore]:
        """Makes and opens stores on the same records; the test closes them."""
        return partial(open_store, self.make_opener(tmp_path))

    @pytest.fixture
    def store(self, opener: Callable[[], ControlStore]) -> Iterator[ControlStore]:
        """An open store, which must be sound at the end of the test."""
        store = opener()
        try:
            yield store
            assert list(store.verify()) == []
        finally:
            store.close()

    @pytest.fixture
    def other(
        self, store: ControlStore, opener: Callable[[], ControlStore]
    ) -> Iterator[ControlStore]:
        """A second open store on the same records, as another process has it."""
        del store  # it comes first
        other = opener()
        try:
            yield other
        finally:
            other.close()


def open_store(make: Callable[[], ControlStore]) -> ControlStore:
    """Make a store and open it with the kinds of the contract."""
    store = make()
    store.open(KINDS)
    return store
