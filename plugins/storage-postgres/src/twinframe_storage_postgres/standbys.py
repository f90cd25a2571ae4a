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
from twinframe_storage_postgres.settings import PostgresSettings

# NOTE: after a fail-over, a server that follows no more may be further in the log of another
# timeline. `pg_walfile_name` begins with the primary's; a standby tells its own a little late.
_POSITION: Final = (
    "SELECT at::text, ('x' || left(pg_walfile_name(at), 8))::bit(32)::int "
    "FROM pg_current_wal_flush_lsn() AS at"
)
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

    def choose(self, primary: Connections) -> Connections:
        """Return the connections for a snapshot. Raises what asking the primary raises."""
        if not self._servers:
            return primary
        position = primary.run(lambda connection: _read_row(connection, _POSITION))
        end = time.monotonic() + self._wait
        first = next(self._turn)
        while True:
            behind = False
            for number in range(first, first + len(self._servers)):
                at = number % len(self._servers)
                if self._away[at] > time.monotonic():
                    continue
                has_all, follows = self._ask(self._servers[at], position)
                if follows and has_all:
                    return self._servers[at]
                if not follows:
                    self._away[at] = time.monotonic() + _AWAY
                behind = behind or follows
            if not behind or time.monotonic() >= end:
                return primary
            time.sleep(_LOOK)

    @staticmethod
    def _ask(server: Connections, position: Row) -> Row:
        """Whether the server has all up to the position, and whether it follows the primary."""
        try:
            return server.run(lambda connection: _read_row(connection, _HAS, position))
        except (psycopg.Error, StorageBusy):
            return False, False


def _read_row(connection: Connection, sql: LiteralString, values: Sequence[Any] = ()) -> Row:
    (row,) = connection.execute(sql, values).fetchall()
    return row
