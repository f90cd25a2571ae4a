"""Answers the functions of queries on the past, in the snapshot of the query."""

from __future__ import annotations

from typing import Final, cast

import orjson

from twinframe.errors import LimitExceeded
from twinframe.graph.context.context import GraphContext
from twinframe.graph.events.event import ABSENT, find_value
from twinframe.graph.history.changes import build_item
from twinframe.graph.history.documents import read_document
from twinframe.graph.history.history import Asked, History
from twinframe.graph.history.past import PastSession
from twinframe.graph.history.versions import iterate_versions
from twinframe.graph.series.questions import SeriesQuestion
from twinframe.graph.series.series import Series
from twinframe.model.moments import render_moment
from twinframe.model.paths import split_path
from twinframe.model.temporal.instants import DateTime
from twinframe.model.values import JsonValue, Node, Relationship, Value
from twinframe.query.evaluate.sizes import measure
from twinframe.storage.base import EntityKey, GraphSession

_MOST: Final = 10_000
"""Changes of one call, and times of all, which are held in memory."""
_NANOSECONDS: Final = 1000  # of a microsecond


class QueryPast:
    """The past as one query sees it; a `PastReader`."""

    def __init__(self, context: GraphContext, series: Series, session: GraphSession) -> None:
        # NOTE: a query of an earlier state asks for other moments than its own.
        self._session = session.present if isinstance(session, PastSession) else session
        self._history = History(context)
        self._series = series
        self._limit = context.settings.query.max_bytes
        # PERF: most queries ask for the same moments and steps of many twins.
        self._positions: dict[Asked, int] = {}
        self._times: dict[int, str] = {}

    def read_value(self, owner: Node | Relationship, path: str, moment: Asked) -> JsonValue:
        """Return the value of a property at a moment; None if it had none."""
        position = self._positions.get(moment)
        if position is None:
            position = self._history.locate(self._session, moment, "valueAt")
            self._positions[moment] = position
        body = read_document(self._session, _build_key(owner), position)
        value = ABSENT if body is None else find_value(orjson.loads(body), split_path(path))
        return None if value is ABSENT else cast("JsonValue", value)

    def list_changes(
        self, entity: Node | Relationship, start: Asked, end: Asked | None
    ) -> list[Value]:
        """Return the changes after a moment, up to another one or now, as maps."""
        within = self._history.build_range(start, end)(self._session)
        versions = iterate_versions(self._session, _build_key(entity), within, newest_first=False)
        most = self._limit
        found: list[Value] = []
        size = 0
        for version in versions:
            found.append(build_item(version))
            size += measure(found[-1], most)
            if len(found) > _MOST or size > most:
                passed = f"{_MOST} changes" if size <= most else f"{most} bytes (Query__MaxBytes)"
                raise LimitExceeded(
                    f"changes() finds more than {passed} of one entity. Move from and to closer "
                    "together."
                )
        return found

    def read_series(
        self,
        owner: Node,
        path: str,
        start: str | DateTime,
        end: str | DateTime | None,
        every: str | None,
        aggregate: str | None,
    ) -> list[Value]:
        """Return the values of a property, or of steps of time, as maps of `time` and `value`."""
        names = () if aggregate is None else (aggregate,)
        until = None if end is None else _render(end)
        question = SeriesQuestion(_render(start), until, every, names)
        found = self._series.read_within(self._session, (owner.id, path), question)
        times = self._times
        if len(times) > _MOST:
            times.clear()
        for time, _ in found:
            if time not in times:
                times[time] = render_moment(time)
        return [{"time": times[time], "value": value} for time, value in found]


def _build_key(owner: Node | Relationship) -> EntityKey:
    return (owner.id, "") if isinstance(owner, Node) else (owner.source, owner.id)


def _render(moment: str | DateTime) -> str:
    return moment if isinstance(moment, str) else render_moment(moment.instant // _NANOSECONDS)
