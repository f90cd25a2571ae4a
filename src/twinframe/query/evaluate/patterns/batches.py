"""Reads the graph in growing batches, so that a LIMIT 1 costs little and a full read few calls."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from twinframe.model.values import Node, Relationship
from twinframe.query.algebra import Direction
from twinframe.query.evaluate.run import Run
from twinframe.query.reader import GraphReader, Hop

T = TypeVar("T")

_MOST_CACHED_HOPS = 20_000
_NOTHING: Mapping[str, Node] = {}


def read_batches(items: Iterable[T], reader: GraphReader) -> Iterator[list[T]]:
    """Yield lists of 1, 4, 16, ... items, at most as many as the reader takes in one call."""
    source = iter(items)
    size = 1
    while batch := list(islice(source, size)):
        yield batch
        size = min(size * 4, reader.most_at_once)


def read_needed_nodes(
    reader: GraphReader, ids: Iterable[str], *, reads: bool
) -> Mapping[str, Node]:
    """Read the nodes of these ids in one call; without `reads` return none."""
    return reader.read_nodes(tuple(dict.fromkeys(ids))) if reads else _NOTHING


def find_node(nodes: Mapping[str, Node], node_id: str, *, reads: bool) -> Node | None:
    """Return the node read before; without `reads` one that has nothing but its id."""
    return nodes.get(node_id) if reads else Node(node_id, {})


def orient(direction: Direction, *, backwards: bool) -> Direction:
    """Return the direction as seen from the other end."""
    if not backwards or direction is Direction.BOTH:
        return direction
    return Direction.INCOMING if direction is Direction.OUTGOING else Direction.OUTGOING


def cross_known(
    origin: str, relationship: Relationship, direction: Direction, types: Sequence[str]
) -> str | None:
    """Return the node that a known relationship leads to from `origin`; None if it does not."""
    if types and relationship.type not in types:
        return None
    if direction is not Direction.INCOMING and relationship.source == origin:
        return relationship.target
    if direction is not Direction.OUTGOING and relationship.target == origin:
        return relationship.source
    return None


class Adjacency:
    """The hops at nodes, read in batches and cached for the walks of one operator.

    PERF: walks of variable length pass the same nodes again and again.
    """

    __slots__ = ("_cached", "_count", "_direction", "_run", "_types")

    def __init__(self, run: Run, direction: Direction, types: Sequence[str]) -> None:
        self._run = run
        self._direction = direction
        self._types = types
        self._cached: dict[str, list[Hop]] = {}
        self._count = 0

    def load(self, origins: Collection[str]) -> None:
        """Load the hops of all `origins` with at most one read."""
        if self._count > _MOST_CACHED_HOPS:
            self._cached.clear()
            self._count = 0
        missing = [one for one in dict.fromkeys(origins) if one not in self._cached]
        if not missing:
            return
        for one in missing:
            self._cached[one] = []
        for hop in self._run.reader.read_hops(missing, self._direction, self._types):
            self._run.budget.tick()
            self._cached[hop.origin].append(hop)
            self._count += 1

    def find(self, origin: str) -> Sequence[Hop]:
        """Return the hops of a loaded node."""
        return self._cached[origin]
