"""What the arrays of relationships know of all of them."""

from __future__ import annotations

import random

import numpy as np

from twinframe_columns.edges import Edges, build_edges

ROWS = 12


def build(pairs: list[tuple[int, int]]) -> Edges:
    ordered = sorted(pairs)
    sources, targets = (np.array([pair[at] for pair in ordered], np.int32) for at in (0, 1))
    return build_edges(sources, targets, {}, ROWS)


def test_twins_with_relationships_there_and_back_are_found() -> None:
    chance = random.Random(5)
    for count in range(40):
        pairs = [(chance.randrange(ROWS), chance.randrange(ROWS)) for _ in range(count)]
        found = build(pairs).find_mutual()
        assert found is not None
        expected = sorted({a for a, b in pairs if (b, a) in pairs})
        assert found.tolist() == expected


def test_it_is_not_known_who_is_mutual_after_a_change() -> None:
    edges = build([(1, 2), (2, 1)])
    edges.add(3, 4)
    assert edges.find_mutual() is None
    edges = build([(1, 2), (2, 1)])
    edges.remove(0)
    assert edges.find_mutual() is None


def test_degrees_count_relationships_that_came_later() -> None:
    edges = build([(1, 2), (1, 3), (3, 1)])
    assert edges.count_degrees(ROWS + 2, outgoing=True).tolist()[:4] == [0, 2, 0, 1]
    assert edges.count_degrees(ROWS + 2, outgoing=False).tolist()[:4] == [0, 1, 1, 1]
    edges.add(ROWS + 1, 1)
    assert edges.count_degrees(ROWS + 2, outgoing=True)[ROWS + 1] == 1
    assert edges.count_degrees(ROWS + 2, outgoing=False)[1] == 2
