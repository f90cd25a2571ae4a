"""The store of a control plane's records in one schema of PostgreSQL, for any declared kinds."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final, TypeVar

import orjson
import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus

from twinframe.errors import StorageBusy, StorageError, StorageUnanswered, TwinframeError
from twinframe.runtime.backoff import Backoff
from twinframe.storage.base import Outcome, Placement, StoreTraits
from twinframe.storage.control import ControlStore, ControlWriteFunction, RecordKind
from twinframe_storage_postgres.connections import (
    DURABLE,
    WARNED,
    Connection,
    Connections,
    connect,
    release_connections,
    share_connections,
    watching_standbys,
)
from twinframe_storage_postgres.control_session import (
    PostgresControlSession,
    PostgresControlTransaction,
    RecordTables,
)
from twinframe_storage_postgres.control_tables import (
    RecordSchema,
    create_control,
    find_missing,
    has_control,
    holds_tables,
    write_tables,
)
from twinframe_storage_postgres.errors import build_error, is_lost, is_repeatable, is_stale, is_worn
from twinframe_storage_postgres.names import build_channel, build_schema
from twinframe_storage_postgres.notices import Watch
from twinframe_storage_postgres.opening import has_own
from twinframe_storage_postgres.settings import PostgresSettings

_TRIES: Final = 8
_PAUSE: Final = 0.02
_DOUBTS: Final = Backoff(0.02, 1.0)
_KEPT_BATCHES: Final = 64
_REPORTED: Final = 100
_RACED: Final = (errors.UniqueViolation, errors.DuplicateTable, errors.DuplicateSchema)

T = TypeVar("T")

Outcomes = list[Outcome[object]]


class _Repeat(Exception):
    """The batch changed nothing and may succeed when it runs again."""


class PostgresControlStore(ControlStore):
    """The records in one schema, shared by all processes of all machines.

    Batches of all processes run one after another: each first locks the row of the table `control`,
    and so sees all that was committed before.
    """

    traits = StoreTraits(point_reads=Placement.POOL, largest_batch=128)

    def __init__(self, settings: PostgresSettings, name: str) -> None:
        self.settings = settings
        self._schema = RecordSchema(build_schema(settings.schema_, name))
        self._tables = RecordTables(self._schema)
        self._kinds: Sequence[RecordKind] = ()
        # NOTE: one message, no pipeline: after one the server does not watch over an idle writer,
        # and one whose process stands still would keep the others waiting for ever.
        self._begin = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
            f" SELECT {DURABLE}, {WARNED},"
            f" set_config('lock_timeout', '{_render(settings.turn_timeout)}', true),"
            " set_config('idle_in_transaction_session_timeout',"
            f" '{_render(settings.idle_timeout)}', true);"
            f" SELECT version FROM {self._schema.control} WHERE id = 1 FOR UPDATE"
        )
        self._writing = threading.Lock()
        self._writer: Connection | None = None
        self._watching = threading.Lock()
        self._watches: dict[str, Watch] = {}
        self._connections: Connections | None = None

    def open(self, kinds: Sequence[RecordKind]) -> None:
        """Open or create the schema, with tables for these kinds.

        Raises `ConfigurationError` as the interface says, `StorageError` when the server refuses.
        """
        self._tables = RecordTables(self._schema, kinds)
        self._kinds = tuple(kinds)
        self._connections = share_connections(self.settings)
        try:
            self._prepare()
        except psycopg.Error as error:
            self.close()
            raise build_error(error) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections."""
        with self._writing:
            self._drop_writer()
        with self._watching:
            for watch in self._watches.values():
                watch.close()
            self._watches.clear()
        connections, self._connections = self._connections, None
        if connections is not None:
            release_connections(connections)

    def session(self) -> PostgresControlSession:
        """A session, which takes a connection when it first reads."""
        return PostgresControlSession(self._tables, self._get_connections())

    def write(self, functions: Sequence[ControlWriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the write functions and commit them together, under the row lock."""
        if not functions:
            return []
        with self._writing:
            try:
                return self._repeat(lambda: self._write(functions))
            except TwinframeError as error:
                return [Outcome(error=error)] * len(functions)

    def wait_for_wake(self, topic: str, timeout: float) -> None:
        """Wait for a notice of this process or, but for those behind a pooler, of another."""
        self._watch(topic).listen(self.find_woken(topic).set)
        super().wait_for_wake(topic, timeout)

    def wake(self, topic: str) -> None:
        """Wake those who wait, in this process now, in others soon."""
        super().wake(topic)
        self._watch(topic).notify()

    def _watch(self, topic: str) -> Watch:
        channel = build_channel(self._schema.name, topic)
        notices = self._get_connections().notices
        with self._watching:
            if channel not in self._watches:
                self._watches[channel] = notices.watch(channel)
            return self._watches[channel]

    def verify(self) -> Sequence[str]:
        """Compare the tables with the declarations, and check all records."""
        with self._connect() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            missing = find_missing(connection, self._schema, self._kinds)
            if missing:
                return [f"{each} is missing" for each in missing]
            return list(islice(self._find(connection), _REPORTED))

    # --- opening --------------------------------------------------------------------------------

    def _prepare(self) -> None:
        connection = self._open_writer()
        for attempt in range(_TRIES):
            try:
                if not has_control(connection, self._schema):
                    prefix = self.settings.schema_
                    has_own(connection, self._schema.name, prefix, "control")
                    create_control(connection, self._schema)
                break
            except _RACED:  # another process creates the same
                if attempt == _TRIES - 1:
                    raise
                time.sleep(_PAUSE)
        # NOTE: a process that has nothing to change does not wait for the lock.
        if not holds_tables(connection, self._schema, self._kinds):
            with self._writing:
                self._repeat(self._write_tables)

    def _write_tables(self) -> None:
        with self._transaction() as (connection, _):
            write_tables(connection, self._schema, self._kinds)
            connection.execute("COMMIT")

    # --- writing --------------------------------------------------------------------------------

    def _repeat(self, work: Callable[[], T]) -> T:
        """Run the work until it does not have to be repeated. Raises service errors."""
        cause: BaseException | None = None
        for attempt in range(_TRIES):
            try:
                return work()
            except _Repeat as error:
                cause = error.__cause__
                time.sleep(_PAUSE * 2**attempt)
            except psycopg.Error as error:
                raise build_error(error) from error
        raise StorageBusy(
            f"The control plane's database did not take a batch in {_TRIES} attempts; try again."
        ) from cause

    def _write(self, functions: Sequence[ControlWriteFunction[object]]) -> Outcomes:
        with self._transaction() as (connection, version):
            view = PostgresControlTransaction(
                self._tables, self._get_connections(), connection, version
            )
            alone = len(functions) == 1
            outcomes = [self._run(view, connection, each, alone) for each in functions]
            if all(outcome.error is not None for outcome in outcomes) or not view.changes:
                connection.execute("ROLLBACK")
                return outcomes
            committed = self._commit(connection, view.version, outcomes)
        for topic in view.woken:
            self.wake(topic)
        return committed

    def _run(
        self,
        view: PostgresControlTransaction,
        connection: Connection,
        function: ControlWriteFunction[object],
        alone: bool,
    ) -> Outcome[object]:
        if not alone:
            connection.execute("SAVEPOINT work")
        try:
            result = function(view)
            _check_sound(connection)
        except Exception as error:
            if connection.broken or is_repeatable(error.__cause__) or is_stale(error.__cause__):
                raise _Repeat from error
            if not alone:
                connection.execute("ROLLBACK TO work")
            return Outcome(error=error)
        return Outcome(result)

    def _commit(self, connection: Connection, version: int, outcomes: Outcomes) -> Outcomes:
        batch = secrets.randbits(62)
        try:
            self._send_commit(connection, version, batch)
        except psycopg.Error as error:
            if not is_lost(error):
                raise
            self._drop_writer()
            self._find_out(batch, version, error)
        return outcomes

    def _send_commit(self, connection: Connection, version: int, batch: int) -> None:
        with watching_standbys(connection), connection.pipeline():
            connection.execute(
                f"UPDATE {self._schema.control} SET version = %s,"
                f" batches = (%s::bigint || batches)[:{_KEPT_BATCHES}]",
                (version, batch),
            )
            connection.execute("COMMIT")

    def _find_out(self, batch: int, version: int, error: psycopg.Error) -> None:
        """Return if the batch, whose COMMIT had no answer, was committed; `_Repeat` if not.

        The lock waits for the end of the lost transaction, and COMMIT for standbys, as that of the
        batch should have. Raises `StorageUnanswered` when the server does not come back in time.
        """
        end = time.monotonic() + self.settings.idle_timeout + self.settings.turn_timeout
        attempt = 1
        while (found := self._read_batches()) is None:
            if time.monotonic() >= end:
                raise _build_unknown() from error
            self._drop_writer()
            time.sleep(_DOUBTS.build_pause(attempt))
            attempt += 1
        newest, batches = found
        if batch in batches:
            return
        if newest < version or len(batches) < _KEPT_BATCHES:
            raise _Repeat from error
        raise _build_unknown() from error

    def _read_batches(self) -> tuple[int, list[int]] | None:
        """The newest version and the last batches; None where the server does not answer."""
        try:
            with self._transaction() as (connection, newest):
                row = connection.execute(f"SELECT batches FROM {self._schema.control}").fetchone()
                with watching_standbys(connection):
                    connection.execute("COMMIT")
                return newest, [] if row is None else row[0]
        except (_Repeat, psycopg.Error, TwinframeError):
            return None

    @contextmanager
    def _transaction(self) -> Iterator[tuple[Connection, int]]:
        """Begin under the row lock; yield the connection and the newest version.

        What is inside commits. Raises `_Repeat` where nothing was changed.
        """
        connection = self._writer or self._open_writer()
        try:
            cursor = connection.execute(self._begin)
            while cursor.nextset():
                pass
            row = cursor.fetchone()
            if row is None:
                raise StorageError(f"{self._schema.control} has lost its row.")
            yield connection, row[0]
        except psycopg.Error as error:
            if is_stale(error):
                self._drop_writer()
            if is_worn(error) or is_repeatable(error):
                raise _Repeat from error
            raise
        finally:
            self._end(connection)

    def _end(self, connection: Connection) -> None:
        """Leave the connection without a transaction, or drop it."""
        if not connection.broken and not connection.closed:
            with suppress(psycopg.Error):
                if connection.info.transaction_status is not TransactionStatus.IDLE:
                    connection.execute("ROLLBACK")
                return
        if self._writer is connection:
            self._drop_writer()

    def _open_writer(self) -> Connection:
        self._get_connections()  # it is open
        self._writer = self._connect()
        return self._writer

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def _get_connections(self) -> Connections:
        if self._connections is None:
            raise StorageError(f"The records in the schema {self._schema.name} are not open.")
        return self._connections

    def _connect(self) -> Connection:
        try:
            return connect(self.settings)
        except psycopg.Error as error:
            raise build_error(error) from error

    # --- verifying ------------------------------------------------------------------------------

    def _find(self, connection: Connection) -> Iterator[str]:
        row = connection.execute(f"SELECT version FROM {self._schema.control}").fetchone()
        newest = 0 if row is None else row[0]
        seen: dict[int, str] = {}
        for kind in self._kinds:
            with connection.cursor(name="verify") as cursor:
                cursor.execute(
                    f"SELECT id, version, body FROM {self._schema.render_table(kind.name)}"
                )
                for record_id, version, body in cursor:
                    name = f"{kind.name} {bytes(record_id).decode()!r}"
                    try:
                        orjson.loads(body)
                    except orjson.JSONDecodeError:
                        yield f"{name} has a damaged body"
                    if not 0 < version <= newest:
                        yield f"{name} has the version {version}, but the last one is {newest}"
                    if version in seen:
                        yield f"{name} and {seen[version]} have one version: {version}"
                    seen[version] = name


def _check_sound(connection: Connection) -> None:
    """Refuse what a function did that went on after a statement had failed: COMMIT undoes it."""
    if connection.info.transaction_status is not TransactionStatus.INTRANS:
        raise StorageError("A statement of the write function had failed.")


def _build_unknown() -> StorageUnanswered:
    return StorageUnanswered(
        "The connection to the control plane's database was lost while a batch was committed; "
        "whether it was is unknown. Read the records before you repeat it."
    )


def _render(seconds: float) -> str:
    return f"{max(int(seconds * 1000), 1)}ms"
