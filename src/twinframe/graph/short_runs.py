"""Which runs of a query may take the event loop's own time. It runs nothing.

A plan whose last run in a thread was short is tried on the loop, within bounds that end it there
when this run is not. Each such end keeps the plan in the threads for longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from twinframe.model.values import Value

SHORT_STEPS: Final = 5_000
"""Steps of the store's engine, 0.1 to 0.2 ms: three hops that are counted just fit."""

SHORT_SECONDS: Final = 0.01
"""What a run on the loop may take in all, by the clock: it ends those that wait for the disk.

So much more than the steps take, since on a busy machine the process itself waits for its turn.
"""

# PERF: a statement takes 0.3 to 1 ms more where its connection runs it for the first time.
_SHORT_THREADED: Final = 0.0005
_SHORT_LOOPED: Final = 0.002
_FIRST_PAUSE: Final = 16
_LONGEST_PAUSE: Final = 4_096
_PAUSE_GROWTH: Final = 4

_LONGEST_TEXT: Final = 4_000
_LARGEST_PARAMETERS: Final = 1_000
_VALUE: Final = 4
_CONTAINER: Final = 50


class Pace:
    """How long the runs of one plan take, as far as they were seen.

    NOTE: threads and the event loop tell it of runs without a lock: a count lost between two of
    them costs one try more or less.
    """

    __slots__ = ("_awaited", "_pause")

    def __init__(self) -> None:
        self._pause = 1
        self._awaited = 1

    @property
    def is_short(self) -> bool:
        """Whether the next run may be tried on the event loop."""
        return self._awaited == 0

    def add_threaded(self, seconds: float, steps: int) -> None:
        """A run in a thread took `seconds` of its processor time and `steps` of the engine."""
        # NOTE: steps are counted in thousands there, now and then one batch too many.
        if seconds > _SHORT_THREADED or steps > SHORT_STEPS:
            self._awaited = self._pause
        elif self._awaited:
            self._awaited -= 1

    def add_short(self, seconds: float) -> None:
        """A run on the loop came to its end in `seconds` of its processor time."""
        if seconds > _SHORT_LOOPED:  # one step of the engine may take long
            self.add_ended()
        elif self._pause > 1:
            self._pause -= 1

    def add_ended(self) -> None:
        """A run on the loop was ended: so many runs must be short in a thread before the next."""
        self._pause = min(max(self._pause * _PAUSE_GROWTH, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._awaited = self._pause


def is_small(text: str, parameters: Mapping[str, Value]) -> bool:
    """Whether the loop has hardly more to do for this run than for any: some kilobytes in all."""
    if len(text) > _LONGEST_TEXT:
        return False
    return not parameters or _measure(parameters.values(), _LARGEST_PARAMETERS) >= 0


def _measure(values: Iterable[Value], room: int) -> int:
    """What is left of `room`, characters and so many for each value; below 0: they are too large.

    PERF: it stops there, whatever the size of the values, and a container in each other likewise.
    """
    for value in values:
        room -= _VALUE
        match value:
            case str():
                room -= len(value)
            case list() if room > 0:
                room = _measure(value, room - _CONTAINER)
            case dict() if room > 0:
                room = _measure(value.values(), room - _CONTAINER)
            case _:
                pass
        if room < 0:
            break
    return room
