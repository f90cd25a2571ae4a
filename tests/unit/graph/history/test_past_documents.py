"""Documents of the past are those that were stored then, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.graph.events import test_outbox_reading as histories
from twinframe.graph.events import differences
from twinframe.graph.history.documents import read_documents
from twinframe.storage.base import EntityKey, GraphSession, GraphStore
from twinframe.testing.contracts.base import reading

KEYS: list[EntityKey] = [(t, "") for t in "abcz"] + [(t, r) for t in "abcz" for r in ("r1", "r2")]


def dump(store: GraphStore) -> tuple[int, int, dict[EntityKey, bytes]]:
    """First and last position, and all documents."""
    with reading(store) as session:
        twins = {(each.twin_id, ""): each.body for each in session.iterate_twins()}
        edges = {
            (each.source_id, each.relationship_id): each.body
            for each in session.iterate_relationships()
        }
        return (*session.read_event_bounds(), {**twins, **edges})


def read_at(session: GraphSession, position: int) -> dict[EntityKey, bytes]:
    with session.snapshot():
        together = dict(read_documents(session, KEYS, position))
        for key in KEYS:
            assert read_documents(session, [key], position).get(key) == together.get(key)
    return together


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("bits", [0, 1, None])
@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(actions=st.lists(histories.ACTIONS, min_size=1, max_size=20))
def test_every_document_of_every_kept_state_is_found(
    monkeypatch: pytest.MonkeyPatch, kind: str, bits: int | None, actions: list[tuple[Any, ...]]
) -> None:
    with monkeypatch.context() as patched, histories.open_store(kind) as store:
        if bits is not None:
            patched.setattr(differences, "getrandbits", lambda _: bits)
        player = histories.Player(store)
        dumps: dict[int, dict[EntityKey, bytes]] = {}
        for action in actions:
            if action[0] != "read":
                player.play(action, {})
            first, last, documents = dump(store)
            dumps[last] = documents
        with reading(store) as session:
            for position, documents in dumps.items():
                if position >= first - 1:
                    assert read_at(session, position) == documents


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("size", [10, 20_000])
def test_documents_behind_long_ways_are_found_together(
    monkeypatch: pytest.MonkeyPatch, kind: str, size: int
) -> None:
    with monkeypatch.context() as patched, histories.open_store(kind) as store:
        patched.setattr(differences, "getrandbits", lambda _: 1)
        player = histories.Player(store)
        for twin_id in "abc":
            player.world.put(twin_id, name="x" * size)
        position, documents = dump(store)[1:]
        for at in range(40):
            for twin_id in "abc"[: 1 + at % 3]:
                player.world.put(twin_id, name=f"{at}" * (size // 2))
        player.delete("b")
        with reading(store) as session:
            assert read_at(session, position) == documents
