"""An immutable map, on which the memory store's snapshots are built."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# PERF: a change copies one shard and the tuple of shards; 256 keeps both small to 100,000 keys.
_SHARDS: Final = 256


class FrozenMap(Mapping[K, V], Generic[K, V]):
    """A mapping whose `set` and `delete` return a changed copy and leave the original unchanged."""

    __slots__ = ("_shards", "_size")

    def __init__(self) -> None:
        empty: dict[K, V] = {}
        self._shards: tuple[dict[K, V], ...] = (empty,) * _SHARDS
        self._size = 0

    def __getitem__(self, key: K) -> V:
        return self._shards[hash(key) % _SHARDS][key]

    def __iter__(self) -> Iterator[K]:
        for shard in self._shards:
            yield from shard

    def __len__(self) -> int:
        return self._size

    def set(self, key: K, value: V) -> FrozenMap[K, V]:
        """A copy in which `key` has `value`."""
        shard = self._shards[hash(key) % _SHARDS]
        return self._copy(key, {**shard, key: value})

    def delete(self, key: K) -> FrozenMap[K, V]:
        """A copy without `key`; `KeyError` when it is absent."""
        shard = self._shards[hash(key) % _SHARDS].copy()
        del shard[key]
        return self._copy(key, shard)

    def _copy(self, key: K, shard: dict[K, V]) -> FrozenMap[K, V]:
        at = hash(key) % _SHARDS
        copy: FrozenMap[K, V] = FrozenMap.__new__(FrozenMap)
        copy._size = self._size + len(shard) - len(self._shards[at])
        copy._shards = (*self._shards[:at], shard, *self._shards[at + 1 :])
        return copy
