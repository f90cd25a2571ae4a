"""Named points at which a test lets something go wrong. It is never part of a running service.

Code that can be tested so takes a callable that is told the name of each point it passes; the one
of a service does nothing.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping


class PowerCut(BaseException):
    """Ends whatever runs, as a process that is gone would: nobody handles it."""


def kill_process() -> None:
    """End this process as `kill -9` does: nothing is flushed, no handler runs."""
    os.kill(os.getpid(), signal.SIGKILL)


def cut_power() -> None:
    """Raise `PowerCut`: the in-process stand-in for `kill_process`."""
    raise PowerCut


class FaultPoints:
    """Notes the points that are passed, and acts at the chosen one.

    `actions` maps a point, or `point#n` for its n-th passage only, to what happens there.
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
