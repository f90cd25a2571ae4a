"""Series of properties, read from the history: a value holds until the next change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import orjson

from twinframe.dtdl.interfaces import Property
from twinframe.errors import Unsupported
from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.relationships import NAME
from twinframe.graph.history.history import History, Range
from twinframe.graph.history.versions import iterate_versions
from twinframe.graph.series.held import SAME, is_point, iterate_held, read_beginnings
from twinframe.graph.series.held_buckets import HeldBuckets, Room
from twinframe.graph.series.keeping import KeptModels
from twinframe.graph.series.measuring import Point, PointColumns, build_columns, measure_point
from twinframe.graph.series.paths import ChosenPaths
from twinframe.graph.series.questions import Asked
from twinframe.model.pages import Page, PageRequest
from twinframe.storage.base import ChangeKind, EntityKey, GraphSession
from twinframe.storage.points import Buckets, SeriesKey, Window

T = TypeVar("T")

_NANOSECONDS: Final = 1000  # of a microsecond
_MOST_SEARCHED: Final = 10_000
_LONGEST: Final = 100


class PropertySeries:
    """Answers questions about the values of properties over time."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._history = History(context)
        self._kept = KeptModels(context.settings.history.properties, Property)

    async def read_points(self, key: SeriesKey, asked: Asked, page: PageRequest) -> Page[Point]:
        """Return a page of values: the one that held at the beginning, then each change.

        Errors: `HistoryNotKept`, `Unsupported`, `QueryTimeout`, `InvalidContinuationToken`.
        """
        listing = await self._context.open_listing(
            "series of a property", *key, asked.start, asked.end
        )
        token, size = listing.start(page)

        def read(session: GraphSession) -> Page[Point]:
            within = self._find_range(session, asked.start, asked.end)
            found: list[tuple[str, Point]] = []
            room = listing.sizes.bytes  # SEC: texts are long; more than a page is not held
            if token is not None:
                within = within._replace(after=max(within.after, int(token)))
            for searched, (position, moment, value) in enumerate(
                _iterate_values(session, key, within, asked.start, is_first=token is None)
            ):
                if value is not SAME:
                    if found and found[-1][1][0] == moment:  # a series has one value at a time
                        room += measure_point(found.pop()[1])
                    point = moment, value if is_point(value) else None
                    found.append((str(position), point))
                    room -= measure_point(point)
                if len(found) > size or room < 0 or searched >= _MOST_SEARCHED:
                    return listing.page(found, size, measure_point, str(position))
            return listing.page(found, size, measure_point)

        return await self._scan(read)

    async def read_buckets(
        self, keys: Sequence[SeriesKey], window: Window, aggregates: Sequence[str]
    ) -> Sequence[Buckets]:
        """Return the aggregates of properties, in one state of the history, in the order of `keys`.

        Errors: as `read_points`.
        """
        room = self._context.settings.query.max_bytes
        return await self._scan(
            lambda session: self.read_buckets_within(session, keys, window, aggregates, room)
        )

    def read_buckets_within(
        self,
        session: GraphSession,
        keys: Sequence[SeriesKey],
        window: Window,
        aggregates: Sequence[str],
        room: int,
    ) -> Sequence[Buckets]:
        """Return `read_buckets`, within a read.

        Raises `LimitExceeded` for texts of more than `room` bytes.
        """
        now = self._context.clock() // _NANOSECONDS + 1
        within = self._find_range(session, window.start, window.end)
        beginnings = read_beginnings(session, keys, within.after)
        shared = Room(room)
        found: list[Buckets] = []
        for key in keys:
            table = HeldBuckets(window, aggregates, beginnings[key], shared)
            for held in iterate_held(session, key, within, beginnings[key]):
                table.add(held)
            found.append(table.build(min(window.end, now)))
        return found

    def read_within(
        self,
        session: GraphSession,
        keys: Sequence[SeriesKey],
        asked: Asked,
        limit: int,
        room: int,
    ) -> Sequence[PointColumns]:
        """Return the first values, or of buckets the first aggregate, within a read.

        Values end behind the one with which they have more than `room` bytes.
        """
        if asked.every is not None:
            names = asked.aggregates
            buckets = self.read_buckets_within(session, keys, asked.window, names, room)
            return [PointColumns(one.starts, one.columns[0]) for one in buckets]
        within = self._find_range(session, asked.start, asked.end)
        beginnings = read_beginnings(session, keys, within.after)
        read = (
            _read_first(session, key, within, asked.start, beginnings[key], limit, room)
            for key in keys
        )
        return [build_columns(points) for points in read]

    def check(self, session: GraphSession, asked: Iterable[tuple[EntityKey, str]]) -> None:
        """Refuse properties, of an entity at a path each, that have no series: `Unsupported`."""
        if self._kept.are_all:
            return
        view = self._context.models.open(session)
        chosen: dict[tuple[str, str], ChosenPaths | None] = {}
        for key, path in dict.fromkeys(asked):
            kind = self._find_kind(session, key)
            if kind is None:
                continue
            if kind not in chosen:
                chosen[kind] = self._kept.find_paths_of(*kind, view)
            _check(chosen[kind], path)

    def _find_kind(self, session: GraphSession, key: EntityKey) -> tuple[str, str] | None:
        """Return the model of a twin, or that of the source and the name of a relationship."""
        model_id = session.read_twin_model(key[0]) or self.find_last_model(session, key[0])
        if model_id is None or not key[1]:
            return None if model_id is None else (model_id, "")
        stored = session.read_relationship(*key)
        return None if stored is None else (model_id, orjson.loads(stored.body)[NAME])

    def are_kept(self, session: GraphSession) -> bool:
        """Return whether there is a history."""
        return session.keeps_history and self._context.settings.history.enabled

    def find_last_model(self, session: GraphSession, twin_id: str) -> str | None:
        """Return the model of a twin that was deleted, as its history has it."""
        if not self.are_kept(session):
            return None
        with session.snapshot():
            last = session.read_event_bounds()[1]
            versions = iterate_versions(session, (twin_id, ""), Range(0, last), newest_first=True)
            for version in versions:
                if version.kind == ChangeKind.TWIN_DELETED and version.before is not None:
                    model_id: str = orjson.loads(version.before)["$metadata"]["$model"]
                    return model_id
                break
        return None

    def _find_range(self, session: GraphSession, start: int, end: int) -> Range:
        find = self._history.find_before
        return Range(find(session, start), find(session, end))

    async def _scan(self, read: Callable[[GraphSession], T]) -> T:
        return await self._context.runner.scan(read, self._context.settings.query.timeout)


def _check(chosen: ChosenPaths | None, path: str) -> None:
    if chosen is not None and not chosen.has(path):
        raise Unsupported(
            f"Of {chosen.model_id}, the values of {path[:_LONGEST]} over time cannot be read: "
            "History__Properties does not have the model, nor the model Historized there."
        )


def _iterate_values(
    session: GraphSession, key: SeriesKey, within: Range, start: int, *, is_first: bool
) -> Iterator[tuple[int, int, Any]]:
    """Yield position, moment and value of each change, or `SAME`; first what held at the start."""
    value = read_beginnings(session, [key], within.after)[key]
    if is_first and is_point(value):
        yield within.after, start, value
    for held in iterate_held(session, key, within, value):
        yield from zip(*held, strict=True)


def _read_first(
    session: GraphSession,
    key: SeriesKey,
    within: Range,
    start: int,
    value: Any,
    limit: int,
    room: int,
) -> list[Point]:
    points: list[Point] = []
    if is_point(value):
        points.append((start, value))
        room -= measure_point(points[-1])
    for held in iterate_held(session, key, within, value):
        for moment, new in zip(held.moments, held.values, strict=True):
            if new is SAME:
                continue
            if points and points[-1][0] == moment:
                room += measure_point(points.pop())
            points.append((moment, new if is_point(new) else None))
            room -= measure_point(points[-1])
            if len(points) >= limit or room < 0:
                return points
    return points
