"""The ids of series, by twin and path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import apsw

from twinframe.storage.points import SeriesKey

_MOST: Final = 200_000
"""Ids that a process remembers: some 40 MiB."""
_FIND: Final = "SELECT id FROM series WHERE twin = ? AND path = ?"
_ADD: Final = "INSERT INTO series (twin, path) VALUES (?, ?) RETURNING id"
_FORGOTTEN: Final = "SELECT value FROM meta WHERE key = 'forgotten'"


class SeriesIds:
    """Finds and makes ids in transactions that write. It serves one thread at a time."""

    def __init__(self) -> None:
        self._known: dict[SeriesKey, int] = {}
        self._forgotten: object = None

    def find(self, connection: apsw.Connection, keys: Sequence[SeriesKey]) -> list[int]:
        """Return the id of each key, made if it is new.

        NOTE: an id made in a transaction that is undone must not stay: call `forget` then.
        """
        forgotten = connection.execute(_FORGOTTEN).get
        if forgotten != self._forgotten or len(self._known) > _MOST:
            self.forget()
            self._forgotten = forgotten
        known = self._known
        found = list(map(known.get, keys))
        if None in found:
            for key in set(keys) - known.keys():
                known[key] = find_id(connection, key) or connection.execute(_ADD, key).get
            return [known[key] for key in keys]
        return found  # type: ignore[return-value]  # none is None

    def forget(self) -> None:
        """Forget all ids."""
        self._known = {}
        self._forgotten = None


def find_id(connection: apsw.Connection, key: SeriesKey) -> int | None:
    """Return the id of a series; None if it never had a point."""
    found: int | None = connection.execute(_FIND, key).get
    return found
