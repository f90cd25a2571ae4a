"""Keeps copies of earlier states that are asked about again, so that the store's engine reads them.

The evaluator needs no copy, and answers first. A copy is made once the questions about its state
have taken a share of the time that the copy will take.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from twinframe.errors import StorageDamaged, TwinframeError
from twinframe.graph.history.past import PastSession
from twinframe.runtime.files import sync_open
from twinframe.storage.backups import making_file
from twinframe.storage.base import GraphSession
from twinframe.storage.states import StateCopies

_SUFFIX: Final = ".state"
_SECONDS: Final = 0.02
_SECONDS_AN_ENTITY: Final = 0.00001
_SHARE: Final = 0.05
"""Questions are worth a copy that takes twenty times as long: others will follow."""
_MOST_NOTED: Final = 1000

_log = logging.getLogger(__name__)


class PastStates:
    """The copies of one graph, in a directory that its processes share. Thread-safe.

    Before another one is made, those are deleted that were unused for `lifetime` seconds, and the
    longest unused until it fits into `most_bytes` if it has half of that, which is the most.
    """

    def __init__(self, directory: Path | None, most_bytes: int, lifetime: float) -> None:
        """Without a directory no copies are made."""
        self._directory = directory
        self._most_bytes = most_bytes
        self._lifetime = lifetime
        self._seconds: OrderedDict[int, float] = OrderedDict()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    @contextmanager
    def open_long(self, past: PastSession, deadline: float | None) -> Iterator[GraphSession | None]:
        """Open the copy of a state, in the snapshot in which `past` is read; None without one."""
        with self._open(past) as copy:
            if copy is None:
                yield None
                return
            with copy.snapshot(deadline):
                past.check_deadline()  # NOTE: its interruption may have come before the snapshot
                yield copy

    @contextmanager
    def open_short(
        self, past: PastSession, steps: int, seconds: float
    ) -> Iterator[GraphSession | None]:
        """Open it for work that must be short."""
        with self._open(past) as copy:
            if copy is None:
                yield None
                return
            with copy.short_snapshot(steps, seconds):
                yield copy

    @contextmanager
    def _open(self, past: PastSession) -> Iterator[GraphSession | None]:
        session = past.present
        if self._directory is None or not isinstance(session, StateCopies):
            yield None
            return
        path = self._find_path(self._directory, past)
        try:
            with session.open_state(path) as copy:
                yield copy
        except StorageDamaged:
            path.unlink(missing_ok=True)
            raise

    def note(self, past: PastSession, seconds: float) -> None:
        """Note how long the evaluator took for a question."""
        with self._lock:
            seconds += self._seconds.pop(past.position, 0.0)
            self._seconds[past.position] = seconds
            if len(self._seconds) > _MOST_NOTED:
                self._seconds.popitem(last=False)

    def make(self, past: PastSession, times: float = 1.0) -> None:
        """Make a copy if questions have taken the share of its price, or that many `times` more."""
        session, directory = past.present, self._directory
        if directory is None or not self._most_bytes or not isinstance(session, StateCopies):
            return
        with self._lock:
            seconds = self._seconds.get(past.position)
        if seconds is None:
            return
        price = _SECONDS + session.count_entities() * _SECONDS_AN_ENTITY
        if seconds < price * _SHARE * times:
            return
        if self._making.acquire(blocking=False):
            try:
                is_made = self._make(session, past, directory)
            finally:
                self._making.release()
            with self._lock:  # NOTE: without one it is tried again after many more questions
                self._seconds[past.position] = 0.0 if is_made else -price

    def _make(self, session: StateCopies, past: PastSession, directory: Path) -> bool:
        """Make a copy; return whether it is there."""
        path = self._find_path(directory, past)
        largest = self._most_bytes // 2
        try:
            directory.mkdir(mode=0o700, exist_ok=True)
            if not path.exists():
                self._tidy(directory, self._most_bytes - largest)
                with making_file(path) as draft:
                    session.write_state(draft, past, largest)
                    with draft.open("rb") as file:
                        sync_open(file)  # NOTE: a file of that name is whole, also after a crash
                    draft.replace(path)
        except (TwinframeError, OSError) as error:
            _log.info("The state at %d cannot be copied: %s", past.position, error)
            return False
        return True

    def _tidy(self, directory: Path, most_bytes: int) -> None:
        """Delete copies that were unused for long, and the longest unused of too many bytes."""
        found = []
        for path in directory.glob(f"*{_SUFFIX}"):
            with suppress(FileNotFoundError):
                state = path.stat()
                found.append((state.st_mtime, state.st_size, path))
        found.sort()
        size = sum(each for _, each, _ in found)
        oldest = time.time() - self._lifetime
        for used, each, path in found:
            if used > oldest and size <= most_bytes:
                break
            path.unlink(missing_ok=True)
            size -= each

    def _find_path(self, directory: Path, past: PastSession) -> Path:
        return directory / f"{past.position}{_SUFFIX}"
