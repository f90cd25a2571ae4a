"""What the queries of this process did lately, for the indexes that they want."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_MOST_TEXTS: Final = 256
_MOST_KNOWN: Final = 1024
_LONGEST_TEXT: Final = 10_000
_SLOW_STEPS: Final = 20_000
_SHORTEST_PAUSE: Final = 20.0
_LONGEST_PAUSE: Final = 300.0
_HOUR: Final = 3600.0


@dataclass(slots=True)
class Note:
    """How often a statement ran, and the steps of SQLite's machine that all runs took.

    `answered` are further runs, which looked up a value elsewhere, such as in columns.
    """

    runs: int = 0
    steps: int = 0
    answered: int = 0

    @property
    def is_slow(self) -> bool:
        """Whether a run takes about a millisecond or more."""
        return self.steps >= _SLOW_STEPS * max(self.runs, 1)

    @property
    def is_worth_a_look(self) -> bool:
        """Whether an index may be wanted."""
        return self.is_slow or self.answered > 0


class IndexNotes:
    """Counts runs by the text of the statement, in memory; all sessions of a store share it.

    PERF: 0.3 us a run, without a lock: threads that count at the same moment may lose a count.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, pause: float = _SHORTEST_PAUSE
    ) -> None:
        """`pause` is the shortest time between two looks in seconds."""
        self._clock = clock
        self._shortest = self._pause = pause
        self._notes: dict[str, Note] = {}
        self._known: set[str] = set()
        self._looked = clock()
        self._searched: float | None = None

    def count(self, text: str, steps: int) -> None:
        """Count a run of a statement."""
        note = self._notes.get(text)
        if note is None:
            note = self._add(text)
        note.runs += 1
        note.steps += max(steps, 0)

    def count_answered(self, text: str) -> None:
        """Count a run of a statement that was answered elsewhere."""
        note = self._notes.get(text)
        if note is None:
            note = self._add(text)
        note.answered += 1

    def _add(self, text: str) -> Note:
        note = Note()
        if len(self._notes) < _MOST_TEXTS and len(text) <= _LONGEST_TEXT:
            self._notes[text] = note
            if text not in self._known:
                self._pause = self._shortest
        return note

    @property
    def is_due(self) -> bool:
        """Whether slow runs are to be looked at, or some minutes passed, or nobody looked yet."""
        waited = self._clock() - self._looked
        if waited < self._pause:
            return False
        if self._searched is None or waited >= _LONGEST_PAUSE:
            return True
        return any(note.is_worth_a_look for note in self._notes.values())

    def is_search_due(self) -> bool:
        """Whether to look at what is stored although nothing ran; at most once an hour."""
        now = self._clock()
        if self._searched is not None and now - self._searched < _HOUR:
            return False
        self._searched = now
        return True

    def peek(self) -> Mapping[str, Note]:
        """Return what was counted."""
        return self._notes

    def take(self) -> dict[str, Note]:
        """Return what was counted, and begin anew.

        The same statements are looked at less and less often.
        """
        self._looked = self._clock()
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        taken, self._notes = self._notes, {}
        if len(self._known) > _MOST_KNOWN:
            self._known = set()
        self._known.update(taken)
        return taken
