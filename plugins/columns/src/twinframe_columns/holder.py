"""The projection of one store in this process: opened, brought up to date, made anew."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from twinframe.errors import TwinframeError
from twinframe.runtime.heap import keep_blocks
from twinframe.storage.base import GraphSession, GraphStore
from twinframe_columns.catch_up import Changes, Outgrown, apply_changes, read_changes
from twinframe_columns.layout import UnusableFile, read_projection
from twinframe_columns.making import FileMaker, Mark, build_mark, read_key, read_proof
from twinframe_columns.projection import Projection
from twinframe_columns.settings import ColumnsSettings

_log: Final = logging.getLogger(__name__)

MOST_CHANGES: Final = 2_000
_CHANGED_PART: Final = 50
"""The entities that a query brings up to date itself: so many, or so large a part of all."""

_PATIENCE: Final = 0.02
"""Seconds that a query waits for another that uses the projection."""

_LOOK: Final = 0.5
"""Seconds between two looks for a newer file."""

_BEAT: Final = 0.2
_INTEREST: Final = 60.0
"""A projection that fell behind is brought up to date so often, until no query came so long."""

_PAUSE: Final = 10.0
_PART: Final = 10
"""The least seconds between two files, and the least part of the time that making one may take."""

_LONGEST_PAUSE: Final = 600.0
"""The most seconds until the next try, which double with each that fails."""

_BYTES_A_ROW: Final = 16
"""Of the arrays that a query makes."""

_NICE: Final = 1
_CLOSING: Final = 10.0


class ProjectionHolder:
    """Gives the projection of a store at the position of a session. Thread-safe.

    The file lies in the store's scratch directory, for all processes; whoever first needs a newer
    one makes it in the background. A query applies a few changes itself. After many the projection
    is `_behind`, and a thread brings it up to date: while writes go on, queries would never do so.
    """

    def __init__(self, store: GraphStore, settings: ColumnsSettings) -> None:
        self._store = store
        self._settings = settings
        self._maker = FileMaker(store, find_path(store))
        self._using = threading.Lock()
        self._projection: Projection | None = None
        self._behind: Projection | None = None
        self._unproven: Projection | None = None
        self._opened: Mark | None = None
        self._began = time.time_ns()
        self._seconds = 0.0
        self._looked = self._asked = -float("inf")
        self._next = -float("inf")
        self._failures = 0
        self._threads: dict[str, threading.Thread] = {}
        self._closed = threading.Event()

    def close(self) -> None:
        """End what runs in the background. No query runs any more."""
        self._closed.set()
        self._maker.end()
        for thread in list(self._threads.values()):
            thread.join(_CLOSING)

    @contextmanager
    def open(self, session: GraphSession) -> Iterator[Projection | None]:
        """Give the projection of what the session sees in its snapshot; None if there is none.

        Nobody else changes it meanwhile. What is None now may be there a moment later.
        """
        self._asked = time.monotonic()
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
        position = session.read_event_bounds()[1]
        self._prove(session, position)
        projection = self._projection
        if projection is None:
            if self._behind is not None:
                self._start("follow", self._follow)
            elif self._unproven is None and session.count_twins() >= self._settings.least_twins:
                self._request_file()
            return None
        if position == projection.position:
            return projection
        if position < projection.position:
            return None  # an older snapshot
        most = max(MOST_CHANGES, projection.count // _CHANGED_PART)
        changes = read_changes(session, projection.position, most)
        if changes is None:
            self._projection = None
            self._request_file()
            return None
        if changes.position < position or changes.count > most:
            self._projection, self._behind = None, projection
            self._start("follow", self._follow)
            return None
        self._projection = None
        self._projection = self._apply(projection, session, changes)
        return self._projection

    def _apply(
        self, projection: Projection, session: GraphSession, changes: Changes
    ) -> Projection | None:
        # NOTE: a run that ends in the middle leaves columns that are of no position.
        try:
            apply_changes(projection, session, changes)
        except Outgrown:
            self._request_file()
            return None
        except BaseException:
            self._open_again()  # the file is still good
            raise
        if projection.is_worn:
            self._request_file()
        return projection

    def _open_again(self) -> None:
        self._opened = None
        self._looked = -float("inf")

    # --- the file -------------------------------------------------------------------------------

    def _look_for_file(self, session: GraphSession) -> None:
        """Open the file if it is not the one that is open."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        with suppress(OSError, UnusableFile), find_path(self._store).open("rb") as file:
            mark = build_mark(os.fstat(file.fileno()))
            if mark != self._opened:
                self._opened = mark
                self._seconds = 0.0  # one that is of no use can be replaced at once
                self._unproven = read_projection(file, read_key(session))
                self._seconds = self._unproven.seconds

    def _prove(self, session: GraphSession, position: int) -> None:
        """Use the file if it is of the history of this graph.

        NOTE: a graph that was copied or put back by hand keeps its identity, and gives the same
        positions to other changes. The file of the other has another event at its position. Events
        are deleted some day; then only a file that was made since this process began counts.
        """
        projection = self._unproven
        if projection is None:
            return
        if position < projection.position:  # an older snapshot, or the graph was put back
            self._request_file(before=projection.position)
            return
        self._unproven = None
        proof = read_proof(session, projection.position)
        made = self._opened[1] if self._opened else 0
        if proof == projection.proof and (proof or made > self._began):
            self._projection, self._behind = projection, None
            keep_blocks(_BYTES_A_ROW * projection.count)
        else:
            self._seconds = 0.0

    def _request_file(self, before: int | None = None) -> None:
        """Make a newer file in the background; with `before`, only if the graph has a lower
        position than that.
        """
        made = self._opened[1] / 1e9 if self._opened and self._seconds else 0.0
        is_new = 0 <= time.time() - made < max(_PAUSE, _PART * self._seconds)
        if time.monotonic() >= self._next and not is_new:
            self._start("make", lambda: self._make(before))

    def _make(self, before: int | None) -> None:
        pause = _LOOK
        try:
            if before is None or self._read_position() < before:
                self._maker.make(self._opened)
            self._failures = 0
        except (OSError, RuntimeError, TwinframeError) as error:
            # NOTE: queries are answered without it, and a later try may do better.
            pause = min(_PAUSE * 2**self._failures, _LONGEST_PAUSE)
            self._failures += 1
            if not self._closed.is_set():
                _log.warning("The columns of the graph could not be made: %s", error)
        finally:
            self._looked = -float("inf")
            self._next = time.monotonic() + pause

    def _read_position(self) -> int:
        with closing(self._store.session()) as session:
            return session.read_event_bounds()[1]

    # --- beside queries -------------------------------------------------------------------------

    def _start(self, name: str, run: Callable[[], None]) -> None:
        """Run it in a thread of this name, unless it runs."""
        running = self._threads.get(name)
        if self._closed.is_set() or (running and running.is_alive()):
            return

        def run_niced() -> None:
            if sys.platform == "linux":  # elsewhere priorities are of processes only
                present = os.getpriority(os.PRIO_PROCESS, 0)
                thread = threading.get_native_id()
                os.setpriority(os.PRIO_PROCESS, thread, min(present + _NICE, 19))
            run()

        self._threads[name] = threading.Thread(
            target=run_niced, name=f"columns-{name}", daemon=True
        )
        self._threads[name].start()

    def _follow(self) -> None:
        """Bring the projection up to date again and again, as long as queries come."""
        try:
            with closing(self._store.session()) as session:
                while time.monotonic() - self._asked < _INTEREST:
                    if self._behind is not None:
                        self._catch_up(self._behind, session)
                    elif self._projection is not None:
                        with session.snapshot(), self._using:
                            self._bring_up_to_date(session)
                    if self._closed.wait(_BEAT):
                        return
        except TwinframeError as error:
            if not self._closed.is_set():
                _log.warning("The columns of the graph could not be brought up to date: %s", error)
        finally:
            if self._behind is not None:
                self._behind = None
                self._open_again()

    def _catch_up(self, projection: Projection, session: GraphSession) -> None:
        """Bring a projection up to date that is far behind, and hand it to queries."""
        is_near = False
        while not (is_near or self._closed.is_set()):
            with session.snapshot():
                position = session.read_event_bounds()[1]
                most = projection.most_changes
                changes = read_changes(session, projection.position, most)
                if changes is None or changes.position < position or changes.count > most:
                    self._request_file()
                    break
                if self._apply(projection, session, changes) is None:
                    break
                is_near = changes.count <= MOST_CHANGES
        with self._using:
            if self._behind is projection:
                self._behind = None
                self._projection = projection if is_near else None


def find_path(store: GraphStore) -> Path:
    """Return the path of a store's file. The store has a scratch directory."""
    assert store.scratch is not None  # noqa: S101  # the plugin offers no engine without one
    return store.scratch / "columns"
