"""The fixtures and helpers that the parts of the storage contract share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TypeVar, cast

import orjson
import pytest

from twinframe.model.values import JsonValue
from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    Outcome,
    RelationshipRecord,
    TwinRecord,
    WriteFunction,
)

T = TypeVar("T")


EXACT: tuple[tuple[str, JsonValue], ...] = (
    ("an empty string", ""),
    ("quotes and a backslash", "a\"b'c\\d"),
    ("characters beyond the basic plane", "\U0001f3e2\U00010ffd"),
    ("combining forms kept apart", "e\u0301 \u00e9"),
    ("a right-to-left mark and a line separator", "\u200f\u2028"),
    ("SQL and SPARQL metacharacters", "'; DROP TABLE x; -- ?x } # %"),
    ("the largest integer", 2**63 - 1),
    ("the smallest integer", -(2**63)),
    ("a float", 0.1 + 0.2),
    ("a tiny float", 5e-324),
    ("a huge float", 1.7976931348623157e308),
    ("an integral float", 68.0),
    ("true beside one", [True, 1, False, 0]),
    ("a nested value", {"a": [{"b": {"": [[]]}}], "c.d": {"$e": None}}),
    ("keys in their order", {"z": 1, "a": 2, "m": 3}),
    ("keys that look like paths", {"a/b": 1, "~0": 2, "[0]": 3, '"': 4}),
)
"""Values that engines are known to change, with the reason: stored documents must keep them."""


def spelling(body: bytes) -> bytes:
    """Return bytes that are equal just when two documents are: order, types and numbers
    included.
    """
    return orjson.dumps(orjson.loads(body))


def run(store: GraphStore, function: WriteFunction[T]) -> T:
    """Run one write function; return its result, or raise its error."""
    (outcome,) = store.write([function])
    if outcome.error is not None:
        raise outcome.error
    return cast("T", outcome.result)


def run_all(store: GraphStore, *functions: WriteFunction[object]) -> Sequence[Outcome[object]]:
    """Run these write functions in one call."""
    return store.write(functions)


def put(store: GraphStore, *records: TwinRecord | RelationshipRecord | ModelRecord) -> None:
    """Store these records in one transaction: models first (in one call), then the others in
    order.
    """

    def apply(transaction: GraphTransaction) -> None:
        models = [record for record in records if isinstance(record, ModelRecord)]
        if models:
            transaction.put_models(models)
        for record in records:
            if isinstance(record, TwinRecord):
                transaction.put_twin(record)
            elif isinstance(record, RelationshipRecord):
                transaction.put_relationship(record)

    run(store, apply)


def reading(store: GraphStore) -> AbstractContextManager[GraphSession]:
    """Open a session, closed at the end."""
    return closing(store.session())


@contextmanager
def opening(store: GraphStore) -> Iterator[GraphStore]:
    """Open a store, which must be sound at the end, and is closed."""
    store.open()
    try:
        yield store
        assert list(store.verify()) == []
    finally:
        store.close()


class StoreContract:
    """Base of the parts. A driver's test class defines how its stores are made."""

    def make_store(self, place: Path) -> GraphStore:
        """Make a store, without opening it. Stores made for the same `place` hold the same graph.

        `place` is an empty directory that the driver may fill.
        """
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[GraphStore]:
        """An open store, which must be sound at the end of the test."""
        with opening(self.make_store(tmp_path)) as store:
            yield store

    @pytest.fixture
    def other(self, store: GraphStore, tmp_path: Path) -> Iterator[GraphStore]:
        """A second open store on the same graph, as another process has it."""
        other = self.make_store(tmp_path)
        other.open()
        try:
            yield other
        finally:
            other.close()
