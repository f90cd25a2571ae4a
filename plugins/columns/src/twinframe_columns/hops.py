"""Follows the relationships of one name from many twins at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns.edges import Edges
from twinframe_columns.frame import MOST_ROWS
from twinframe_columns.kinds import Integers, Rows
from twinframe_columns.vectors import read_rows

_SAMPLE: Final = 64


@dataclass(frozen=True, slots=True)
class Hops:
    """Relationships that were followed: the rows they start at (`picked` None: each once), their
    numbers unless they were left out, and the rows they end at.
    """

    picked: Integers | None
    numbers: Rows | Integers
    ends: Rows

    def take(self, kept: Integers) -> Hops:
        """Return the picked hops."""
        picked = kept if self.picked is None else self.picked[kept]
        numbers = self.numbers[kept] if self.has_numbers else self.numbers
        return Hops(picked, numbers, self.ends[kept])

    @property
    def has_numbers(self) -> bool:
        """Whether the numbers were not left out."""
        return len(self.numbers) == len(self.ends)


def expand(edges: Edges, rows: slice | Rows, *, outgoing: bool, most: int = MOST_ROWS) -> Hops:
    """Follow the relationships of each row; raise `CannotRun` for more than `most`."""
    starts = edges.outgoing if outgoing else edges.incoming
    known = len(starts) - 1  # rows that came later have no filed relationships
    if isinstance(rows, slice) and rows.stop <= known:
        first = starts[rows]
        degrees = np.diff(starts[rows.start : rows.stop + 1])
        places: Integers | Rows | None = np.arange(starts[rows.start], starts[rows.stop])
    else:
        first, degrees = _find_ranges(starts, read_rows(rows))
        places = None
    total = int(degrees.sum())
    if total > most:
        raise CannotRun("More rows than are held at once.")
    count = len(degrees)
    is_one_each = total == count and bool((degrees == 1).all())
    picked = None if is_one_each else np.repeat(np.arange(count), degrees)
    if places is None:
        places = first if picked is None else _list_places(first, degrees, picked, total)
    if outgoing:
        numbers: Rows | Integers = places
        ends = edges.all_targets[places]
    else:
        numbers = edges.by_target[places]
        ends = edges.all_sources[numbers]
    hops = Hops(picked, numbers, ends)
    if edges.is_alive is not None:
        hops = hops.take(np.flatnonzero(edges.is_alive[hops.numbers]))
    if edges.count > edges.filed:
        hops = _add_late(hops, edges, read_rows(rows), outgoing, most)
    return hops


def skip_numbers(edges: Edges, rows: slice | Rows, *, outgoing: bool, most: int) -> Hops:
    """Follow the relationships of each row, as `expand`, but leave out their numbers.

    PERF: where each twin has one relationship at most, one look-up takes the place of five.
    """
    only = edges.find_only(outgoing=outgoing)
    if only is None or not len(only):
        return expand(edges, rows, outgoing=outgoing, most=most)
    if isinstance(rows, slice):
        if rows.stop > len(only):
            return expand(edges, rows, outgoing=outgoing, most=most)
    elif len(rows) and int(rows.max()) >= len(only):
        return expand(edges, rows, outgoing=outgoing, most=most)
    ends = only[rows]
    none = np.empty(0, np.int32)
    if len(ends) and int(ends.min()) >= 0:
        return Hops(None, none, ends)
    picked = np.flatnonzero(ends >= 0)
    return Hops(picked, none, ends[picked])


def sample_degree(edges: Edges, rows: slice | Rows, *, outgoing: bool) -> float:
    """Return how many relationships some of these rows have each."""
    starts = edges.outgoing if outgoing else edges.incoming
    count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    picked = np.arange(0, count, max(1, count // _SAMPLE))
    if not len(picked):
        return 0.0
    some = (picked + rows.start) if isinstance(rows, slice) else rows[picked]
    _, degrees = _find_ranges(starts, some)
    return float(degrees.mean())


def _find_ranges(starts: Integers | Rows, rows: Rows) -> tuple[Integers, Integers]:
    """Return the first place and the number of places of each row."""
    known = len(starts) - 1
    if not known:
        return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    if not len(rows) or int(rows.max()) < known:
        first = starts[rows]
        return first, starts[rows + 1] - first
    inside = np.minimum(rows, known - 1)
    first = starts[inside]
    return first, np.where(rows < known, starts[inside + 1] - first, 0)


def _list_places(first: Integers, degrees: Integers, picked: Integers, total: int) -> Integers:
    before = np.cumsum(degrees) - degrees
    places: Integers = np.arange(total) + (first - before)[picked]
    return places


def _add_late(hops: Hops, edges: Edges, rows: Rows, outgoing: bool, most: int) -> Hops:
    """Add the relationships that are in no order, of which there are few."""
    numbers = _list_late(edges)
    origins, ends = edges.all_sources[numbers], edges.all_targets[numbers]
    if not outgoing:
        origins, ends = ends, origins
    order = _find_late_rows(rows, origins)
    order = order[np.argsort(rows[order], kind="stable")]
    ordered = rows[order]
    low = np.searchsorted(ordered, origins, "left")
    counts = np.searchsorted(ordered, origins, "right") - low
    total = int(counts.sum())
    if total + len(hops.ends) > most:
        raise CannotRun("More rows than are held at once.")
    which = np.repeat(np.arange(len(origins)), counts)
    places = _list_places(low, counts, which, total)
    picked = np.arange(len(rows)) if hops.picked is None else hops.picked
    return Hops(
        np.concatenate((picked, order[places])),
        np.concatenate((hops.numbers, numbers[which])),
        np.concatenate((hops.ends, ends[which])),
    )


def _find_late_rows(rows: Rows, origins: Rows) -> Integers:
    """Return the places of the rows that have some of a few relationships."""
    if not len(rows) or not len(origins):
        return np.empty(0, np.int64)
    has_late = np.zeros(max(int(rows.max()), int(origins.max())) + 1, np.bool_)
    has_late[origins] = True
    return np.flatnonzero(has_late[rows])


def _list_late(edges: Edges) -> Integers:
    numbers = np.arange(edges.filed, edges.count)
    return numbers if edges.is_alive is None else numbers[edges.is_alive[numbers]]


# --- between known twins --------------------------------------------------------------------------


def find_between(edges: Edges, sources: Rows, targets: Rows) -> Hops | None:
    """Return the relationships from each source to the target beside it; None where some of them
    came or went since the file was made.
    """
    if edges.is_alive is not None or edges.count > edges.filed:
        return None
    first, degrees = _find_ranges(edges.outgoing, sources)
    counts, low = _find_places(edges, first, degrees, targets)
    total = int(counts.sum())
    picked = np.repeat(np.arange(len(sources)), counts)
    places = _list_places(low, counts, picked, total)
    return Hops(picked, places, edges.all_targets[places])


def count_between(edges: Edges, sources: Rows, targets: Rows) -> Integers:
    """Return how many relationships lead from each source to the target beside it."""
    first, degrees = _find_ranges(edges.outgoing, sources)
    counts, _ = _find_places(edges, first, degrees, targets)
    if edges.is_alive is not None:
        dead = np.flatnonzero(~edges.is_alive[: edges.filed])
        counts = counts - _count_keys(edges, dead, sources, targets)
    if edges.count > edges.filed:
        counts = counts + _count_keys(edges, _list_late(edges), sources, targets)
    return counts


def _count_keys(edges: Edges, numbers: Integers, sources: Rows, targets: Rows) -> Integers:
    """Return how many of a few relationships lead from each source to its target."""
    if not len(numbers):
        return np.zeros(len(sources), np.int64)
    shift = np.int64(2**31)
    keys = np.sort(edges.all_sources[numbers] * shift + edges.all_targets[numbers])
    wanted = sources * shift + targets
    found: Integers = np.searchsorted(keys, wanted, "right") - np.searchsorted(keys, wanted)
    return found


def _find_places(
    edges: Edges, first: Integers, degrees: Integers, targets: Rows
) -> tuple[Integers, Integers]:
    """Search each target among those of its source; return how many there are, and the first."""
    values = edges.all_targets
    counts = np.zeros(len(targets), np.int64)
    found = np.zeros(len(targets), np.int64)
    open_ones = np.flatnonzero(degrees > 0)
    if not len(open_ones):
        return counts, found
    wanted = targets[open_ones]
    low = first[open_ones].astype(np.int64)
    end = low + degrees[open_ones]
    at = _bisect(values, low, end, wanted)
    holds = (at < end) & (values[np.minimum(at, len(values) - 1)] == wanted)
    hit = open_ones[holds]
    found[hit] = at[holds]
    counts[hit] = 1
    if edges.has_parallels and len(hit):
        counts[hit] = _bisect(values, at[holds], end[holds], wanted[holds] + 1) - at[holds]
    return counts, found


def _bisect(values: Rows, low: Integers, high: Integers, wanted: Rows) -> Integers:
    """Return for each range the first place that is not less than what is wanted."""
    low, high = low.copy(), high.copy()
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        is_open = low < high
        is_less = is_open & (values[np.where(is_open, middle, 0)] < wanted)
        low = np.where(is_less, middle + 1, low)
        high = np.where(is_open & ~is_less, middle, high)
    return low
