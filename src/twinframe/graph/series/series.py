"""The use cases of values over time: points are written in bulk, and series are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from twinframe.dtdl.interfaces import Property, Telemetry
from twinframe.dtdl.schemas import ArraySchema, GeospatialSchema, MapSchema, ObjectSchema
from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    SeriesNotFound,
    TwinframeError,
    TwinNotFound,
    Unsupported,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import ModelView
from twinframe.graph.series.keeping import KeptModels, check_senders
from twinframe.graph.series.lines import LineLimits, ParsedLines, Times, check_ahead, parse_lines
from twinframe.graph.series.measuring import (
    NO_POINTS,
    Point,
    PointColumns,
    build_columns,
    measure_columns,
    measure_point,
)
from twinframe.graph.series.paths import ChosenPaths, check_value, list_values
from twinframe.graph.series.properties import PropertySeries
from twinframe.graph.series.questions import Asked, SeriesQuestion, parse_question
from twinframe.graph.series.runner import PointRunner
from twinframe.model.ids import parse_twin_id
from twinframe.model.json import JsonLimits
from twinframe.model.moments import parse_moment
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.paths import parse_path
from twinframe.model.values import JsonValue
from twinframe.storage.base import EntityKey, GraphSession
from twinframe.storage.points import (
    BEGINNING,
    Buckets,
    Points,
    PointStore,
    SeriesKey,
    Window,
    build_room_error,
)

_SHOWN: Final = 50
"""Series that an error names, or finds a near one among."""
_LONGEST: Final = 100


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line, counted from 1, whose points were not stored, and why."""

    line: int
    twin_id: str | None
    error: TwinframeError


@dataclass(frozen=True, slots=True)
class WrittenLines:
    """How many lines and points were stored, and the lines that were not."""

    lines: int
    points: int
    refused: Sequence[RefusedLine]


class Series:
    """Keeps telemetry as points, and answers questions about them."""

    def __init__(self, context: GraphContext, runner: PointRunner | None) -> None:
        """Without a runner no telemetry is kept."""
        self._context = context
        self._runner = runner
        self._properties = PropertySeries(context)
        self._kept = KeptModels(context.settings.history.telemetry)
        settings = context.settings
        own = settings.json_
        self._limits = LineLimits(
            settings.bulk.max_points,
            settings.graph.max_twin_bytes,
            JsonLimits(own.max_depth, own.max_keys),
        )

    @property
    def limits(self) -> LineLimits:
        """The limits of what is parsed at once."""
        return self._limits

    @property
    def is_kept(self) -> bool:
        """Whether telemetry is kept, of any model."""
        return self._runner is not None

    def limit_bytes(self, most: int | None) -> None:
        """Keep points of at most so many bytes from now on, the newest; None: of the settings."""
        if self._runner is not None:
            self._runner.limit_bytes(most)

    def read_times(self) -> Times:
        """Return the times that points can have now."""
        return (
            Times(self._read_now(), BEGINNING)
            if self._runner is None
            else self._read_times(self._runner)
        )

    async def write_lines(self, body: bytes) -> WrittenLines:
        """Store the points of a body of lines; each line is stored whole or refused.

        What is stored is durable. Errors of the call: `Unsupported`, `InvalidArgument`,
        `LimitExceeded`, `StorageError`.
        """
        runner = self._require()
        parse = partial(parse_lines, body, self._read_times(runner), self._limits)
        parsed: ParsedLines = await runner.parse(parse)
        await self.write_parsed(parsed)
        errors = [RefusedLine(line, *parsed.errors[line]) for line in sorted(parsed.errors)]
        runner.note_refused(len(errors))
        return WrittenLines(parsed.count - len(errors), len(parsed.lines), errors)

    async def write_parsed(self, parsed: ParsedLines) -> None:
        """Store points that were parsed; those that are not kept become errors of their lines.

        Of a line that has points of kept paths too, the others are only left out.

        Errors: `Unsupported`, `StorageError`.
        """
        runner = self._require()
        refused, chosen = await check_senders(self._context, self._kept, parsed.senders)
        if refused or chosen:
            await runner.parse(partial(parsed.refuse, refused, chosen))
        # One write is bounded, whatever a batch of messages gives.
        for start in range(0, len(parsed.lines), self._limits.points):
            await runner.write(parsed.points.cut(start, start + self._limits.points))

    async def keep(
        self,
        twin_id: str,
        component: str | None,
        model_id: str,
        payload: dict[str, JsonValue],
        source_time: str | None,
    ) -> None:
        """Store the values of a telemetry message, those that are kept of this model.

        What cannot be a point is left out, also what is too old; and the time of the source if it
        is none.
        """
        if self._runner is None:
            return
        chosen = await self._find_paths(model_id)
        if chosen is not None and not chosen.paths:
            return
        points = Points()
        time = _read_time(source_time, self._read_times(self._runner))
        if time is None:
            return
        for path, value in list_values(payload, component or ""):
            if _is_point(path, value) and (chosen is None or chosen.has(path)):
                points.add(twin_id, path, time, check_value(value, path))
        if points.times:
            await self._runner.write(points)

    async def read_points(
        self, twin_id: str, path: str, question: SeriesQuestion, page: PageRequest = FIRST_PAGE
    ) -> Page[Point]:
        """Return a page of the points of a series, by time; of a property, of its values.

        Errors: `InvalidArgument`, `MissingArgument`, `TwinNotFound`, `SeriesNotFound`,
        `InvalidContinuationToken`, `Unsupported`, `HistoryNotKept`, `QueryTimeout`.
        """
        asked, key = self.parse(question), (twin_id, path)
        found = await self._find(twin_id, path)
        if found.is_property:
            values = await self._properties.read_points(key, asked, page)
            if not found.is_declared and not values.items and values.token is None:
                raise SeriesNotFound(twin_id, path, found.known)
            return values
        runner = self._require()
        listing = await self._context.open_listing("series", *key, question.start, question.end)
        after, size = listing.start(page)
        start = asked.start if after is None else int(after) + 1
        room = listing.sizes.bytes  # SEC: texts are long; more than a page is not held
        points = await runner.read(
            lambda store: store.read_points(key, start, asked.end, size + 1, room)
        )
        return listing.page([(point[0], point) for point in points], size, measure_point)

    async def read_buckets(self, twin_id: str, path: str, question: SeriesQuestion) -> Buckets:
        """Return the buckets of a series that have points, or in which a property had a value.

        Errors: as `read_points`.
        """
        asked, key = self.parse(question), (twin_id, path)
        found = await self._find(twin_id, path)
        if not found.is_property:
            (buckets,) = await self.read_many([key], asked.window, asked.aggregates)
            return buckets
        (buckets,) = await self._properties.read_buckets([key], asked.window, asked.aggregates)
        if not found.is_declared and not buckets.starts:
            raise SeriesNotFound(twin_id, path, found.known)
        return buckets

    def read_within(
        self, session: GraphSession, keys: Sequence[SeriesKey], question: SeriesQuestion
    ) -> Sequence[PointColumns]:
        """Return all points of each series, or the first aggregate of buckets, within a read.

        A path without values gives none. Errors: as `read_points`, and `LimitExceeded` for more
        points of one than a page may have, or more bytes than a query may hold.
        """
        asked, most = self.parse(question), self._context.settings.graph.max_page_size
        room = self._context.settings.query.max_bytes
        store = None if self._runner is None else self._runner.store
        found = [NO_POINTS] * len(keys)
        if store is not None:
            found = _read_points(store, keys, asked, most + 1, room)
        # PERF: where points were found, nothing else needs to be looked up.
        others = [
            at
            for at, (twin_id, path) in enumerate(keys)
            if not found[at].times and (store is None or path not in store.list_paths(twin_id))
        ]
        if others:
            of_properties = [keys[at] for at in others]
            self._properties.check(
                session, (((twin_id, ""), path) for twin_id, path in of_properties)
            )
            read = self._properties.read_within(session, of_properties, asked, most + 1, room)
            for at, points in zip(others, read, strict=True):
                found[at] = points
        if any(len(points.times) > most for points in found):
            raise LimitExceeded(
                f"The series has more than {most} values (Graph__MaxPageSize). Ask for a step of "
                "time, or for less time."
            )
        if sum(map(measure_columns, found)) > room:
            raise build_room_error(room)
        return found

    async def read_many(
        self, keys: Sequence[tuple[str, str]], window: Window, aggregates: Sequence[str]
    ) -> Sequence[Buckets]:
        """Return the buckets of many series, in one state of the points."""
        room = self._context.settings.query.max_bytes
        return await self._require().read(
            lambda store: store.read_buckets(keys, window, aggregates, room)
        )

    def check_values(self, session: GraphSession, asked: Iterable[tuple[EntityKey, str]]) -> None:
        """Refuse properties whose values over time cannot be read: `Unsupported`."""
        self._properties.check(session, asked)

    def parse(self, question: SeriesQuestion) -> Asked:
        """Check a question. Raises `InvalidArgument`, `LimitExceeded`, `MissingArgument`."""
        most = self._context.settings.graph.max_page_size
        return parse_question(question, self._read_now(), most)

    async def _find(self, twin_id: str, path: str) -> _Found:
        """Return which series it is; raise an error for one that is not there.

        One of a deleted twin is there for as long as its points or its history are kept. A path
        that the model declares is there before its first value.
        """
        parse_twin_id(twin_id)
        parse_path(path)
        known: Sequence[str] = ()
        if self._runner is not None:
            known = await self._runner.read(lambda store: store.list_paths(twin_id))
            if path in known:
                return _Found(is_property=False, is_declared=True, known=())

        def find(session: GraphSession) -> _Found:
            model_id = session.read_twin_model(twin_id)
            model_id = model_id or self._properties.find_last_model(session, twin_id)
            if model_id is None and not known:
                raise TwinNotFound(twin_id)
            view = self._context.models.open(session)
            found = _find_declared(view, model_id, path, known)
            if not found.is_property and self._runner is None:
                raise _build_unsupported()
            if found.is_property:
                self._properties.check(session, [((twin_id, ""), path)])
            if not found.is_declared and not self._properties.are_kept(session):
                raise SeriesNotFound(twin_id, path, found.known)
            return found

        return await self._context.runner.read(find)

    async def _find_paths(self, model_id: str) -> ChosenPaths | None:
        kept, models = self._kept, self._context.models
        return await self._context.runner.read(
            lambda session: kept.find_paths(model_id, models.open(session))
        )

    def _require(self) -> PointRunner:
        if self._runner is not None:
            return self._runner
        raise _build_unsupported()

    def _read_times(self, runner: PointRunner) -> Times:
        return Times(self._read_now(), runner.find_first_kept())

    def _read_now(self) -> int:
        return self._context.clock() // 1000


def _build_unsupported() -> Unsupported:
    return Unsupported(
        "No telemetry is kept here: set History__Telemetry to all, historized or ids of models."
    )


def _read_points(
    store: PointStore, keys: Sequence[SeriesKey], asked: Asked, limit: int, room: int
) -> list[PointColumns]:
    """Return the points of each series, or of its buckets the first aggregate."""
    if asked.every is None:
        read = (store.read_points(key, asked.start, asked.end, limit, room) for key in keys)
        return [build_columns(points) for points in read]
    found = store.read_buckets(keys, asked.window, asked.aggregates, room)
    return [PointColumns(one.starts, one.columns[0]) for one in found]


class _Found(NamedTuple):
    """Which series a path is of. One that the model does not declare may have had values."""

    is_property: bool
    is_declared: bool
    known: Sequence[str]


def _find_declared(
    view: ModelView, model_id: str | None, path: str, known: Sequence[str]
) -> _Found:
    """Return what the model declares at the beginning of a path.

    Raises `InvalidArgument` for a property that is an object or array.
    """
    interface = None if model_id is None else view.find_interface(model_id)
    name, _, rest = path.partition("/")
    prefix = ""
    if interface is not None and name in interface.components:
        interface = view.find_interface(interface.components[name].schema)
        prefix = f"{name}/"
        name, _, rest = rest.partition("/")
    contents = {} if interface is None else interface.contents
    match contents.get(name):
        case Telemetry():
            return _Found(is_property=False, is_declared=True, known=())
        case Property(schema=schema):
            if not rest and isinstance(schema, _COMPOSED):
                raise InvalidArgument(
                    f"{path[:_LONGEST]} is an object or an array; a series has single values. Name "
                    f"a member of it, such as {path[:_LONGEST]}/x."
                )
            return _Found(is_property=True, is_declared=True, known=())
    names = [prefix + name for name in contents if isinstance(contents[name], Property | Telemetry)]
    shown = [*dict.fromkeys((*known, *sorted(names)))][:_SHOWN]
    return _Found(is_property=True, is_declared=False, known=shown)


_COMPOSED: Final = (ArraySchema, GeospatialSchema, MapSchema, ObjectSchema)


def _read_time(text: str | None, times: Times) -> int | None:
    """Return the time of a message; None if it is too old.

    SPEC: the vendor accepts any text as the time of the source.
    """
    try:
        time = times.now if text is None else check_ahead(parse_moment(text), times.now)
    except TwinframeError:
        return times.now
    return None if time < times.first else time


def _is_point(path: str, value: JsonValue) -> bool:
    try:
        check_value(value, parse_path(path))
    except TwinframeError:
        return False
    return True
