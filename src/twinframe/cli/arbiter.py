"""A gunicorn arbiter that reports unready for a while before it stops at TERM, and stops when its
terminal is closed.

INT and QUIT are gunicorn's own.
"""

from __future__ import annotations

import logging
import mmap
import os
import signal
import time
from collections.abc import Callable
from typing import Any, Final

from gunicorn.arbiter import Arbiter

_LOG = logging.getLogger(__name__)

_HURRY: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_LOOK: Final = 0.1
_LONGEST_WAIT: Final = 0.25


class LeaveFlag:
    """A flag that the arbiter sets and its workers read. Make it before the fork."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1)

    def set(self) -> None:
        """Record that the service is about to end."""
        self._memory[0] = 1

    def is_set(self) -> bool:
        """Return whether it is set."""
        return self._memory[0] == 1


class LeavingArbiter(Arbiter):
    """At TERM it reports unready for a delay in seconds while it serves as before, then stops.

    NOTE: a server that stops accepting while a balancer still sends requests refuses them. The
    delay is the time that balancers need to notice; a second signal ends it at once.
    """

    def __init__(self, app: Any, leave: LeaveFlag, read_delay: Callable[[], float]) -> None:
        super().__init__(app)
        self._leave = leave
        self._read_delay = read_delay
        # NOTE: `nohup` ignores HUP: the service is to outlive its terminal.
        stays = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        self._ends_with_terminal = _has_terminal() and not stays

    def handle_hup(self) -> None:
        """Reload the settings, or stop: HUP also comes when the terminal is closed."""
        if self._ends_with_terminal and not _has_terminal():
            _LOG.info("The terminal was closed. Start with nohup or setsid to serve without one.")
            self.handle_term()
        super().handle_hup()

    def handle_term(self) -> None:
        """Report unready, wait, and stop."""
        self._leave.set()
        delay = self._read_delay()
        if delay > 0:
            _LOG.info("Not ready any more; accepting for %g more seconds", delay)
            self._wait(time.monotonic() + delay)
        super().handle_term()

    def wait_for_signals(self, timeout: float | None = 1.0) -> list[int]:
        """Wait as the base class does, for a quarter of a second at most, after which it checks
        workers.

        NOTE: gunicorn ends a frozen worker in two checks (ABRT, then KILL), a second apart; until
        then it may hold the writer lock.
        """
        longest = _LONGEST_WAIT if timeout is None else min(timeout, _LONGEST_WAIT)
        signals: list[int] = super().wait_for_signals(longest)
        return signals

    def _wait(self, end: float) -> None:
        while time.monotonic() < end:
            if any(number in _HURRY for number in self.wait_for_signals(timeout=_LOOK)):
                return
            self.murder_workers()
            self.manage_workers()


def _has_terminal() -> bool:
    """Return whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
