"""Series of properties, read from the history: a value holds until the next change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from twinframe.graph.context.context import GraphContext
from twinframe.graph.events.changes import is_same
from twinframe.graph.events.event import ABSENT, find_value
from twinframe.graph.history.documents import read_document
from twinframe.graph.history.history import History, Range
from twinframe.graph.history.versions import iterate_versions
from twinframe.graph.series.questions import Asked
from twinframe.model.pages import Page, PageRequest
from twinframe.model.paths import split_path
from twinframe.storage.base import ChangeKind, GraphSession
from twinframe.storage.points import Buckets, PointValue, SeriesKey, Window

T = TypeVar("T")

HeldPoint = tuple[int, PointValue | None]
"""When a value began to hold, in microseconds, and the value; None where it was removed."""

_NANOSECONDS: Final = 1000  # of a microsecond
_MOST_SEARCHED: Final = 10_000
_BYTES: Final = 64


class _Held(NamedTuple):
    """A value at a path, from a moment on; `position` is that of the change."""

    position: int
    moment: int
    value: Any


class PropertySeries:
    """Answers questions about the values of properties over time."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._history = History(context)

    async def read_points(self, key: SeriesKey, asked: Asked, page: PageRequest) -> Page[HeldPoint]:
        """Return a page of values: the one that held at the beginning, then each change.

        Errors: `HistoryNotKept`, `Unsupported`, `QueryTimeout`, `InvalidContinuationToken`.
        """
        listing = await self._context.open_listing(
            "series of a property", *key, asked.start, asked.end
        )
        token, size = listing.start(page)

        def read(session: GraphSession) -> Page[HeldPoint]:
            within = self._find_range(session, asked.start, asked.end)
            found: list[tuple[str, HeldPoint]] = []
            room = listing.sizes.bytes  # SEC: texts are long; more than a page is not held
            if token is not None:
                within = within._replace(after=max(within.after, int(token)))
            for searched, held in enumerate(_iterate_held(session, key, within)):
                is_first = not searched
                if is_first and (token is not None or not _is_point(held.value)):
                    continue
                moment = asked.start if is_first else held.moment
                if held.value is not _SAME:
                    if found and found[-1][1][0] == moment:  # a series has one value at a time
                        room += _measure(found.pop()[1])
                    point = moment, held.value if _is_point(held.value) else None
                    found.append((str(held.position), point))
                    room -= _measure(point)
                if len(found) > size or room < 0 or searched >= _MOST_SEARCHED:
                    return listing.page(found, size, _measure, str(held.position))
            return listing.page(found, size, _measure)

        return await self._scan(read)

    async def read_buckets(
        self, keys: Sequence[SeriesKey], window: Window, aggregates: Sequence[str]
    ) -> Sequence[Buckets]:
        """Return the aggregates of properties, in one state of the history, in the order of `keys`.

        Errors: as `read_points`.
        """
        return await self._scan(
            lambda session: self.read_buckets_within(session, keys, window, aggregates)
        )

    def read_buckets_within(
        self,
        session: GraphSession,
        keys: Sequence[SeriesKey],
        window: Window,
        aggregates: Sequence[str],
    ) -> Sequence[Buckets]:
        """Return `read_buckets`, within a read."""
        now = self._context.clock() // _NANOSECONDS + 1
        within = self._find_range(session, window.start, window.end)
        return [_read_buckets(session, key, within, window, aggregates, now) for key in keys]

    def read_within(
        self, session: GraphSession, key: SeriesKey, asked: Asked, limit: int, room: int
    ) -> Sequence[HeldPoint]:
        """Return the first values, or of buckets the first aggregate, within a read.

        Values end behind the one with which they have more than `room` bytes.
        """
        if asked.every is not None:
            keys, names = [key], asked.aggregates
            (found,) = self.read_buckets_within(session, keys, asked.window, names)
            return list(zip(found.starts, found.columns[0], strict=True))
        points: list[HeldPoint] = []
        within = self._find_range(session, asked.start, asked.end)
        for number, held in enumerate(_iterate_held(session, key, within)):
            if held.value is _SAME or not (number or _is_point(held.value)):
                continue
            moment = held.moment if number else asked.start
            if points and points[-1][0] == moment:
                room += _measure(points.pop())
            points.append((moment, held.value if _is_point(held.value) else None))
            room -= _measure(points[-1])
            if len(points) >= limit or room < 0:
                break
        return points

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


_SAME: Final[Any] = object()


def _iterate_held(session: GraphSession, key: SeriesKey, within: Range) -> Iterator[_Held]:
    """Yield the value at the beginning, then that of each change of the twin, or `_SAME`."""
    twin_id, path = key
    names = split_path(path)
    value = _read_value(read_document(session, (twin_id, ""), within.after), names)
    yield _Held(within.after, 0, value)
    for version in iterate_versions(session, (twin_id, ""), within, newest_first=False):
        new = _read_value(version.after, names)
        is_other = not is_same(value, new) and (_is_point(value) or _is_point(new))
        moment = version.moment // _NANOSECONDS
        yield _Held(version.position, moment, new if is_other else _SAME)
        value = new


def _read_value(body: bytes | None, names: Sequence[str]) -> Any:
    return ABSENT if body is None else find_value(orjson.loads(body), names)


def _is_point(value: Any) -> bool:
    """Return whether it is a single value; objects, arrays and null count as none."""
    return isinstance(value, str | int | float)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _measure(point: HeldPoint) -> int:
    return _BYTES + (len(point[1]) if isinstance(point[1], str) else 0)


@dataclass(slots=True)
class _Bucket:
    """What held in a step of time: `weighted` is the sum of numbers times the time they held."""

    first: PointValue | None = None
    last: PointValue | None = None
    least: float | None = None
    most: float | None = None
    weighted: float = 0.0
    held: int = 0
    count: int = 0
    sum: float = 0.0

    def change(self, value: PointValue) -> None:
        """Add a change to a value."""
        self.count += 1
        if _is_number(value):
            self.sum += float(value)

    def hold(self, value: Any, length: int) -> None:
        """Add a value that held for some microseconds."""
        if self.first is None:
            self.first = value
        self.last = value
        if _is_number(value):
            self.least = value if self.least is None else min(self.least, value)
            self.most = value if self.most is None else max(self.most, value)
            self.weighted += value * length
            self.held += length

    def compute(self, aggregate: str) -> PointValue | None:
        """Return an aggregate: `count` and `sum` of the changes in it, the others of what held."""
        match aggregate:
            case "avg":
                return self._compute_average()
            case "count":
                return self.count
            case "first":
                return self.first
            case "last":
                return self.last
            case "max":
                return self.most
            case "min":
                return self.least
        return self.sum

    def _compute_average(self) -> float | None:
        if self.least is None or self.most is None:
            return None
        # NOTE: rounding must not lead out of the values; one value alone is its own average.
        return min(max(self.weighted / self.held, self.least), self.most)


def _read_buckets(
    session: GraphSession,
    key: SeriesKey,
    within: Range,
    window: Window,
    aggregates: Sequence[str],
    now: int,
) -> Buckets:
    buckets: dict[int, _Bucket] = {}
    end = min(window.end, now)
    value, since = ABSENT, window.start
    for number, held in enumerate(_iterate_held(session, key, within)):
        if held.value is _SAME:
            continue
        if number:
            _hold(buckets, window, value, since, held.moment)
            since = held.moment
            if _is_point(held.value):
                at = (since - window.start) // window.every
                buckets.setdefault(at, _Bucket()).change(held.value)
        value = held.value
    _hold(buckets, window, value, since, end)
    numbers = sorted(at for at, bucket in buckets.items() if bucket.first is not None)
    columns = [[buckets[at].compute(name) for at in numbers] for name in aggregates]
    return Buckets([window.start + at * window.every for at in numbers], columns)


def _hold(buckets: dict[int, _Bucket], window: Window, value: Any, since: int, until: int) -> None:
    """Add a value that held from one time to another to the buckets between them."""
    if not _is_point(value):
        return
    while since < until:
        at = (since - window.start) // window.every
        end = min(window.start + (at + 1) * window.every, until)
        buckets.setdefault(at, _Bucket()).hold(value, end - since)
        since = end
