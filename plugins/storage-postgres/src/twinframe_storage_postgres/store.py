"""The graph store in one schema of a PostgreSQL database: opening, sessions and writing."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import psycopg
from psycopg import errors as pg

from twinframe.errors import (
    ConfigurationError,
    StorageError,
    StorageMoved,
    StorageUnanswered,
    TwinframeError,
)
from twinframe.runtime.backoff import Backoff
from twinframe.storage.base import GraphStore, Outcome, Placement, StoreTraits, WriteFunction
from twinframe.storage.databases import SeveralDatabases
from twinframe.storage.indexes import IndexReport, PropertyIndexes
from twinframe.storage.tables import TableKeeper, Tables
from twinframe_storage_postgres import property_indexes
from twinframe_storage_postgres.commit import Outcomes, TransactionFailed, run_batch
from twinframe_storage_postgres.compiler.abilities import NOTHING, RECURSION, Abilities
from twinframe_storage_postgres.connections import (
    DURABLE,
    WARNED,
    Connection,
    Connections,
    release_connections,
    share_connections,
    watching_standbys,
)
from twinframe_storage_postgres.errors import (
    EngineError,
    build_error,
    building_errors,
    is_lost,
    is_repeatable,
    is_worn,
)
from twinframe_storage_postgres.facts import InterfaceNames
from twinframe_storage_postgres.homes import Forwarded, Home
from twinframe_storage_postgres.moving import GraphMove, measure_database, measure_graph
from twinframe_storage_postgres.names import build_graph_schema
from twinframe_storage_postgres.notices import Watch
from twinframe_storage_postgres.opening import open_graph, remove_forward, remove_graph
from twinframe_storage_postgres.proving import prove_server
from twinframe_storage_postgres.session import PostgresReads, PostgresSession
from twinframe_storage_postgres.settings import MAIN, PostgresSettings
from twinframe_storage_postgres.statements import qualify
from twinframe_storage_postgres.tables import PostgresTables
from twinframe_storage_postgres.transaction import PostgresTransaction
from twinframe_storage_postgres.verify import verify_graph

T = TypeVar("T")

_ATTEMPTS: Final = 5
_PAUSES: Final = Backoff(0.005, 0.2, spread=1)
_DOUBTS: Final = Backoff(0.1, 1.0)
_LOCK: Final = "SELECT 1 FROM @graph FOR UPDATE"
_ANALYZE: Final = "ANALYZE (SKIP_LOCKED) @twin, @relationship, @event"
_BATCH: Final = "SELECT batch FROM @writer WHERE id = %s"


class PostgresGraphStore(GraphStore, SeveralDatabases, TableKeeper, PropertyIndexes):
    """The graph named `graph`, shared by any number of processes on any number of machines."""

    traits = StoreTraits(
        point_reads=Placement.POOL,
        largest_batch=128,
        point_read_threads=8,
        followed=True,
        distributed=True,
    )

    def __init__(self, settings: PostgresSettings, graph: str, database: str = "") -> None:
        """`database` is the name of the one that has the graph, or had it; empty is `main`."""
        self.settings = settings
        self.schema = build_graph_schema(settings.schema_, graph)
        self.scratch = Path(settings.directory) / f"{self.schema}.results"
        self._abilities: Abilities | None = None
        self._watch: Watch | None = None
        self._home = Home(settings, self.schema, database)
        self._writing = threading.Lock()
        self._names: InterfaceNames | None = None
        self._writer = uuid.uuid4().hex
        self._batch = 0

    def open(self) -> None:
        """Create or migrate the tables; any number of processes may do so at once.

        Raises `ConfigurationError` for a server or tables that cannot be used; `StorageError`.
        """
        directory = Path(self.settings.directory)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"Storage__Postgres__Directory: {directory} cannot be used: {error.strerror}."
            ) from error
        try:
            self._home.open()
            open_graph(self._home, self.settings.schema_)
            for name in self.settings.indexes:
                self._home.run(
                    partial(property_indexes.create_index, schema=self.schema, name=name)
                )
            self._abilities = _limit(prove_server(self._home), self.settings)
        except EngineError as error:
            self._home.close()
            raise build_error(error) from error
        except BaseException:
            self._home.close()
            raise
        self._home.on_move = self._watch_notices
        self._watch_notices()

    def close(self) -> None:
        """Release the connections."""
        with self._writing:
            if self._watch is not None:
                self._watch.close()
            self._watch = None
            self._home.close()

    @property
    def connections(self) -> Connections:
        """The connections to the primary. Raises `StorageError` while the store is not open."""
        return self._home.connections

    @property
    def abilities(self) -> Abilities:
        """What statements the server is given. Raises `StorageError` while it is not open."""
        if self._abilities is None:
            raise StorageError("The store is not open.")
        return self._abilities

    def listen(self, wake: Callable[[], None]) -> bool:
        """Let `wake` be called at notices of other stores of the graph."""
        return self._watch is not None and self._watch.listen(wake)

    def session(self) -> PostgresSession:
        """A session, which takes a connection only while it reads."""
        return PostgresReads(self._home)

    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the write functions and commit them together, while no other node writes."""
        outcomes: Outcomes = []
        with self._writing:
            while rest := functions[len(outcomes) :]:
                try:
                    outcomes += self._write(rest)
                except TwinframeError as error:
                    outcomes += [Outcome(error=error)] * len(rest)
        return outcomes

    def refresh_statistics(self) -> None:
        """Let the server count rows; autovacuum does so a minute later, also where this fails."""
        with suppress(*EngineError, TwinframeError, Forwarded):
            self._home.run(lambda connection: connection.execute(qualify(_ANALYZE, self.schema)))

    def verify(self) -> Sequence[str]:
        """Check the closure, the ends of relationships, the counts and the documents."""
        return verify_graph(self.session())

    # --- indexes on properties ------------------------------------------------------------------

    def list_indexes(self) -> Sequence[str]:
        """The indexed properties."""
        return self._use(partial(property_indexes.list_indexes, schema=self.schema))

    def report_indexes(self) -> Sequence[IndexReport]:
        """Report all indexes on properties."""
        declared = self.settings.indexes
        report = partial(property_indexes.report_indexes, schema=self.schema, declared=declared)
        return self._use(report)

    def create_index(self, name: str) -> bool:
        """Create the indexes concurrently: neither reads nor writes wait."""
        return self._use(partial(property_indexes.create_index, schema=self.schema, name=name))

    def drop_index(self, name: str) -> None:
        """Drop the indexes concurrently."""
        self._use(partial(property_indexes.drop_index, schema=self.schema, name=name))

    def _use(self, use: Callable[[Connection], T]) -> T:
        with building_errors():
            return self._home.run(use)

    def build_tables(self, prefix: str, version: int, statements: Sequence[str]) -> Tables:
        """Tables in the schema of the graph."""
        home = Home(self.settings, self.schema, self._home.database)
        return PostgresTables(self.settings, home, prefix, version, statements)

    def remove(self, timeout: float) -> None:
        """Remove the schema, once nobody reads or writes it.

        NOTE: it does not know which processes have it open; the catalog does (decision 0067). One
        that does finds the graph gone at its next read. Raises `StorageBusy` after `timeout`.
        """

        prefix = self.settings.schema_

        def remove(home: Home) -> None:
            home.run(lambda each: remove_graph(each, self.schema, prefix, timeout))

        self._visit(remove)
        for database in self.list_databases() if self.settings.databases else ():
            with suppress(TwinframeError):  # NOTE: what points to nothing harms nobody
                self._connect(database, lambda found: remove_forward(found, self.schema, timeout))

    def _watch_notices(self) -> None:
        """Tell and hear by the database that the graph is in now."""
        former, self._watch = self._watch, self._home.connections.notices.watch(self.schema)
        if former is not None and former.wake is not None:
            wake = former.wake
            former.close()
            self._watch.listen(wake)
            wake()

    # --- several databases ------------------------------------------------------------------------

    def list_databases(self) -> Sequence[str]:
        """`main`, and those of the settings."""
        return [MAIN, *self.settings.databases]

    def measure_database(self, database: str) -> int:
        """Return the bytes of all that is in it."""
        return self._connect(database, measure_database)

    def measure_graph(self) -> int:
        """Return the bytes of the schema."""
        return self._visit(
            lambda home: home.run(lambda connection: measure_graph(connection, self.schema))
        )

    def move(self, target: str, move: str, report: Callable[[str], None]) -> float:
        """Copy the graph, and leave a forwarding record."""
        with building_errors():
            return self._build_move(target, move).run(report)

    def settle_move(self, target: str, move: str) -> bool:
        """Look whether the forwarding record of the move is there."""
        with building_errors():
            return self._build_move(target, move).settle()

    def clear_move(self, move: str) -> None:
        """Remove the schema of what was left."""
        with building_errors():
            self._build_move("", move).clear()

    def _build_move(self, target: str, move: str) -> GraphMove:
        return GraphMove(self.settings, self.schema, self._home.database, target, move)

    def _visit(self, use: Callable[[Home], T]) -> T:
        """Use the graph's database, whether the store is open or not."""
        home = Home(self.settings, self.schema, self._home.database)
        with building_errors():
            home.open()
            try:
                return use(home)
            finally:
                home.close()

    def _connect(self, database: str, use: Callable[[Connection], T]) -> T:
        with building_errors():
            connections = share_connections(self.settings.build_for(database))
            try:
                return connections.run(use)
            finally:
                release_connections(connections)

    # --- writing --------------------------------------------------------------------------------

    def _write(self, functions: Sequence[WriteFunction[object]]) -> Outcomes:
        """Write the first functions; again if the server ended that for reasons that pass."""
        attempt = 1
        while True:
            try:
                return self._try(functions)
            except TransactionFailed as failed:
                error = failed.__cause__
            if isinstance(error, StorageMoved):
                continue
            if not (is_repeatable(error) or is_worn(error)) or attempt == _ATTEMPTS:
                break
            time.sleep(_PAUSES.build_pause(attempt))
            attempt += 1
        is_shared = is_worn(error) or isinstance(error, pg.LockNotAvailable)
        if len(functions) > 1 and not is_shared:
            return self._write(functions[: len(functions) // 2])  # one of them is at fault
        assert error is not None  # noqa: S101  # a `TransactionFailed` has a cause
        known = build_error(error) if isinstance(error, EngineError) else error
        return [Outcome(error=known)] * len(functions)

    def _try(self, functions: Sequence[WriteFunction[object]]) -> Outcomes:
        """Raises `TransactionFailed` when nothing was written, by the error that is its cause."""
        transaction, outcomes = run_batch(self._build_transaction, functions)
        self._batch += 1
        try:
            transaction.commit(self._writer, self._batch)
        except TwinframeError:  # of a batch that read nothing, and so begins here
            if transaction.failure is None:
                raise
            raise TransactionFailed from transaction.failure
        except EngineError as error:
            transaction.failure = error
            if not is_lost(error):
                raise TransactionFailed from error
            transaction.close()
            try:
                took_effect = self._find_out()
            except StorageUnanswered as unanswered:
                return [Outcome(error=unanswered)] * len(outcomes)
            if not took_effect:
                raise TransactionFailed from error
        finally:
            transaction.close()
            self._names = transaction.known_names
        if transaction.appends and self._watch is not None:
            self._watch.notify()
        return outcomes

    def _build_transaction(self) -> PostgresTransaction:
        return PostgresTransaction(self._home, self.settings, self._names)

    def _find_out(self) -> bool:
        """Return whether the last batch took effect, whose answer was lost.

        It waits until the server has ended that transaction, which held the lock of the facts.
        Raises `StorageUnanswered` when the server does not come back in time.
        """
        end = time.monotonic() + self.settings.idle_timeout + self.settings.turn_timeout
        attempt = 1
        while True:
            try:
                return self._home.run(self._ask) == self._batch
            except (psycopg.Error, TwinframeError) as error:
                if time.monotonic() >= end:
                    raise StorageUnanswered(
                        "The PostgreSQL server did not answer a write, which may be made or not: "
                        "read before repeating it."
                    ) from error
            time.sleep(_DOUBTS.build_pause(attempt))
            attempt += 1

    def _ask(self, connection: Connection) -> int:
        # NOTE: COMMIT of what locked a row waits for standbys, as that of the batch should have.
        with watching_standbys(connection), connection.transaction():
            wait = str(int(self.settings.turn_timeout * 1000))
            settings = f"set_config('lock_timeout', %s, true), {DURABLE}, {WARNED}"
            connection.execute(f"SELECT {settings}", (wait,))
            connection.execute(qualify(_LOCK, self.schema))
            row = connection.execute(qualify(_BATCH, self.schema), (self._writer,)).fetchone()
        return 0 if row is None else int(row[0])


def _limit(found: Abilities, settings: PostgresSettings) -> Abilities:
    match settings.compiled:
        case "all":
            return found
        case "no-walks":
            return Abilities(found.proven, frozenset({RECURSION}))
        case "nothing":
            return NOTHING
