"""Fault injection at named points, for tests only.

Testable code takes a callable and calls it with the name of each point it passes; that of a service
does nothing.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping


class PowerCut(BaseException):
    """Ends the running code as the end of the process would: nothing handles it."""


def kill_process() -> None:
    """End this process as `kill -9` does: nothing is flushed, no handler runs."""
    os.kill(os.getpid(), signal.SIGKILL)


def cut_power() -> None:
    """Raise `PowerCut`: the in-process stand-in for `kill_process`."""
    raise PowerCut


class FaultPoints:
    """Records the points that are passed, and runs the action of the chosen one.

    `actions` maps a point, or `point#n` for its n-th passage only, to an action.
    """

    def __init__(self, actions: Mapping[str, Callable[[], None]] | None = None) -> None:
        self.actions = dict(actions or {})
        self.passed: list[str] = []
        self._counts: Counter[str] = Counter()

    def __call__(self, point: str) -> None:
        """Pass a point."""
        self.passed.append(point)
        self._counts[point] += 1
        for name in (point, f"{point}#{self._counts[point]}"):
            if (action := self.actions.get(name)) is not None:
                action()
