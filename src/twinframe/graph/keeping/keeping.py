"""The use case of what is kept: how far back the history goes, how much room it takes, and why."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import orjson

from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery.upkeep import read_ledger
from twinframe.graph.history.history import History
from twinframe.graph.series.runner import PointRunner
from twinframe.model.clock import render_update_time
from twinframe.settings import Section
from twinframe.settings.shape import read_keys, render_key
from twinframe.storage.base import GraphSession

_NANO = 1000
_SHOWN = ("history", "events")
_LEFT_OUT = frozenset(("endpoints",))


class _Changes(NamedTuple):
    """The changes that are kept; `why` says why none are, `size` is in bytes as last measured."""

    why: str
    first: int
    last: int
    since: int | None
    size: int


class Keeping:
    """What is kept of changes and of values over time, and the settings that say so."""

    def __init__(self, context: GraphContext, history: History, points: PointRunner | None) -> None:
        self._context = context
        self._history = history
        self._points = points

    async def read(self) -> bytes:
        """Return it as JSON text."""
        changes = await self._context.runner.read(self._read_changes)
        points = None if self._points is None else await asyncio.to_thread(self._read_points)
        return orjson.dumps(
            {
                "changes": {
                    "kept": not changes.why,
                    "reason": changes.why or None,
                    "firstPosition": changes.first,
                    "lastPosition": changes.last,
                    "since": None if changes.since is None else render_update_time(changes.since),
                    "bytes": changes.size,
                },
                "points": points,
                "settings": self._list_settings(),
            }
        )

    def _read_changes(self, session: GraphSession) -> _Changes:
        first, last = session.read_event_bounds()
        size = sum(stretch.size for stretch in read_ledger(session))
        why, since = "", None
        if not session.keeps_history:
            why = "The storage of this graph keeps no history; the storage `sqlite` does."
        elif not self._context.settings.history.enabled:
            why = "This service keeps no history: History__Enabled is false."
        else:
            first = self._history.read_first(session)
            found = session.read_moment(max(first, 1))
            since = None if found is None else found[1]
        return _Changes(why, first, last, since, size)

    def _read_points(self) -> dict[str, Any]:
        assert self._points is not None  # noqa: S101  # the caller has checked it
        first = self._points.find_first_kept()
        return {
            "kept": bool(self._context.settings.history.telemetry),
            "since": render_update_time(first * _NANO) if first > 0 else None,
            "bytes": self._points.store.measure(),
        }

    def _list_settings(self) -> list[dict[str, Any]]:
        """The settings in force of changes, values over time and events; none of them is secret."""
        found = []
        for name in _SHOWN:
            section: Section = getattr(self._context.settings, name)
            values = section.model_dump(mode="json")
            for field, key in zip(values, read_keys(type(section)).values(), strict=True):
                if field not in _LEFT_OUT and not key.secret and key.section is None:
                    found.append(
                        {
                            "key": render_key((name.title(), key.name)),
                            "value": values[field],
                            "description": key.info.description or "",
                        }
                    )
        return found
