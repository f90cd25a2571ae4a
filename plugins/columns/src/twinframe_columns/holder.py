"""The projection of one store in this process: opened, brought up to date, made anew."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twinframe.errors import TwinframeError
from twinframe.storage.base import EntityChange, GraphSession, GraphStore
from twinframe_columns.catch_up import Outgrown, apply_changes
from twinframe_columns.layout import UnusableFile, read_projection
from twinframe_columns.making import Mark, build_mark, make_file, read_key
from twinframe_columns.projection import Projection
from twinframe_columns.settings import ColumnsSettings

_log: Final = logging.getLogger(__name__)

MOST_CHANGES: Final = 2_000
"""Changes that a query applies itself; more are left to a new file."""

_PATIENCE: Final = 0.02
"""Seconds that a query waits for another that uses the projection."""

_LOOK: Final = 0.5
"""Seconds between two looks for a newer file."""

_PAUSE: Final = 10.0
"""The least seconds between two files, and the least part of the time that making one may take."""
_PART: Final = 10


class ProjectionHolder:
    """Gives the projection of a store at the position of a session. Thread-safe.

    The file lies in the store's scratch directory, for all processes; whoever first needs a newer
    one makes it in the background.
    """

    def __init__(self, store: GraphStore, settings: ColumnsSettings) -> None:
        self._store = store
        self._settings = settings
        self._using = threading.Lock()
        self._projection: Projection | None = None
        self._opened: Mark | None = None
        self._looked = -float("inf")
        self._making: threading.Thread | None = None
        self._next = 0.0

    @contextmanager
    def open(self, session: GraphSession) -> Iterator[Projection | None]:
        """Give the projection of what the session sees in its snapshot; None if there is none.

        Nobody else changes it meanwhile. What is None now may be there a moment later.
        """
        if not self._using.acquire(timeout=_PATIENCE):
            yield None
            return
        try:
            yield self._bring_up_to_date(session)
        finally:
            self._using.release()

    @contextmanager
    def open_at_once(self, session: GraphSession) -> Iterator[Projection | None]:
        """Give the projection if it is there, at the session's position, and used by nobody else.

        PERF: for the event loop, which neither waits, opens a file nor applies changes.
        """
        if not self._using.acquire(blocking=False):
            yield None
            return
        try:
            projection = self._projection
            if projection is not None and projection.position != session.read_event_bounds()[1]:
                projection = None
            yield projection
        finally:
            self._using.release()

    @property
    def has_projection(self) -> bool:
        """Whether there is one, of whatever position."""
        return self._projection is not None

    def _bring_up_to_date(self, session: GraphSession) -> Projection | None:
        self._look_for_file(session)
        projection = self._projection
        if projection is None:
            if session.count_twins() >= self._settings.least_twins:
                self._request_file()
            return None
        position = session.read_event_bounds()[1]
        if position == projection.position:
            return projection
        if position < projection.position:
            return None  # an older snapshot, or a restored graph
        if position - projection.position <= MOST_CHANGES:
            page = session.read_changes(after=projection.position, limit=MOST_CHANGES)
            if page.is_complete and page.position == position:
                return self._apply(projection, session, page.changes, position)
            self._projection = None
        self._request_file()
        return None

    def _apply(
        self,
        projection: Projection,
        session: GraphSession,
        changes: Sequence[EntityChange],
        position: int,
    ) -> Projection | None:
        # NOTE: a run that ends in the middle leaves columns that are of no position.
        self._projection = None
        try:
            apply_changes(projection, session, changes, position)
        except Outgrown:
            self._request_file()
            return None
        except BaseException:
            self._opened = None  # the file is still good
            self._looked = -float("inf")
            raise
        self._projection = projection
        if projection.is_worn:
            self._request_file()
        return projection

    def _look_for_file(self, session: GraphSession) -> None:
        """Open the file if it is not the one that is open."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        try:
            with find_path(self._store).open("rb") as file:
                mark = build_mark(os.fstat(file.fileno()))
                if mark == self._opened:
                    return
                self._opened = mark
                self._projection = read_projection(file, read_key(session))
        except (OSError, UnusableFile):
            return  # the next one replaces it

    def _request_file(self) -> None:
        if time.monotonic() < self._next or (self._making and self._making.is_alive()):
            return
        self._making = threading.Thread(target=self._make, name="columns", daemon=True)
        self._making.start()

    def _make(self) -> None:
        started = time.monotonic()
        try:
            make_file(self._store, find_path(self._store), self._opened)
        except (OSError, RuntimeError, TwinframeError) as error:
            # NOTE: queries are answered without it, and the next try may do better.
            _log.warning("The columns of the graph could not be made: %s", error)
        finally:
            now = time.monotonic()
            self._looked = -float("inf")
            self._next = now + max(_PAUSE, _PART * (now - started))


def find_path(store: GraphStore) -> Path:
    """Return the path of a store's file. The store has a scratch directory."""
    assert store.scratch is not None  # noqa: S101  # the plugin offers no engine without one
    return store.scratch / "columns"
