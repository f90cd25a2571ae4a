"""The connections of a process to one database, shared by all graphs in it."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from twinframe.errors import ConfigurationError, StorageBusy
from twinframe_storage_postgres.errors import is_worn
from twinframe_storage_postgres.notices import Notices
from twinframe_storage_postgres.settings import PostgresSettings

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

INDEXED: Final = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off"
"""PERF: statements of the service itself go by indexes. A prepared one may have been planned when
the tables were nearly empty, and would read all of them ever after.
"""
_OWN_PATH: Final = "-c search_path=pg_catalog"
"""SEC: a function of another user in `public` may fit a call better than the server's own."""
DURABLE: Final = (
    "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'off' "
    "THEN 'on' ELSE current_setting('synchronous_commit') END, true)"
)
"""What makes a transaction durable on a server that has `synchronous_commit` off."""
WARNED: Final = "set_config('client_min_messages', 'warning', true)"
"""What lets a transaction hear of `watching_standbys`, whatever the role says."""
_IDLE_SECONDS: Final = 60.0
_PREPARED: Final = 400
_Status: Final = psycopg.pq.TransactionStatus


class Connections:
    """At most `Connections` of them. A broken one is replaced; an idle one is closed after a while.

    Raises `psycopg.Error` where the server cannot be reached.
    """

    def __init__(self, settings: PostgresSettings) -> None:
        self._settings = settings
        self._room = threading.Condition()
        self._idle: list[tuple[float, Connection]] = []
        self._open = 0
        self._waiting = 0
        self.users = 0
        self.notices = Notices(settings, connect)

    def run(self, use: Callable[[Connection], T]) -> T:
        """Use a connection; once more if it was lost without having been used before it.

        Only for what may run twice: a server that was restarted closes all connections.
        """
        while True:
            connection, is_new = self.take()
            try:
                return use(connection)
            except psycopg.Error as error:
                if is_new or not is_worn(error):
                    raise
                connection.close()
            finally:
                self.give(connection)

    def take(self) -> tuple[Connection, bool]:
        """Take a connection, and whether it is new. `give` or `end` it, whatever happens.

        Raises `StorageBusy` when none comes free in time.
        """
        while True:
            connection, is_new = self._take()
            if is_new or _has_ended(connection, self._settings.connect_timeout):
                return connection, is_new
            connection.close()
            self.give(connection)

    def _take(self) -> tuple[Connection, bool]:
        end = time.monotonic() + self._settings.connect_timeout
        with self._room:
            if self._waiting >= self._settings.max_waiting:
                raise StorageBusy(
                    f"{self._waiting} reads wait for a connection already "
                    "(Storage__Postgres__MaxWaiting); try again."
                )
            self._waiting += 1
            try:
                while not self._idle and self._open >= self._settings.connections:
                    if not self._room.wait(end - time.monotonic()):
                        raise StorageBusy(
                            f"All {self._open} connections to PostgreSQL are in use "
                            "(Storage__Postgres__Connections); try again."
                        )
            finally:
                self._waiting -= 1
            if self._idle:
                return self._idle.pop()[1], False
            self._open += 1
        try:
            return connect(self._settings), True
        except BaseException:
            self._drop(1)
            raise

    def give(self, connection: Connection) -> None:
        """Give a connection back; one that is closed, or in the middle of something, is dropped."""
        if connection.info.transaction_status != _Status.IDLE and not connection.closed:
            self.drop(connection)
        else:
            self._keep(connection)

    def end(self, connection: Connection) -> None:
        """Give a connection back whose transaction ends without a change.

        PERF: nobody waits for the server's answer, unless the connection is taken again before.
        psycopg, which forgets all prepared statements at a ROLLBACK, does not know of this one.
        """
        if connection.info.transaction_status not in (_Status.INTRANS, _Status.INERROR):
            self.give(connection)
            return
        try:
            connection.pgconn.send_query(b"ROLLBACK")
            is_sent = not connection.pgconn.flush()
        except psycopg.Error:
            is_sent = False
        if not is_sent:
            connection.close()
        self._keep(connection)

    def _keep(self, connection: Connection) -> None:
        if connection.closed:
            # NOTE: the server was probably restarted: then none of the others is of use.
            with self._room:
                idle, self._idle = self._idle, []
            self._close(idle)
            self._drop(1)
            return
        now = time.monotonic()
        with self._room:
            self._idle.append((now, connection))
            oldest = now - _IDLE_SECONDS
            late = [each for each in self._idle if each[0] < oldest]
            self._idle = self._idle[len(late) :]  # the last used are taken first
            self._room.notify()
        self._close(late)

    def drop(self, connection: Connection) -> None:
        """Close a connection that was taken, instead of giving it back."""
        connection.close()
        self._drop(1)

    def close(self) -> None:
        """Close those that are idle. Those in use are closed when they are given back."""
        self.notices.close()
        with self._room:
            idle, self._idle = self._idle, []
        self._close(idle)

    def _close(self, idle: list[tuple[float, Connection]]) -> None:
        for _, connection in idle:
            connection.close()
        if idle:
            self._drop(len(idle))

    def _drop(self, count: int) -> None:
        with self._room:
            self._open -= count
            self._room.notify(count)


def _has_ended(connection: Connection, seconds: float) -> bool:
    """Wait for the answer to the ROLLBACK of `end`; return whether the connection is of use."""
    line, limit = connection.pgconn, time.monotonic() + seconds
    with suppress(psycopg.Error):
        while line.transaction_status == _Status.ACTIVE:
            line.consume_input()
            if not line.is_busy():
                line.get_result()
                continue
            with selectors.DefaultSelector() as selector:
                selector.register(line.socket, selectors.EVENT_READ)
                if not selector.select(limit - time.monotonic()):
                    return False
    return line.transaction_status == _Status.IDLE


def connect(settings: PostgresSettings) -> Connection:
    """Open a connection. Raises `psycopg.Error`; `ConfigurationError` when no server is named."""
    url = settings.url.get_secret_value()
    if not url:
        raise ConfigurationError(
            "Storage__Postgres__Url is not set. Name the database: "
            "postgresql://user@host:5432/database."
        )
    silence = max(int(settings.silence_timeout), 1)
    asked = conninfo_to_dict(url)
    options: dict[str, Any] = {
        "connect_timeout": max(int(settings.connect_timeout), 2),
        "application_name": "twinframe",
        "keepalives_idle": silence,
        "keepalives_interval": max(silence // 3, 1),
        "keepalives_count": 3,
        "tcp_user_timeout": silence * 1000,
    }
    if not settings.pooler:
        options["options"] = f"{asked.pop('options', '')} {INDEXED} {_OWN_PATH}".strip()
    connection = psycopg.connect(autocommit=True, **{**options, **asked})
    connection.prepared_max = _PREPARED
    if settings.pooler:
        connection.prepare_threshold = None
    return connection


@contextmanager
def watching_standbys(connection: Connection) -> Iterator[None]:
    """Raise as for a lost connection when a COMMIT inside did not wait for the standbys it should.

    The server answers a COMMIT whose wait somebody ended with a warning only: it is made here, and
    a fail-over may take it back.
    """
    cut_short: list[bool] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        if diagnostic.source_function == "SyncRepWaitForLSN":  # the text may be in any language
            cut_short.append(True)

    connection.add_notice_handler(note)
    try:
        yield
    finally:
        connection.remove_notice_handler(note)
    if cut_short:
        raise psycopg.OperationalError("the wait of COMMIT for standbys was ended")


_shared: Final[dict[str, Connections]] = {}
_sharing: Final = threading.Lock()


def share_connections(settings: PostgresSettings) -> Connections:
    """Return the connections of this process with these settings. Release them at the end."""
    key = repr(
        (os.getpid(), settings.url.get_secret_value(), settings.connections, settings.pooler)
    )
    with _sharing:
        found = _shared.setdefault(key, Connections(settings))
        found.users += 1
        return found


def release_connections(connections: Connections) -> None:
    """End one use; the last one closes them."""
    with _sharing:
        connections.users -= 1
        if connections.users:
            return
        for key in [key for key, each in _shared.items() if each is connections]:
            del _shared[key]
    connections.close()
