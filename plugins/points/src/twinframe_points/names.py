"""The ids of series, by twin and path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twinframe.storage.points import SeriesKey
from twinframe.storage.tables import TableSession

_MOST: Final = 200_000
"""Ids that a process remembers: some 40 MiB."""
_FIND: Final = "SELECT id FROM @series WHERE twin = ? AND path = ?"
_ADD: Final = "INSERT INTO @series (twin, path) VALUES (?, ?) RETURNING id"
_FORGOTTEN: Final = "SELECT value FROM @meta WHERE key = 'forgotten'"


class SeriesIds:
    """Finds and makes ids in transactions that write. It serves one thread at a time."""

    def __init__(self) -> None:
        self._known: dict[SeriesKey, int] = {}
        self._forgotten: object = None

    def find(self, session: TableSession, keys: Sequence[SeriesKey]) -> list[int]:
        """Return the id of each key, made if it is new.

        NOTE: an id made in a transaction that is undone must not stay: call `forget` then.
        """
        forgotten = session.find(_FORGOTTEN)
        if forgotten != self._forgotten or len(self._known) > _MOST:
            self.forget()
            self._forgotten = forgotten
        known = self._known
        found = list(map(known.get, keys))
        if None in found:
            missing = [*set(keys) - known.keys()]
            known.update(find_ids(session, missing))
            new = [key for key in missing if key not in known]
            for key, ((series,),) in zip(new, session.read_each(_ADD, new), strict=True):
                known[key] = series
            return [known[key] for key in keys]
        return found  # type: ignore[return-value]  # none is None

    def forget(self) -> None:
        """Forget all ids."""
        self._known = {}
        self._forgotten = None


def find_ids(session: TableSession, keys: Sequence[SeriesKey]) -> dict[SeriesKey, int]:
    """Return the ids of those series that have had a point."""
    found = zip(keys, session.read_each(_FIND, keys), strict=True)
    return {key: rows[0][0] for key, rows in found if rows}
