"""The relationships of one name as arrays of their ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from twinframe_columns.column import Column
from twinframe_columns.kinds import Bools, Codes, Integers, Rows

_MOST_LATE: Final = 2_000
_WORN_PART: Final = 50


class Edges:
    """The relationships of one name, numbered; `sources` and `targets` are the rows of their ends.

    The first `filed` are in ascending order of (source, target). `outgoing[row]` is the first of
    these with that source or a later one, so that they end at `outgoing[row + 1]`; `incoming` is
    the same for targets in `by_target`, which lists the filed ones by (target, source). Those
    behind `filed` were added since, in no order. `is_alive` is None while none was deleted.
    """

    def __init__(
        self,
        sources: Rows,
        targets: Rows,
        *,
        count: int,
        filed: int,
        outgoing: Integers | Codes,
        incoming: Integers | Codes,
        by_target: Codes,
        columns: Mapping[tuple[str, ...], Column],
    ) -> None:
        self.all_sources = sources
        self.all_targets = targets
        self.count = count
        self.filed = filed
        self.outgoing = outgoing
        self.incoming = incoming
        self.by_target = by_target
        self.columns = dict(columns)
        self.is_alive: Bools | None = None
        self.is_complete = True
        self.left_out: set[tuple[str, ...]] = set()
        self._has_loops: bool | None = None
        self._has_parallels: bool | None = None
        self._only: dict[bool, Rows | None] = {}
        self._mutual: Rows | None = None

    @property
    def sources(self) -> Rows:
        """The sources of all, deleted ones included."""
        return self.all_sources[: self.count]

    @property
    def targets(self) -> Rows:
        """The targets of all, deleted ones included."""
        return self.all_targets[: self.count]

    @property
    def is_worn(self) -> bool:
        """Whether many were added since, which are searched one by one."""
        return self.count - self.filed > max(_MOST_LATE, self.filed // _WORN_PART)

    @property
    def has_loops(self) -> bool:
        """Whether one may lead from a twin to itself."""
        if self._has_loops is None:
            self._has_loops = bool((self.sources == self.targets).any())
        return self._has_loops

    @property
    def has_parallels(self) -> bool:
        """Whether filed ones may have both ends in common."""
        if self._has_parallels is None:
            sources, targets = self.all_sources[: self.filed], self.all_targets[: self.filed]
            same = (sources[1:] == sources[:-1]) & (targets[1:] == targets[:-1])
            self._has_parallels = bool(same.any())
        return self._has_parallels

    def find_only(self, *, outgoing: bool) -> Rows | None:
        """Return for each row the other end of its one relationship, -1 if it has none; None
        where a row may have several.
        """
        if self.is_alive is not None or self.count > self.filed:
            return None
        if outgoing not in self._only:
            self._only[outgoing] = self._build_only(outgoing)
        return self._only[outgoing]

    def _build_only(self, outgoing: bool) -> Rows | None:
        starts = self.outgoing if outgoing else self.incoming
        degrees = np.diff(starts)
        if not len(degrees) or int(degrees.max()) > 1:
            return None
        only = np.full(len(degrees), -1, np.int32)
        origins, ends = (self.sources, self.targets) if outgoing else (self.targets, self.sources)
        only[origins] = ends
        return only

    def count_degrees(self, rows: int, *, outgoing: bool) -> Integers:
        """Return how many relationships each row has at one end. None was deleted."""
        if self.count > self.filed:
            ends = self.sources if outgoing else self.targets
            return np.bincount(ends, minlength=rows)
        found = np.zeros(rows, np.int64)
        starts = self.outgoing if outgoing else self.incoming
        np.subtract(starts[1:], starts[:-1], out=found[: len(starts) - 1])
        return found

    def find_mutual(self) -> Rows | None:
        """Return the rows with a relationship to a twin that has one back, in ascending order; None
        where some came or went since the file was made.
        """
        if self.is_alive is not None or self.count > self.filed:
            return None
        if self._mutual is None:
            shift = np.int64(2**31)
            keys = self.sources * shift + self.targets
            back = (self.targets * shift + self.sources)[self.by_target]  # in ascending order, too
            places = np.minimum(np.searchsorted(keys, back), max(0, len(keys) - 1))
            found = self.targets[self.by_target][keys[places] == back]
            self._mutual = np.unique(found).astype(np.int32)
        return self._mutual

    def add(self, source: int, target: int) -> int:
        """Add one; return its number."""
        number = self.count
        if number == len(self.all_sources):
            self._grow(max(1024, number // 8))
        self.all_sources[number] = source
        self.all_targets[number] = target
        self.count = number + 1
        if source == target:
            self._has_loops = True
        return number

    def _grow(self, more: int) -> None:
        none = np.zeros(more, np.int32)
        self.all_sources = np.concatenate((self.all_sources, none))
        self.all_targets = np.concatenate((self.all_targets, none))
        if self.is_alive is not None:
            self.is_alive = np.concatenate((self.is_alive, np.ones(more, np.bool_)))
        for column in self.columns.values():
            column.grow(len(self.all_sources))

    def copy(self, number: int, to: int) -> None:
        """Give one the members of another."""
        for column in self.columns.values():
            column.copy(number, to)

    def remove(self, number: int) -> None:
        """Mark one as deleted."""
        if self.is_alive is None:
            self.is_alive = np.ones(len(self.all_sources), np.bool_)
        self.is_alive[number] = False


def build_edges(
    sources: Rows, targets: Rows, columns: Mapping[tuple[str, ...], Column], rows: int
) -> Edges:
    """Build from relationships in ascending order of (source, target) among `rows` rows."""
    by_target = np.lexsort((sources, targets)).astype(np.int32)
    return Edges(
        sources,
        targets,
        count=len(sources),
        filed=len(sources),
        outgoing=_count_up(sources, rows),
        incoming=_count_up(targets, rows),
        by_target=by_target,
        columns=columns,
    )


def _count_up(ends: Rows, rows: int) -> Integers:
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=rows), out=starts[1:])
    return starts
