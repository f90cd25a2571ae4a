"""A session that prefetches what the evaluator will probably read next, for stores to which each
request is slow.

The evaluator reads the neighbors of one node after another, in the order in which the nodes were
returned, so the session reads those of the next nodes in the same request.
"""

# NOTE: `super()` is the session of a store, whose methods are not abstract.
# mypy: disable-error-code="safe-super"

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, Generic, TypeAlias, TypeVar

from twinframe.model.values import Node
from twinframe.query.algebra import Direction, LabelExpression
from twinframe.query.evaluate.sizes import measure
from twinframe.query.reader import Hop
from twinframe.storage.base import GraphSession

T = TypeVar("T")
_HopsKey: TypeAlias = tuple[Direction, tuple[str, ...]]

_SMALL: Final = 4
_LARGEST: Final = 256
_MOST_KEPT: Final = 20_000
_MOST_STREAMED: Final = 1_000
_MOST_BYTES: Final = 32 * 1024 * 1024
_BYTES_AHEAD: Final = 4 * 1024 * 1024


class _Sequence:
    """The last ids of nodes that were returned, in order, each once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._ids: list[str] = []

    def note(self, ids: Iterable[str]) -> None:
        """Append these ids."""
        if len(self._ids) > _MOST_KEPT:
            self._places.clear()
            self._ids.clear()
        for one in ids:
            if one not in self._places:
                self._places[one] = len(self._ids)
                self._ids.append(one)

    def follow(self, one: str) -> Iterator[str]:
        """Yield the ids after this one."""
        at = self._places.get(one)
        return iter(()) if at is None else islice(self._ids, at + 1, None)


class _Kept(Generic[T]):
    """Results of one kind of read, by id; a read of few ids prefetches more each time."""

    def __init__(
        self,
        sequence: _Sequence,
        read: Callable[[list[str]], Mapping[str, T]],
        size: Callable[[T], int],
    ) -> None:
        self._sequence = sequence
        self._read = read
        self._size = size
        self._found: dict[str, T | None] = {}
        self._bytes = 0
        self._ahead = 0
        self._asked = 0
        self._taken_bytes = 0

    def find(self, ids: Sequence[str]) -> dict[str, T]:
        """Return the results for these ids, in their order."""
        missing = [one for one in dict.fromkeys(ids) if one not in self._found]
        if missing:
            if len(self._found) > _MOST_KEPT or self._bytes > _MOST_BYTES:
                self._found.clear()
                self._bytes = 0
                missing = list(dict.fromkeys(ids))
            self._load(missing)
        found = ((one, self._found[one]) for one in dict.fromkeys(ids))
        return {one: value for one, value in found if value is not None}

    def is_first(self) -> bool:
        """Return whether nothing was read yet; the next read prefetches then."""
        if self._ahead:
            return False
        self._ahead = _SMALL
        return True

    def keep(self, one: str, value: T) -> None:
        """Keep a result that was read otherwise."""
        self._found[one] = value
        self._add(1, [value])

    def _load(self, missing: list[str]) -> None:
        wanted = list(missing)
        if len(missing) <= _SMALL:
            following = self._sequence.follow(missing[-1])
            unread = (one for one in following if one not in self._found)
            wanted += islice(unread, min(self._ahead, self._count_ahead()))
            self._ahead = min(max(self._ahead * 4, _SMALL), _LARGEST)
        read = self._read(wanted)
        self._found |= {one: read.get(one) for one in wanted}
        self._add(len(wanted), read.values())

    def _add(self, asked: int, values: Iterable[T]) -> None:
        size = sum(map(self._size, values))
        self._bytes += size
        self._asked += asked
        self._taken_bytes += size

    def _count_ahead(self) -> int:
        """Return how many results may be read ahead, by the mean size of all that were asked for.

        SEC: each may have a mebibyte.
        """
        if not self._asked:
            return _SMALL
        return _BYTES_AHEAD * self._asked // max(self._taken_bytes, 1)


class PrefetchingSession(GraphSession):
    """Mixed in before the session of a store, whose reads it makes fewer within a snapshot."""

    most_at_once = 512

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._snapshots = 0
        self._forget()

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Iterator[None]:
        """Show one state; the prefetched results are dropped at its end."""
        self._snapshots += 1
        try:
            with super().snapshot(deadline):
                yield
        finally:
            self._snapshots -= 1
            if not self._snapshots:
                self._forget()

    def note(self, ids: Iterable[str]) -> None:
        """Note that the nodes of these ids are returned next."""
        if self._snapshots:
            self._given.note(ids)

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        """Twins whose model satisfies the labels; models when asked for."""
        nodes = super().scan_nodes(labels)
        while batch := list(islice(nodes, _LARGEST)):
            self.note(node.id for node in batch)
            yield from batch

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """The twins of these ids."""
        return self._nodes.find(ids) if self._snapshots else super().read_nodes(ids)

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        """The relationships at each origin; with BOTH a loop counts as outgoing only."""
        if not self._snapshots:
            yield from super().read_hops(origins, direction, types)
            return
        key = (direction, tuple(types))
        kept = self._hops.get(key)
        if kept is None:
            kept = self._hops[key] = _Kept(
                self._given, lambda ids: self._group(ids, *key), _measure_hops
            )
        wanted = list(origins)
        if len(wanted) == 1 and kept.is_first():
            yield from self._stream(wanted[0], key, kept)
            return
        found = kept.find(wanted)
        for origin in wanted:
            yield from found.get(origin, ())

    def _stream(self, origin: str, key: _HopsKey, kept: _Kept[list[Hop]]) -> Iterator[Hop]:
        """Yield the hops at the first origin as they come: it may have very many."""
        hops: list[Hop] = []
        for hop in super().read_hops([origin], *key):
            if len(hops) <= _MOST_STREAMED:
                hops.append(hop)
            self.note((hop.reached,))
            yield hop
        if len(hops) <= _MOST_STREAMED:
            kept.keep(origin, hops)

    def _group(
        self, origins: list[str], direction: Direction, types: Sequence[str]
    ) -> Mapping[str, list[Hop]]:
        hops: dict[str, list[Hop]] = {}
        for hop in super().read_hops(origins, direction, types):
            hops.setdefault(hop.origin, []).append(hop)
        self.note(hop.reached for one in origins for hop in hops.get(one, ()))
        return hops

    def _read_missing(self, ids: list[str]) -> Mapping[str, Node]:
        return super().read_nodes(ids)

    def _forget(self) -> None:
        self._given = _Sequence()
        self._nodes: _Kept[Node] = _Kept(self._given, self._read_missing, _measure)
        self._hops: dict[_HopsKey, _Kept[list[Hop]]] = {}


def _measure(node: Node) -> int:
    return measure(node, _MOST_BYTES)


def _measure_hops(hops: list[Hop]) -> int:
    return sum([measure(hop.relationship, _MOST_BYTES) for hop in hops])
