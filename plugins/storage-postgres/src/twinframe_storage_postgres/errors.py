"""Maps errors of PostgreSQL and of the connection to errors of the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import errors as pg

from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    QueryTimeout,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    TwinframeError,
)


class ServerAway(StorageBusy):
    """The server cannot be reached, stops or starts; nothing was done; try again."""

    told = "The database does not answer; nothing was done, try again."

    @property
    def public(self) -> str:
        """SEC: psycopg's message names hosts, addresses and users."""
        return self.told


class ReleaseTooOld(StorageBusy):
    """The tables were migrated for later releases; this node can use them no more."""

    told = "This node runs a release that is too old for the data; ask another node, or upgrade it."

    @property
    def public(self) -> str:
        """SEC: the message names the schema."""
        return self.told


class ServerFailed(StorageError):
    """The server failed in a way that is not expected."""

    @property
    def public(self) -> str:
        """SEC: the server's message names schemas, users and settings."""
        return self.told


EngineError = (psycopg.Error, UnicodeEncodeError, OverflowError)
"""What psycopg raises for statements and their values."""

_AWAY: Final = ("08", "57P", "25P03", "25P04")
"""Beginnings of SQLSTATE: a connection that failed, a server that stops or starts, or that ended a
transaction which took too long.
"""
MOVED: Final = "The graph was moved to another database meanwhile; try again."
LATE: Final = "The query ran longer than it may (Query__Timeout) and was stopped."


def is_repeatable(error: BaseException | None) -> bool:
    """Return whether a transaction that failed so may succeed when it is run again."""
    return isinstance(error, pg.SerializationFailure | pg.DeadlockDetected)


def is_lost(error: BaseException | None) -> bool:
    """Return whether the connection failed, or the server ended it."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(_AWAY)


def is_stale(error: BaseException | None) -> bool:
    """Return whether what the connection has prepared no longer fits: tables were migrated, or a
    pooler changed the server's side of it.

    Nothing was done. Other connections of the process are probably no better.
    """
    if isinstance(error, pg.InvalidSqlStatementName | pg.DuplicatePreparedStatement):
        return True
    # NOTE: «cached plan must not change result type», in whatever language.
    if isinstance(error, pg.FeatureNotSupported):
        return error.diag.source_function == "RevalidateCachedQuery"
    return False


def is_worn(error: BaseException | None) -> bool:
    """Return whether the same may succeed on another connection, but not on this one."""
    return is_lost(error) or is_stale(error)


def build_error(error: BaseException) -> TwinframeError:
    """Build the service's error for an `EngineError`."""
    found = _build_known(error)
    if found is not None:
        return found
    if is_stale(error):
        return StorageBusy(
            "A prepared statement no longer fits: the tables were migrated, or there is a pooler "
            "(Storage__Postgres__Pooler); nothing was changed, try again."
        )
    if is_lost(error):
        return ServerAway(f"The PostgreSQL server is away: {_read_line(error)}.")
    return ServerFailed(f"PostgreSQL failed: {type(error).__name__}: {_read_line(error)}.")


@contextmanager
def building_errors() -> Iterator[None]:
    """Raise the service's errors for those of psycopg inside."""
    try:
        yield
    except EngineError as error:
        raise build_error(error) from error


def _build_known(error: BaseException) -> TwinframeError | None:
    match error:
        case pg.LockNotAvailable():
            return StorageBusy(
                "Another writer was not done in time (Storage__Postgres__TurnTimeout); nothing was "
                "changed, try again."
            )
        case pg.SerializationFailure() | pg.DeadlockDetected():
            return StorageBusy(f"The server ended what collided with others: {_read_line(error)}.")
        case pg.QueryCanceled():
            return QueryTimeout(LATE)
        case pg.DiskFull():
            return StorageFull(
                "No space is left on the PostgreSQL server; nothing was changed, reads go on."
            )
        case pg.TooManyConnections() | pg.OutOfMemory() | pg.ReadOnlySqlTransaction():
            return ServerAway(f"The PostgreSQL server cannot do this now: {_read_line(error)}.")
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return StorageDamaged(
                f"The PostgreSQL server found damage: {_read_line(error)}. Restore a backup."
            )
        case pg.ProgramLimitExceeded():
            return LimitExceeded(
                f"An id is longer than PostgreSQL can index, or a value too large: "
                f"{_read_line(error)}."
            )
        case pg.UndefinedTable() | pg.InvalidSchemaName():
            return StorageError("The graph is no longer in the database: it was removed.")
        case UnicodeEncodeError():
            return InvalidArgument("A text holds a lone surrogate, which is no Unicode character.")
        case OverflowError() | pg.NumericValueOutOfRange():
            return InvalidArgument("An integer lies outside of the 64-bit range.")
        case psycopg.DataError() if error.sqlstate is None:
            return InvalidArgument(f"A value that PostgreSQL does not store: {_read_line(error)}.")
    return None


def _read_line(error: BaseException) -> str:
    """Return the first line of the message, without its full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
