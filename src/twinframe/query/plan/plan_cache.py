"""A cache of the plans of recent queries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from twinframe.model.values import Value, parameter_signature

T = TypeVar("T")

_TEXT: Final = 1024


class PlanKey(NamedTuple):
    """The inputs that a plan depends on. PERF: hashed and compared several times a run, hence a
    tuple.

    `options` are the relevant settings and the language; `schema_version` is the graph's, since
    engines compile labels by its models.
    """

    text: str
    signature: frozenset[tuple[str, str]]
    schema_version: int
    options: Hashable = None


def build_plan_key(
    text: str, parameters: Mapping[str, Value], schema_version: int, options: Hashable = None
) -> PlanKey:
    """Build the key of a query text with parameters of these names and types."""
    # PERF: made at each run: past the constructor in half its time.
    key = text, parameter_signature(parameters), schema_version, options
    return tuple.__new__(PlanKey, key)


class PlanCache(Generic[T]):
    """At most `size` plans, dropping the least recently used first. Thread-safe.

    A plan counts once for each KiB of its text: it takes some 100 KiB of memory for each, which
    every full garbage collection visits.
    """

    def __init__(self, size: int) -> None:
        # PERF: a plan is found in 0.3 us, in a cache of cachetools in 1.3 us.
        self._kept: OrderedDict[PlanKey, tuple[T, int]] = OrderedDict()
        self._room = size
        self._size = size
        self._lock = threading.Lock()

    def find(self, key: PlanKey) -> T | None:
        """Return the cached plan, if there is one."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
        return kept[0]

    def keep(self, key: PlanKey, plan: T) -> None:
        """Cache `plan` under this key, replacing any before it."""
        weight = 1 + len(key.text) // _TEXT
        if weight > self._size:
            return
        with self._lock:
            before = self._kept.pop(key, None)
            self._room -= weight if before is None else weight - before[1]
            self._kept[key] = plan, weight
            while self._room < 0:
                _, (_, freed) = self._kept.popitem(last=False)
                self._room += freed
