"""A session over a slow store reads ahead, but holds no more than it may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pytest

from twinframe.model.values import Node
from twinframe.query.algebra import Direction
from twinframe.query.reader import Hop
from twinframe.storage import prefetching
from twinframe.storage.base import GraphStore, GraphTransaction, RelationshipRecord
from twinframe.storage.memory import MemorySession, MemoryStore
from twinframe.storage.prefetching import PrefetchingSession
from twinframe.testing.contracts.base import run
from twinframe.testing.factories import build_twin_record


class Counting(MemorySession):
    """Notes how many things each read asks for."""

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        asked.append(len(ids))
        return super().read_nodes(ids)

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        wanted = [*origins]
        asked.append(len(wanted))
        return super().read_hops(wanted, direction, types)


class Prefetching(PrefetchingSession, Counting):
    """A session of a store to which requests are slow."""


asked: list[int] = []
_TWINS = 300


@pytest.fixture
def session() -> Iterator[Prefetching]:
    store = MemoryStore()
    store.open()
    _fill(store)
    graph = store._graph
    asked.clear()
    found = Prefetching(graph.instance, lambda: graph.state)
    yield found
    found.close()


def _fill(store: GraphStore) -> None:
    def write(transaction: GraphTransaction) -> None:
        for number in range(_TWINS):
            transaction.put_twin(build_twin_record(f"t{number}", text="x" * 1000))
        for number in range(1, _TWINS):
            ends = f"t{number}", "r", "next", f"t{number - 1}"
            transaction.put_relationship(RelationshipRecord(*ends, "1", b"{}"))

    run(store, write)


def _walk(session: Prefetching) -> None:
    """Read the neighbor of each twin by itself, as a condition on each does."""
    for node in session.scan_nodes(None):
        for hop in session.read_hops((node.id,), Direction.OUTGOING, ()):
            assert session.read_nodes((hop.reached,))[hop.reached].id == hop.reached


def test_reads_do_not_grow_with_the_twins(session: Prefetching) -> None:
    with session.snapshot():
        _walk(session)
    assert sum(asked) >= 2 * (_TWINS - 1)
    assert len(asked) < 30
    asked.clear()
    _walk(session)
    assert len(asked) == 2 * _TWINS - 1, "outside of a snapshot each read sees the newest state"


def test_what_is_large_is_neither_read_far_ahead_nor_kept(
    session: Prefetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefetching, "_BYTES_AHEAD", 20_000)
    monkeypatch.setattr(prefetching, "_MOST_BYTES", 50_000)
    with session.snapshot():
        _walk(session)
        nodes = session._nodes
        assert nodes._bytes < 100_000
        assert len(nodes._found) < 60


def test_the_first_hops_come_as_they_are_read(session: Prefetching) -> None:
    with session.snapshot():
        hops = session.read_hops(("t1",), Direction.BOTH, ())
        assert next(hops).reached in {"t0", "t2"}
        hops.close()  # type: ignore[attr-defined]  # it is a generator
        assert len([*session.read_hops(("t1",), Direction.BOTH, ())]) == 2
