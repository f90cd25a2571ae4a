"""Decides which runs of a query may use the event loop's own time.

A plan whose last run in a thread was short is tried on the loop, within bounds that end a run there
that is not short. Each such end keeps the plan in the threads for longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from twinframe.model.values import Value

SHORT_STEPS: Final = 5_000
"""Steps of the store's engine, 0.1 to 0.2 ms: three hops that are counted just fit."""

SHORT_SECONDS: Final = 0.01
"""The seconds that a run on the loop may take in all, by the clock: it ends runs that wait for the
disk.

Much more than the steps take, since on a busy machine the process itself waits for the CPU.
"""

_SHORT_LOOPED: Final = 0.002
_FIRST_PAUSE: Final = 16
_LONGEST_PAUSE: Final = 4_096
_PAUSE_GROWTH: Final = 4

_LONGEST_TEXT: Final = 4_000
_LARGEST_PARAMETERS: Final = 1_000
_VALUE: Final = 4
_CONTAINER: Final = 50


class Pace:
    """The measured durations of the runs of one plan.

    NOTE: threads and the event loop report runs without a lock: a lost count costs one try more or
    less.
    """

    __slots__ = ("_awaited", "_pause", "is_suspect", "was_short")

    def __init__(self) -> None:
        self._pause = 1
        self._awaited = 1
        self.is_suspect = False
        """Whether the last run on the loop took long by the clock: the next one is measured."""
        self.was_short = False
        """Whether the last run whose work was measured was short, wherever it ran."""

    @property
    def is_short(self) -> bool:
        """Whether the next run may be tried on the event loop."""
        return self._awaited == 0

    def add_threaded(self, seconds: float, steps: int, most: float) -> None:
        """Record a run in a thread with its CPU seconds and its steps of the engine.

        It is short when it took `most` of these seconds or less.
        """
        # NOTE: steps are counted in thousands there, now and then one batch too many.
        self.was_short = seconds <= most and steps <= SHORT_STEPS
        if not self.was_short:
            self._awaited = self._pause
        elif self._awaited:
            self._awaited -= 1

    def add_short(self, seconds: float) -> None:
        """Record a completed run on the loop with its seconds: of the CPU if it was suspect."""
        was_suspect, self.is_suspect = self.is_suspect, False
        if seconds > _SHORT_LOOPED:  # one step of the engine may take long
            # PERF: the clock takes a tenth of the time of that of the CPU, which tells whether the
            # process only waited for it.
            if was_suspect:
                self.add_ended()
            else:
                self.is_suspect = True
        elif self._pause > 1:
            self._pause -= 1

    def add_ended(self) -> None:
        """Record that a run on the loop was ended: many short ones in a thread must follow."""
        self._pause = min(max(self._pause * _PAUSE_GROWTH, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._awaited = self._pause


def is_small(text: str, parameters: Mapping[str, Value]) -> bool:
    """Return whether this run costs the loop hardly more than any other: some kilobytes in all."""
    if len(text) > _LONGEST_TEXT:
        return False
    return not parameters or _measure(parameters.values(), _LARGEST_PARAMETERS) >= 0


def _measure(values: Iterable[Value], room: int) -> int:
    """Return the rest of `room` after characters and values; below 0 they are too large.

    PERF: it stops there, whatever the size of the values, and likewise for a container in itself.
    """
    for value in values:
        room -= _VALUE
        if type(value) is str:  # PERF: most are
            room -= len(value)
        elif isinstance(value, list) and room > 0:
            room = _measure(value, room - _CONTAINER)
        elif isinstance(value, dict) and room > 0:
            room = _measure(value.values(), room - _CONTAINER)
        if room < 0:
            break
    return room
