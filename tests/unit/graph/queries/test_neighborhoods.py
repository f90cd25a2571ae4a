"""Neighbourhoods: twins by hop, the ways to them, filters, pages, and where a walk stops."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.graph.conftest import World
from twinframe.errors import InvalidArgument, InvalidContinuationToken, TwinNotFound
from twinframe.graph.queries import neighborhood
from twinframe.graph.queries.neighborhood import Neighborhood, Walk
from twinframe.query.algebra import Direction
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import ROOM, SENSOR, SPACE, build_building_interfaces


def walk(world: Any, twin_id: str, hops: int = 3, **more: Any) -> Neighborhood:
    found: Neighborhood = world.do(world.graph.neighborhoods.walk(Walk(twin_id, hops, **more)))
    return found


def list_ids(found: Neighborhood) -> list[tuple[int, str]]:
    return [(hop, node.id) for hop, node in found.twins]


@pytest.fixture
def chain(world: Any) -> Any:
    """a -> b -> c -> d, and a sensor at c."""
    for twin_id in "abcd":
        world.put(twin_id)
    for source, target in ("ab", "bc", "cd"):
        world.relate(source, target, target)
    world.put("s", SENSOR)
    world.relate("c", "watch", "s", "watchedBy")
    return world


def test_each_twin_is_listed_once_at_its_nearest_hop(chain: Any) -> None:
    chain.relate("a", "short", "c")
    assert list_ids(walk(chain, "a")) == [(1, "b"), (1, "c"), (2, "d"), (2, "s")]
    assert list_ids(walk(chain, "a", 1)) == [(1, "b"), (1, "c")]


def test_a_walk_keeps_to_its_direction_and_names(chain: Any) -> None:
    assert list_ids(walk(chain, "c", 1)) == [(1, "b"), (1, "d"), (1, "s")]
    assert list_ids(walk(chain, "c", 1, direction=Direction.OUTGOING)) == [(1, "d"), (1, "s")]
    assert list_ids(walk(chain, "c", 3, direction=Direction.INCOMING)) == [(1, "b"), (2, "a")]
    assert list_ids(walk(chain, "c", names=("watchedBy",))) == [(1, "s")]


def test_twins_of_other_models_are_walked_through(chain: Any) -> None:
    found = walk(chain, "a", model_ids=(SENSOR,))
    assert list_ids(found) == [(3, "s")]
    assert [(one.source, one.target) for one in found.relationships] == [
        ("a", "b"),
        ("b", "c"),
        ("c", "s"),
    ]
    assert list_ids(walk(chain, "a", model_ids=(SPACE,))) == [(1, "b"), (2, "c"), (3, "d")]
    assert list_ids(walk(chain, "a", model_ids=("dtmi:x:Y;1",))) == []


def test_a_circle_and_a_twin_alone_end(chain: Any) -> None:
    chain.relate("d", "back", "a")
    assert list_ids(walk(chain, "a")) == [(1, "b"), (1, "d"), (2, "c"), (3, "s")]
    chain.put("lone")
    assert list_ids(walk(chain, "lone")) == []


def test_a_twin_that_is_not_there_is_an_error(chain: Any) -> None:
    with pytest.raises(TwinNotFound):
        walk(chain, "nobody")
    with pytest.raises(InvalidArgument):
        walk(chain, "")


def test_a_walk_that_crosses_too_much_says_so(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert walk(chain, "a").complete
    monkeypatch.setattr(neighborhood, "MOST_RELATIONSHIPS", 2)
    found = walk(chain, "a")
    assert not found.complete
    assert list_ids(found) == [(1, "b"), (2, "c")]


def test_a_token_is_of_its_walk(chain: Any) -> None:
    token = walk(chain, "a", limit=1).token
    assert list_ids(walk(chain, "a", token=token)) == [(2, "c"), (3, "d"), (3, "s")]
    for other in ({"hops": 2}, {"direction": Direction.INCOMING}, {"model_ids": (ROOM,)}):
        with pytest.raises(InvalidContinuationToken):
            walk(chain, "a", token=token, **other)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_pages_hold_each_twin_once_in_the_order_of_the_whole(
    pairs: list[tuple[int, int]], hops: int, limit: int
) -> None:
    store = MemoryStore()
    store.open()
    world = World(store, Settings())
    world.do(world.graph.models.create_models(build_building_interfaces()))  # type: ignore[arg-type]
    for n in range(10):
        world.put(f"t{n}", SENSOR if n % 3 == 0 else ROOM)
    for at, (source, target) in enumerate(pairs):
        if source % 3 and source != target:
            world.relate(f"t{source}", f"r{at}", f"t{target}")
    whole = list_ids(walk(world, "t1", hops, limit=100))
    paged: list[tuple[int, str]] = []
    token = None
    while True:
        found = walk(world, "t1", hops, limit=limit, token=token)
        paged += list_ids(found)
        token = found.token
        if token is None:
            break
    assert paged == whole == sorted(set(whole))
