"""Notices between the processes of a database: what one has committed wakes those who follow it.

They say on which channel something is new, and nothing else.
"""

from __future__ import annotations

import os
import selectors
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg import sql

from twinframe.errors import TwinframeError
from twinframe.runtime.backoff import Backoff
from twinframe_storage_postgres.settings import PostgresSettings

_GATHERED_SECONDS: Final = 0.02
"""The least time between two messages to others. What is told meanwhile goes with the next."""
_PAUSES: Final = Backoff(0.2, 5.0)
_END_SECONDS: Final = 5.0
_TELL: Final = "SELECT pg_notify(channel, '') FROM unnest(%b::text[]) AS c (channel)"

Connect = Callable[[PostgresSettings], psycopg.Connection[Any]]


class Watch:
    """One user of a channel, which tells all others of it, and is told by them."""

    def __init__(self, notices: Notices, channel: str) -> None:
        self._notices = notices
        self.channel = channel
        self.wake: Callable[[], None] | None = None

    def notify(self) -> None:
        """Wake all others who listen: in this process now, in others soon. It does not wait."""
        self._notices.notify(self)

    def listen(self, wake: Callable[[], None]) -> bool:
        """Let `wake` be called when others tell; return whether those of other processes can."""
        if self.wake is None:
            self.wake = wake
            self._notices.begin(self)
        return self.channel in self._notices.heard

    def close(self) -> None:
        """Listen no more."""
        self._notices.end(self)


class Notices:
    """The notices of this process: a thread with a connection of its own, from the first use on.

    `heard` are the channels on which those of other processes arrive. There are none behind a
    pooler, while the connection is lost, and on a server that ignores `LISTEN`.
    """

    def __init__(self, settings: PostgresSettings, connect: Connect) -> None:
        self._settings = settings
        self._connect = connect
        self._lock = threading.Lock()
        self._watches: defaultdict[str, list[Watch]] = defaultdict(list)
        self._untold: set[str] = set()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._bell = -1
        self._own = f"twinframe.{uuid.uuid4().hex}"
        self._process = 0
        self._listening: frozenset[str] = frozenset()
        self._told: set[str] = set()
        self._hears = False
        self.heard: frozenset[str] = frozenset()

    def watch(self, channel: str) -> Watch:
        """Return a new user of a channel, of at most 63 bytes. Close it at the end."""
        return Watch(self, channel)

    def begin(self, watch: Watch) -> None:
        """Listen for it from now on."""
        with self._lock:
            self._watches[watch.channel].append(watch)
            self._ring()

    def end(self, watch: Watch) -> None:
        """Listen for it no more."""
        with self._lock:
            if watch.wake is None:
                return
            watch.wake = None
            self._watches[watch.channel].remove(watch)
            if not self._watches[watch.channel]:
                del self._watches[watch.channel]
                self._ring()

    def notify(self, teller: Watch) -> None:
        """Tell all other users of its channel."""
        with self._lock:
            is_first = not self._untold
            self._untold.add(teller.channel)
            if is_first:
                self._ring()
        self._wake([teller.channel], but=teller)

    def close(self) -> None:
        """Tell what is untold, and end the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._ending.set()
            if thread is None:
                return
            os.eventfd_write(self._bell, 1)
        thread.join(_END_SECONDS)
        if not thread.is_alive():
            os.close(self._bell)

    def _ring(self) -> None:
        """Let the thread see what has changed, under the lock; start it if there is none."""
        if self._settings.pooler or self._ending.is_set():
            self._untold.clear()
        elif self._thread is not None:
            os.eventfd_write(self._bell, 1)
        else:
            self._bell = os.eventfd(1, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            self._thread = threading.Thread(
                target=self._serve, name="twinframe-notices", daemon=True
            )
            self._thread.start()

    def _wake(self, channels: Iterable[str], but: Watch | None = None) -> None:
        with self._lock:
            found = [each for one in channels for each in self._watches.get(one, ())]
        for watch in found:
            wake = watch.wake
            if wake is not None and watch is not but:
                wake()

    # --- in the thread --------------------------------------------------------------------------

    def _serve(self) -> None:
        failures = 0
        while not self._ending.is_set():
            with suppress(psycopg.Error, TwinframeError), self._connect(self._settings) as line:
                self._process, failures = line.info.backend_pid, 0
                line.add_notify_handler(lambda each: self._take(each.channel, each.pid))
                self._follow(line)
            failures += 1
            self._listening, self._hears = frozenset(), False
            heard, self.heard = self.heard, frozenset()
            self._wake(heard)  # they look more often from now on
            self._ending.wait(_PAUSES.build_pause(failures))

    def _follow(self, line: psycopg.Connection[Any]) -> None:
        """Listen and tell until the end. Raises `psycopg.Error` when the connection is lost."""
        next_tell = 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(line.fileno(), selectors.EVENT_READ)
            selector.register(self._bell, selectors.EVENT_READ)
            while True:
                is_last = self._ending.is_set()
                self._listen(line)
                rest = next_tell - time.monotonic() if self._untold else None
                if rest is not None and (rest <= 0 or is_last):
                    with self._lock:
                        untold, self._untold = self._untold, set()
                    line.execute(_TELL, ([*untold],))
                    next_tell, rest = time.monotonic() + _GATHERED_SECONDS, None
                self._read(line)
                if is_last:
                    return
                if any(key.fd == self._bell for key, _ in selector.select(rest)):
                    os.eventfd_read(self._bell)

    def _listen(self, line: psycopg.Connection[Any]) -> None:
        with self._lock:
            wanted = frozenset((self._own, *self._watches))
        new, old = wanted - self._listening, self._listening - wanted
        if not new and not old:
            return
        statements = [
            sql.SQL(verb).format(sql.Identifier(channel))
            for verb, channels in (("LISTEN {}", new), ("UNLISTEN {}", old))
            for channel in channels
        ]
        line.execute(sql.SQL("; ").join(statements))
        if self._own in new:
            # NOTE: a server, or what is before it, may take `LISTEN` and never send anything.
            line.execute(_TELL, ([self._own],))
        self._listening = wanted
        self._note_heard()

    def _read(self, line: psycopg.Connection[Any]) -> None:
        """Take what has arrived, and wake those that it is for."""
        line.pgconn.consume_input()
        while found := line.pgconn.notifies():
            self._take(found.relname.decode(), found.be_pid)
        told, self._told = self._told, set()
        self._wake(told)

    def _take(self, channel: str, process: int) -> None:
        if channel == self._own:
            self._hears = True
            self._note_heard()
        elif process != self._process:
            self._told.add(channel)

    def _note_heard(self) -> None:
        """Wake those whose channels are heard from now on: something may have changed before."""
        if self._hears:
            new, self.heard = self._listening - self.heard, self._listening
            self._wake(new)
