"""Chooses where a snapshot is read: on a standby that has all that was acknowledged, or not.

The primary is asked for its position in the log first, and a standby is read once it has applied
the log up to there. So a read sees every write that was acknowledged before it began, to any caller
and by any node, wherever it is read.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any, Final, LiteralString, TypeAlias

import psycopg
from pydantic import SecretStr

from twinframe.errors import StorageBusy
from twinframe_storage_postgres.connections import (
    Connection,
    Connections,
    release_connections,
    share_connections,
)
from twinframe_storage_postgres.errors import is_worn
from twinframe_storage_postgres.settings import PostgresSettings

# NOTE: after a fail-over, a server that follows no more may be further in the log of another
# timeline. `pg_walfile_name` begins with the primary's; a standby tells its own a little late.
_POSITION: Final = (
    "SELECT at::text, ('x' || left(pg_walfile_name(at), 8))::bit(32)::int "
    "FROM pg_current_wal_flush_lsn() AS at"
)
_RELAXED_POSITION: Final = (
    "SELECT at::text, ('x' || left(pg_walfile_name(at), 8))::bit(32)::int "
    "FROM pg_current_wal_insert_lsn() AS at"
)
"""What is acknowledged without being on disk counts, too."""
_HAS: Final = (
    "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn, pg_is_in_recovery() AND %s = greatest("
    "(SELECT min_recovery_end_timeline FROM pg_control_recovery()), "
    "(SELECT timeline_id FROM pg_control_checkpoint()))"
)
Row: TypeAlias = tuple[Any, ...]
_LOOK: Final = 0.002
_AWAY: Final = 1.0
"""Seconds for which a server that cannot be reached, or follows no more, is left alone."""


class Standbys:
    """The servers of `Storage__Postgres__ReadUrls`, in turn."""

    def __init__(self, settings: PostgresSettings) -> None:
        self._wait = settings.read_wait
        self._position = _RELAXED_POSITION if settings.durability == "relaxed" else _POSITION
        self._servers = [
            share_connections(settings.model_copy(update={"url": SecretStr(url)}))
            for url in settings.read_urls.get_secret_value().split()
        ]
        self._away = [0.0] * len(self._servers)
        self._turn = itertools.count()

    def close(self) -> None:
        """Release the connections."""
        for each in self._servers:
            release_connections(each)

    def take(self, primary: Connections) -> tuple[Connections, Connection] | None:
        """Take a connection for a snapshot, and tell whose it is; None: read the primary.

        Raises what asking the primary raises.
        """
        if not self._servers:
            return None
        position = primary.run(lambda connection: _read_row(connection, self._position))
        end = time.monotonic() + self._wait
        first = next(self._turn)
        while True:
            behind = False
            for number in range(first, first + len(self._servers)):
                at = number % len(self._servers)
                if self._away[at] > time.monotonic():
                    continue
                connection, follows = self._ask(self._servers[at], position)
                if connection is not None:
                    return self._servers[at], connection
                if not follows:
                    self._away[at] = time.monotonic() + _AWAY
                behind = behind or follows
            if not behind or time.monotonic() >= end:
                return None
            time.sleep(_LOOK)

    @staticmethod
    def _ask(server: Connections, position: Row) -> tuple[Connection | None, bool]:
        """Take a connection if the server there has all up to the position; and does it follow?

        NOTE: an address may lead to several standbys, so the connection that was asked is read.
        """
        is_new = False
        while not is_new:
            try:
                connection, is_new = server.take()
            except (psycopg.Error, StorageBusy):
                break
            try:
                has_all, follows = _read_row(connection, _HAS, position)
            except psycopg.Error as error:
                if not is_worn(error):
                    server.give(connection)
                    break
                connection.close()
                server.give(connection)
            except BaseException:
                server.drop(connection)
                raise
            else:
                if has_all and follows:
                    return connection, True
                server.give(connection)
                return None, follows
        return None, False


def _read_row(connection: Connection, sql: LiteralString, values: Sequence[Any] = ()) -> Row:
    (row,) = connection.execute(sql, values).fetchall()
    return row
