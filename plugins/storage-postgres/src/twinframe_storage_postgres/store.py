"""The graph store in one schema of a PostgreSQL database: opening, sessions and writing."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import psycopg
from psycopg import errors as pg

from twinframe.errors import ConfigurationError, StorageError, StorageUnanswered, TwinframeError
from twinframe.runtime.backoff import Backoff
from twinframe.storage.base import GraphStore, Outcome, Placement, StoreTraits, WriteFunction
from twinframe.storage.tables import TableKeeper, Tables
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
    is_lost,
    is_repeatable,
    is_worn,
)
from twinframe_storage_postgres.facts import InterfaceNames
from twinframe_storage_postgres.names import build_graph_schema
from twinframe_storage_postgres.notices import Watch
from twinframe_storage_postgres.opening import open_graph, remove_graph
from twinframe_storage_postgres.proving import prove_server
from twinframe_storage_postgres.session import PostgresReads, PostgresSession
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.standbys import Standbys
from twinframe_storage_postgres.statements import qualify
from twinframe_storage_postgres.tables import PostgresTables
from twinframe_storage_postgres.transaction import PostgresTransaction
from twinframe_storage_postgres.verify import verify_graph

_ATTEMPTS: Final = 5
_PAUSES: Final = Backoff(0.005, 0.2, spread=1)
_DOUBTS: Final = Backoff(0.1, 1.0)
_LOCK: Final = "SELECT 1 FROM @graph FOR UPDATE"
_BATCH: Final = "SELECT batch FROM @writer WHERE id = %s"


class PostgresGraphStore(GraphStore, TableKeeper):
    """The graph named `graph`, shared by any number of processes on any number of machines."""

    traits = StoreTraits(
        point_reads=Placement.POOL,
        largest_batch=128,
        point_read_threads=8,
        followed=True,
        distributed=True,
    )

    def __init__(self, settings: PostgresSettings, graph: str) -> None:
        self.settings = settings
        self.schema = build_graph_schema(settings.schema_, graph)
        self.scratch = Path(settings.directory) / f"{self.schema}.results"
        self._connections: Connections | None = None
        self._standbys: Standbys | None = None
        self._abilities: Abilities | None = None
        self._watch: Watch | None = None
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
        connections = share_connections(self.settings)
        try:
            open_graph(connections, self.schema, self.settings.schema_)
            self._abilities = _limit(prove_server(connections, self.schema), self.settings)
        except EngineError as error:
            release_connections(connections)
            raise build_error(error) from error
        except BaseException:
            release_connections(connections)
            raise
        self._connections = connections
        self._standbys = Standbys(self.settings)
        self._watch = connections.notices.watch(self.schema)

    def close(self) -> None:
        """Release the connections."""
        with self._writing:
            if self._watch is not None:
                self._watch.close()
            if self._connections is not None:
                release_connections(self._connections)
            if self._standbys is not None:
                self._standbys.close()
            self._connections = self._standbys = self._watch = None

    @property
    def connections(self) -> Connections:
        """The connections of this process. Raises `StorageError` while the store is not open."""
        if self._connections is None:
            raise StorageError("The store is not open.")
        return self._connections

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
        return PostgresReads(self.connections, self.schema, self._standbys)

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

    def verify(self) -> Sequence[str]:
        """Check the closure, the ends of relationships, the counts and the documents."""
        return verify_graph(self.session())

    def build_tables(self, prefix: str, version: int, statements: Sequence[str]) -> Tables:
        """Tables in the schema of the graph."""
        return PostgresTables(self.settings, self.schema, prefix, version, statements)

    def remove(self, timeout: float) -> None:
        """Remove the schema, once nobody reads or writes it.

        NOTE: it does not know which processes have it open; the catalog does (decision 0067). One
        that does finds the graph gone at its next read. Raises `StorageBusy` after `timeout`.
        """
        connections = share_connections(self.settings)
        try:
            prefix = self.settings.schema_
            connections.run(lambda each: remove_graph(each, self.schema, prefix, timeout))
        except EngineError as error:
            raise build_error(error) from error
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
        return PostgresTransaction(self.connections, self.schema, self.settings, self._names)

    def _find_out(self) -> bool:
        """Return whether the last batch took effect, whose answer was lost.

        It waits until the server has ended that transaction, which held the lock of the facts.
        Raises `StorageUnanswered` when the server does not come back in time.
        """
        end = time.monotonic() + self.settings.idle_timeout + self.settings.turn_timeout
        attempt = 1
        while True:
            try:
                return self.connections.run(self._ask) == self._batch
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
