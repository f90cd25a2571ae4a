"""Builds a projection from all twins and relationships of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import orjson

from twinframe.model.ids import build_labels
from twinframe.storage.base import GraphSession, RelationshipRecord, TwinRecord
from twinframe_columns import kinds as k
from twinframe_columns.column import Column
from twinframe_columns.edges import Edges, build_edges
from twinframe_columns.projection import ID, RELATIONSHIP_ID, Path, Projection
from twinframe_columns.strings import build_strings, sort_texts

T = TypeVar("T")

_AT_ONCE: Final = 20_000
"""Values of one member that are collected as objects before they go into arrays."""

DEEPEST: Final = 4
"""Names in the longest path of a member; what is deeper has no column."""

MOST_COLUMNS: Final = 4_000

LEAST_BYTES: Final = 48 * 2**20
_BYTES_A_TWIN: Final = 450
"""The memory that columns may take: so much, or so much for each twin. The members with the fewest
values for their bytes have no column if all together would take more.
"""
_PAGE: Final = 4_096

_KIND_OF: Final = {
    type(None): k.NULL,
    bool: k.FALSE,
    int: k.INTEGER,
    float: k.FLOAT,
    str: k.STRING,
    dict: k.MAP,
    list: k.OTHER,
}


class TooLarge(Exception):
    """Twins and relationships without any member take too much memory."""


class _ColumnBuilder:
    """Collects the values of one member, row by row."""

    __slots__ = ("_codes", "_done", "_texts", "rows", "values")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.values: list[Any] = []
        self._done: list[tuple[k.Rows, k.Bytes, k.Floats | None, k.Codes | None]] = []
        self._texts: dict[str, int] = {}
        self._codes = 0

    def flush(self) -> None:
        """Move the collected values into arrays."""
        if not self.rows:
            return
        values = self.values
        kinds = np.array([_KIND_OF[type(one)] for one in values], np.uint8)
        for at in np.flatnonzero((kinds == k.FALSE) | (kinds == k.INTEGER)).tolist():
            kinds[at] = k.find_kind(values[at])
        numbers = codes = None
        is_number = (kinds == k.INTEGER) | (kinds == k.FLOAT)
        if is_number.any():
            numbers = np.zeros(len(values), np.float64)
            places = np.flatnonzero(is_number)
            numbers[places] = [values[at] for at in places.tolist()]
        places = np.flatnonzero(kinds == k.STRING)
        if len(places):
            codes = np.zeros(len(values), np.int32)
            texts = self._texts
            codes[places] = [texts.setdefault(values[at], len(texts)) for at in places.tolist()]
        self._done.append((np.array(self.rows, np.int32), kinds, numbers, codes))
        self.rows = []
        self.values = []

    def measure(self, order: k.Rows) -> tuple[int, int]:
        """Return about how many bytes the column will take, and how many values it has."""
        self.flush()
        rows = order[np.concatenate([own for own, _, _, _ in self._done])]
        span = int(rows.max()) - int(rows.min()) + 1
        widths = [1]
        if any(numbers is not None for _, _, numbers, _ in self._done):
            widths.append(8)
        if self._texts:
            widths.append(4)
        arrays = sum(-(-span * width // _PAGE) + 1 for width in widths) * _PAGE
        return arrays + sum(len(text) + 8 for text in self._texts), len(rows)

    def finish(self, rows: int, order: k.Rows | None) -> Column:
        """Return the column of `rows` rows; row `r` as collected becomes `order[r]`."""
        self.flush()
        kinds = np.zeros(rows, np.uint8)
        numbers = codes = strings = None
        ranks = None
        if self._texts:
            strings, ranks = sort_texts(list(self._texts))
            codes = np.zeros(rows, np.int32)
        for own, own_kinds, own_numbers, own_codes in self._done:
            at = own if order is None else order[own]
            kinds[at] = own_kinds
            if own_numbers is not None:
                if numbers is None:
                    numbers = np.zeros(rows, np.float64)
                numbers[at] = own_numbers
            if own_codes is not None and codes is not None and ranks is not None:
                places = np.flatnonzero(own_kinds == k.STRING)
                codes[at[places]] = ranks[own_codes[places]]
        has_null = any(bool((own == k.NULL).any()) for _, own, _, _ in self._done)
        return Column(kinds, numbers, codes, strings, has_null=has_null)


class _Members:
    """The columns of the members of documents."""

    def __init__(self) -> None:
        self.builders: dict[Path, _ColumnBuilder] = {}
        self.left_out: set[Path] = set()
        self.is_complete = True

    def add(self, row: int, document: Mapping[str, Any], above: Path = ()) -> None:
        builders = self.builders
        for key, value in document.items():
            if key[:1] == "$":
                continue
            path = (*above, key)
            builder = builders.get(path)
            if builder is None:
                if len(path) > DEEPEST or len(builders) >= MOST_COLUMNS:
                    self.is_complete = False
                    continue
                builder = builders[path] = _ColumnBuilder()
            builder.rows.append(row)
            builder.values.append(value)
            if len(builder.rows) >= _AT_ONCE:
                builder.flush()
            if type(value) is dict:
                self.add(row, value, path)

    def leave_out(self, path: Path) -> list[Path]:
        """Make no column of a member, nor of those within it; return all of these."""
        within = [one for one in self.builders if one[: len(path)] == path]
        for one in within:
            del self.builders[one]
        self.left_out.update(within)
        self.is_complete = False
        return within

    def finish(self, rows: int, order: k.Rows | None) -> dict[Path, Column]:
        return {path: builder.finish(rows, order) for path, builder in self.builders.items()}


class _EdgeBuilder:
    def __init__(self) -> None:
        self.sources: list[int] = []
        self.targets: list[int] = []
        self.members = _Members()
        self.ids = self.members.builders[(RELATIONSHIP_ID,)] = _ColumnBuilder()

    def sort(self) -> tuple[npt.NDArray[np.intp], k.Rows]:
        """Return the relationships in the order of their numbers, and the number of each."""
        sorting = np.lexsort((np.array(self.targets, np.int32), np.array(self.sources, np.int32)))
        order = np.empty(len(sorting), np.int32)
        order[sorting] = np.arange(len(sorting), dtype=np.int32)
        return sorting, order

    def finish(self, rows: int) -> Edges:
        sources = np.array(self.sources, np.int32)
        targets = np.array(self.targets, np.int32)
        sorting, order = self.sort()
        columns = self.members.finish(len(sources), order)
        edges = build_edges(sources[sorting], targets[sorting], columns, rows)
        edges.is_complete = self.members.is_complete
        edges.left_out = self.members.left_out
        return edges


def build_projection(
    position: int,
    twins: Iterable[TwinRecord],
    relationships: Iterable[RelationshipRecord],
    labels: Mapping[str, frozenset[str]],
) -> Projection:
    """Build from twins in ascending order of their ids and from relationships.

    `labels` has those of each model, in the order in which their twins get rows.
    """
    members = _Members()
    ids: list[str] = []
    model_numbers = {dtmi: at for at, dtmi in enumerate(labels)}
    numbers: list[int] = []
    for row, twin in enumerate(twins):
        ids.append(twin.twin_id)
        numbers.append(model_numbers[twin.model_id])
        members.add(row, orjson.loads(twin.body))
    count = len(ids)
    collected = np.array(numbers, np.int32)
    sorting = np.argsort(collected, kind="stable")
    order = np.empty(count, np.int32)
    order[sorting] = np.arange(count, dtype=np.int32)
    rows = dict(zip(ids, order.tolist(), strict=True))
    numbers_by_row = collected[sorting]
    edges: dict[str, _EdgeBuilder] = {}
    for one in relationships:
        builder = edges.get(one.name)
        if builder is None:
            builder = edges[one.name] = _EdgeBuilder()
        number = len(builder.sources)
        builder.sources.append(rows[one.source_id])
        builder.targets.append(rows[one.target_id])
        builder.ids.rows.append(number)
        builder.ids.values.append(one.relationship_id)
        builder.members.add(number, orjson.loads(one.body))
    _limit_size(members, order, ids, edges)
    columns = members.finish(count, order)
    columns[ID] = Column(
        np.full(count, k.STRING, np.uint8),
        None,
        sorting.astype(np.int32),
        build_strings([one.encode() for one in ids]),
    )
    found: npt.NDArray[np.int64] = np.bincount(collected, minlength=len(model_numbers))
    return Projection(
        position=position,
        models=list(model_numbers),
        labels=[labels[dtmi] for dtmi in model_numbers],
        starts=[0, *np.cumsum(found).tolist()],
        count=count,
        filed=count,
        numbers=numbers_by_row,
        rows=order,
        members=_find_members(columns, numbers_by_row),
        columns=columns,
        edges={name: builder.finish(count) for name, builder in edges.items()},
        is_complete=members.is_complete,
        left_out=members.left_out,
    )


def _limit_size(
    members: _Members, order: k.Rows, ids: Sequence[str], edges: Mapping[str, _EdgeBuilder]
) -> None:
    """Leave out members until the columns take no more memory than they may.

    Raises `TooLarge` if they take too much without any.
    """
    count = len(ids)
    most = max(LEAST_BYTES, _BYTES_A_TWIN * count)
    total = 20 * count + sum(map(len, ids))
    total += sum(16 * count + 12 * len(one.sources) for one in edges.values())
    held = [(members, order), *((one.members, one.sort()[1]) for one in edges.values())]
    sizes: dict[tuple[int, Path], int] = {}
    found: list[tuple[float, int, Path]] = []
    for at, (owner, own_order) in enumerate(held):
        for path, builder in owner.builders.items():
            sizes[at, path], values = builder.measure(own_order)
            total += sizes[at, path]
            if path != (RELATIONSHIP_ID,):
                found.append((sizes[at, path] / values, at, path))
    for _, at, path in sorted(found, reverse=True):
        if total <= most:
            return
        total -= sum(sizes[at, one] for one in held[at][0].leave_out(path))
    if total > most:
        raise TooLarge(f"They would take {total >> 20} MiB, more than {most >> 20}.")


def _find_members(columns: Mapping[Path, Column], numbers: k.Codes) -> dict[int, set[Path]]:
    found: dict[int, set[Path]] = {}
    for path, column in columns.items():
        if path != ID:
            for number in np.unique(numbers[column.kinds != k.NULL]).tolist():
                found.setdefault(number, set()).add(path)
    return found


def order_labels(session: GraphSession) -> dict[str, frozenset[str]]:
    """Return the labels of the twins of each model, models of one ancestor next to each other."""
    above: dict[str, set[str]] = {dtmi: {dtmi} for dtmi in session.read_model_ids()}
    below: dict[str, int] = {}
    for dtmi in list(above):
        descendants = session.read_descendants(dtmi)
        below[dtmi] = len(descendants)
        for descendant in descendants:
            above.setdefault(descendant, {descendant}).add(dtmi)

    def rank(dtmi: str) -> list[tuple[int, str]]:
        return sorted((-below.get(one, 1), one) for one in above[dtmi])

    return {dtmi: build_labels(frozenset(above[dtmi])) for dtmi in sorted(above, key=rank)}


def batch(items: Iterable[T], most: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most so many."""
    rest = iter(items)
    while some := list(islice(rest, most)):
        yield some
