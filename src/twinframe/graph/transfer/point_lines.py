"""The lines of values over time in a file: some points of one series each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Final, cast

import orjson

from twinframe.errors import InvalidArgument
from twinframe.graph.context.context import GraphContext
from twinframe.graph.series.paths import check_value
from twinframe.graph.transfer.lines import LINE_ERRORS, RENDERED, Numbered, pause_for_writers
from twinframe.graph.transfer.progress import Finding, Progress, build_finding
from twinframe.graph.transfer.sections import Header, Section
from twinframe.model.ids import parse_twin_id
from twinframe.model.paths import parse_path
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction
from twinframe.storage.points import BEGINNING, Points, PointValue, SeriesPart

POINTS: Final = 1024
"""Most points of a line."""
_LINE_BYTES: Final = 256 * 1024
_MEMBERS: Final = ("$dtId", "path", "times", "values")


def render_points(part: SeriesPart) -> Iterator[bytes]:
    """Yield the lines of a part, without their ends; of long texts several."""
    line = orjson.dumps(
        dict(zip(_MEMBERS, (part.twin, part.path, part.times, part.values), strict=True))
    )
    half = len(part.times) // 2
    if len(line) <= _LINE_BYTES or not half:
        yield line
        return
    for some in (slice(half), slice(half, None)):
        yield from render_points(
            SeriesPart(part.twin, part.path, part.times[some], part.values[some])
        )


class PointChunk:
    """Some lines of points on their way into the point store."""

    looks: ClassVar[bool] = False
    parts: ClassVar[int] = 1

    def __init__(
        self,
        context: GraphContext,
        header: Header,
        documents: Sequence[Numbered[JsonValue]],
        pause_seconds: float = 0.0,
    ) -> None:
        del context, header
        self._points = Points()
        self._refused: list[Finding] = []
        self._count = 0
        for number, value in pause_for_writers(documents, RENDERED, pause_seconds):
            try:
                self._points.extend(_parse_line(value))
            except LINE_ERRORS as error:
                item = value.get("$dtId") if isinstance(value, dict) else None
                name = item if isinstance(item, str) else ""
                self._refused.append(build_finding(number, Section.POINTS, name, error))

    @property
    def twins(self) -> frozenset[str]:
        """The ids of the twins."""
        return frozenset(self._points.twins)

    def take(self, first: int, is_kept: Callable[[str, str], bool] | None = None) -> Points:
        """Return the points to be stored: retention would remove those before `first`.

        `is_kept` says of a twin and path whether their points are; None: all are.
        """
        found = self._points
        if is_kept is not None or (found.times and min(found.times) < first):
            kept = Points()
            columns = (found.twins, found.paths, found.times, found.values)
            for twin, path, time, value in zip(*columns, strict=True):
                if time >= first and (is_kept is None or is_kept(twin, path)):
                    kept.add(twin, path, time, value)
            found = kept
        self._count = len(found.times)
        return found

    def look(self, session: GraphSession) -> None:
        """Do nothing before the transaction."""

    def judge(self, _pause_seconds: float = 0.0) -> None:
        """Do nothing before the transaction."""

    def store(
        self, _transaction: GraphTransaction, before: Progress, end: int, _part: int = 0
    ) -> tuple[Progress, Sequence[Finding]]:
        """Return the progress with the points, which are in their store already.

        Where the transaction fails they are stored again, which changes nothing.
        """
        done = before.advance(end, Section.POINTS, self._refused)
        return replace(done, points=before.points + self._count), self._refused


def _parse_line(value: JsonValue) -> Points:
    if not isinstance(value, dict) or value.keys() != {*_MEMBERS}:
        raise InvalidArgument(f"A line of points is an object with {', '.join(_MEMBERS)}.")
    twin, path, times, values = (value[name] for name in _MEMBERS)
    if not (isinstance(twin, str) and isinstance(path, str)):
        raise InvalidArgument("$dtId and path of a line of points are texts.")
    if not (isinstance(times, list) and isinstance(values, list) and len(times) == len(values)):
        raise InvalidArgument("times and values of a line of points are arrays of equal length.")
    for time in times:
        if type(time) is not int or not BEGINNING < time < -BEGINNING:
            raise InvalidArgument(
                f"{str(time)[:100]} in times is not an integer of microseconds since 1970."
            )
    twin, path = parse_twin_id(twin), parse_path(path)
    checked: list[PointValue] = [check_value(one, path) for one in values]
    count = len(times)
    return Points([twin] * count, [path] * count, cast("list[int]", times), checked)
