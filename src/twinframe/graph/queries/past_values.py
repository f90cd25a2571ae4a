"""Answers the functions of queries on the past, in the snapshot of the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from twinframe.errors import LimitExceeded
from twinframe.graph.context.context import GraphContext
from twinframe.graph.events.event import ABSENT, find_value
from twinframe.graph.history.changes import build_item
from twinframe.graph.history.documents import read_documents
from twinframe.graph.history.history import Asked, History
from twinframe.graph.history.past import PastSession
from twinframe.graph.history.versions import iterate_versions
from twinframe.graph.series.measuring import PointColumns, measure_columns
from twinframe.graph.series.questions import SeriesQuestion
from twinframe.graph.series.series import Series
from twinframe.model.moments import render_moment
from twinframe.model.paths import split_path
from twinframe.model.temporal.instants import DateTime
from twinframe.model.values import Value
from twinframe.query.evaluate.sizes import measure
from twinframe.query.reader import Answer, ChangesQuestion, ValueQuestion, ValuesOverTime
from twinframe.storage.base import EntityKey, GraphSession

_MOST: Final = 10_000
"""Changes of one call, and times of all, which are held in memory."""
_NANOSECONDS: Final = 1000  # of a microsecond
_LEAST: Final = 200
"""Bytes of an answer beside its value, and of a map of a time and a value beside its text."""
_MAP: Final = 300


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

    def read_values(self, asked: Sequence[ValueQuestion]) -> Sequence[Answer]:
        """Return the values of properties at moments; None where there was none."""
        self._series.check_values(self._session, ((one.owner, one.path) for one in asked))
        owners: dict[Asked, dict[EntityKey, list[int]]] = {}
        for at, question in enumerate(asked):
            some = owners.setdefault(question.moment, {})
            some.setdefault(question.owner, []).append(at)
        found = [Answer(None, _LEAST)] * len(asked)
        for moment, some in owners.items():
            position = self._find_position(moment)
            keys, most = [*some], self._session.most_at_once
            for start in range(0, len(keys), most):
                part = keys[start : start + most]
                for key, body in read_documents(self._session, part, position).items():
                    document = orjson.loads(body)
                    for at in some[key]:
                        value = find_value(document, split_path(asked[at].path))
                        if value is not ABSENT:
                            found[at] = Answer(value, _LEAST + measure(value, len(body)))
        return found

    def _find_position(self, moment: Asked) -> int:
        position = self._positions.get(moment)
        if position is None:
            position = self._history.locate(self._session, moment, "valueAt")
            self._positions[moment] = position
        return position

    def list_changes(self, asked: Sequence[ChangesQuestion]) -> Sequence[Answer]:
        """Return the changes after a moment, up to another one or now, as maps."""
        return [self._list_changes(*question) for question in asked]

    def _list_changes(self, owner: EntityKey, start: Asked, end: Asked | None) -> Answer:
        within = self._history.build_range(start, end)(self._session)
        versions = iterate_versions(self._session, owner, within, newest_first=False)
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
        return Answer(found, _LEAST + size)

    def read_series(self, asked: Sequence[ValuesOverTime]) -> Sequence[Answer]:
        """Return the values of properties, or of steps of time, as maps of `time` and `value`."""
        alike: dict[_Times, list[int]] = {}
        for at, one in enumerate(asked):
            alike.setdefault(one[2:], []).append(at)
        found = [Answer(None, _LEAST)] * len(asked)
        for (start, end, every, aggregate), places in alike.items():
            names = () if aggregate is None else (aggregate,)
            until = None if end is None else _render(end)
            question = SeriesQuestion(_render(start), until, every, names)
            keys = [(asked[at].twin_id, asked[at].path) for at in places]
            answers = self._series.read_within(self._session, keys, question)
            for at, points in zip(places, answers, strict=True):
                found[at] = Answer(self._build_maps(points), _LEAST + measure_columns(points, _MAP))
        return found

    def _build_maps(self, points: PointColumns) -> list[Value]:
        times = self._times
        if len(times) > _MOST:
            times.clear()
        for time in set(points.times) - times.keys():
            times[time] = render_moment(time)
        texts = map(times.__getitem__, points.times)
        return [{"time": time, "value": v} for time, v in zip(texts, points.values, strict=True)]


_Times = tuple[str | DateTime, str | DateTime | None, str | None, str | None]


def _render(moment: str | DateTime) -> str:
    return moment if isinstance(moment, str) else render_moment(moment.instant // _NANOSECONDS)
