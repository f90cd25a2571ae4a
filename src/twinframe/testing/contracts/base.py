"""What the parts of the storage contract share: making stores, running works. No tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import pytest

from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    Outcome,
    RelationshipRecord,
    TwinRecord,
    Work,
)

T = TypeVar("T")


def run(store: GraphStore, work: Work[T]) -> T:
    """Write one work; its result, or its error raised."""
    (outcome,) = store.write([work])
    if outcome.error is not None:
        raise outcome.error
    return cast("T", outcome.result)


def run_all(store: GraphStore, *works: Work[object]) -> Sequence[Outcome[object]]:
    """Write these works in one call."""
    return store.write(works)


def put(store: GraphStore, *records: TwinRecord | RelationshipRecord | ModelRecord) -> None:
    """Store these records in one work: models first (in one call), then the others in order."""

    def work(transaction: GraphTransaction) -> None:
        models = [record for record in records if isinstance(record, ModelRecord)]
        if models:
            transaction.put_models(models)
        for record in records:
            if isinstance(record, TwinRecord):
                transaction.put_twin(record)
            elif isinstance(record, RelationshipRecord):
                transaction.put_relationship(record)

    run(store, work)


@contextmanager
def reading(store: GraphStore) -> Iterator[GraphSession]:
    """A session, closed at the end."""
    session = store.session()
    try:
        yield session
    finally:
        session.close()


class StoreContract:
    """Base of the parts. A driver's test class says how its stores are made."""

    def make_store(self, place: Path) -> GraphStore:
        """A store not yet opened. Stores made for the same `place` hold the same graph.

        `place` is an empty directory that the driver may fill.
        """
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[GraphStore]:
        """An open store; what it holds at the end of the test must be sound."""
        store = self.make_store(tmp_path)
        store.open()
        try:
            yield store
            assert list(store.verify()) == []
        finally:
            store.close()

    @pytest.fixture
    def other(self, store: GraphStore, tmp_path: Path) -> Iterator[GraphStore]:
        """A second open store on the same graph, as another process has it."""
        other = self.make_store(tmp_path)
        other.open()
        try:
            yield other
        finally:
            other.close()
