"""The graph store over an engine of triples: opens, writes, verifies and removes one graph."""

from __future__ import annotations

import base64
import hashlib
import secrets
import shutil
import time
import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import orjson

from twinframe.errors import (
    ConfigurationError,
    MemoryExhausted,
    MemoryLimitExceeded,
    StorageBusy,
    StorageDamaged,
    StorageError,
    TwinframeError,
)
from twinframe.runtime.backoff import Backoff
from twinframe.runtime.memory import Part
from twinframe.storage.backups import Backups
from twinframe.storage.base import GraphStore, Outcome, Placement, StoreTraits, WriteFunction
from twinframe.storage.epochs import renew_epoch
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.changes import build_change, build_guard, build_state_triples
from twinframe_storage_rdf.copies import (
    install_copy,
    measure_directory,
    read_archive,
    write_archive,
)
from twinframe_storage_rdf.differences import State
from twinframe_storage_rdf.draft import Load
from twinframe_storage_rdf.engine import Change, Engine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.hierarchy import HierarchyCache
from twinframe_storage_rdf.mapping import GraphNames, Triple
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.session import RdfSession, RemoteSession
from twinframe_storage_rdf.storeprocess.engine import ProcessEngine
from twinframe_storage_rdf.terms import Iri, Term
from twinframe_storage_rdf.transaction import RdfTransaction
from twinframe_storage_rdf.verify import find_faults
from twinframe_storage_rdf.view import View
from twinframe_storage_rdf.writer_lock import MarkedLock

FORMAT: Final = 2
"""The version of the mapping. A graph of another version is not opened."""

_WRITE_SECONDS: Final = 5.0
_PAUSES: Final = Backoff(0.002, 0.1, growth=1.2, spread=1)
_DOUBTED_WRITES: Final = 16
_LARGE_CHANGE: Final = 4 * 1024 * 1024
"""Bytes of documents, read and changed, after which a change takes no more writes."""


class RdfStore(GraphStore):
    """The graph of these `names` in an engine that other stores may share.

    `shared` says whether all processes see the engine's data, `may_begin` whether a missing graph
    is created.
    """

    def __init__(
        self,
        engine: Engine,
        names: GraphNames,
        *,
        shared: bool,
        place: Path | None = None,
        may_begin: bool = True,
    ) -> None:
        # PERF: threads that wait for one process next door only get in each other's way: two of a
        # worker read 5,000 twins a second, eight 2,600, and large reads delay others half as long.
        threads = 8 if engine.is_remote else 2
        self.traits = StoreTraits(
            point_reads=Placement.POOL, shared=shared, point_read_threads=threads
        )
        self.scratch = None if place is None else place / "scratch"
        self.beside = None if place is None else place / "beside"
        self._engine = engine
        self._queries = Queries(names)
        self._cache = HierarchyCache()
        self._writer_lock = MarkedLock(None if place is None else place / "turn")
        self._made: State | None = None
        self._doubted = 0
        self._may_begin = may_begin

    @property
    def names(self) -> GraphNames:
        """The names that the graph uses, for the query compiler."""
        return self._queries.names

    @property
    def engine(self) -> Engine:
        """The engine that holds the graph, for probing its abilities."""
        return self._engine

    def open(self) -> None:
        """Open the engine, create the graph if it is new, and check its format."""
        self._engine.open()
        self._cache.held = None  # another graph may have the same versions
        self._made = None
        names = self._queries.names
        expected = f"{FORMAT} {_hash_ontology(names)}"
        facts = View(self._engine, self._queries).read_facts()
        while v.VERSION not in facts:
            if not self._may_begin:
                raise StorageDamaged(f"It holds no graph {names.name!r}.")
            self._engine.commit(_build_beginning(names, expected))
            facts = View(self._engine, self._queries).read_facts()
        if facts.get(v.FORMAT) != expected:
            self._engine.close()
            raise ConfigurationError(
                f"The graph {names.name!r} was written with another mapping "
                f"({facts.get(v.FORMAT)!r}, now {expected}): another release, or another "
                "Storage__Rdf__Ontology. Export it with what it was written with and import it."
            )

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def session(self) -> RdfSession:
        """A session that sees the newest state at each call."""
        kind = RemoteSession if self._engine.is_remote else RdfSession
        return kind(self._engine, self._queries, self._cache)

    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the writes on drafts and commit them; start again if another process was faster.

        Small writes share a draft; a draft that has become large takes no more of them.
        """
        outcomes: list[Outcome[object]] = []
        while len(outcomes) < len(functions):
            outcomes += self._write_part(functions[len(outcomes) :])
        return outcomes

    def _write_part(self, functions: Sequence[WriteFunction[object]]) -> list[Outcome[object]]:
        """Return the outcomes of the first of the writes, at least of one."""
        deadline = time.monotonic() + _WRITE_SECONDS
        try:
            with self._writer_lock.taken(deadline):
                attempt = 0
                while (outcomes := self._try(functions, deadline)) is None:
                    if time.monotonic() >= deadline:
                        raise StorageBusy(
                            "Other processes write the graph so often that this write found no "
                            "turn; nothing was changed."
                        )
                    attempt += 1
                    time.sleep(_PAUSES.build_pause(attempt))
                return outcomes
        except (MemoryExhausted, MemoryLimitExceeded) as error:
            # NOTE: building the change reads all documents that the writes change again, at once.
            if len(functions) > 1:
                return self._write_part(functions[: len(functions) // 2])
            return [Outcome(error=error)]
        except TwinframeError as error:
            return [Outcome(error=error) for _ in functions]

    def verify(self) -> Sequence[str]:
        """Compare all triples with those that the stored documents require."""
        return list(find_faults(self._engine, self._queries))

    def remove(self, timeout: float) -> None:
        """Remove the graph from its engine, and its directory if it has one."""
        names = self._queries.names
        self._engine.destroy([names.state, names.data], timeout)

    def _try(
        self, functions: Sequence[WriteFunction[object]], deadline: float
    ) -> list[Outcome[object]] | None:
        """Return the outcomes once they are committed; None when another process was faster."""
        with self._engine.writing(self._queries.names.state, deadline):
            return self._run(functions)

    def _run(self, functions: Sequence[WriteFunction[object]]) -> list[Outcome[object]] | None:
        hold = None if self.memory is None else self.memory.hold(Part.WRITES)
        with hold or nullcontext():
            return self._commit(functions, Load(hold))

    def _commit(
        self, functions: Sequence[WriteFunction[object]], load: Load
    ) -> list[Outcome[object]] | None:
        guess = self._guess()
        transaction = RdfTransaction(self._engine, self._queries, self._cache, guess, load)
        outcomes = _run_some(transaction, functions, load)
        view = transaction.view
        self._made = None
        if view.draft.is_empty():
            state = View(self._engine, self._queries).read_state()
            is_made = state.version == view.base.version
        else:
            change, state = build_change(self._engine, self._queries, view)
            is_made = self._engine.commit(change)
        if not is_made:
            self._doubted = _DOUBTED_WRITES
            return None
        self._made = state
        self._writer_lock.leave_mark(state.version)
        return outcomes

    def _guess(self) -> State | None:
        """Return the state that this process made, if it knows of no later write by another.

        PERF: this saves a query for each write. A wrong guess is found when the change is applied;
        where writers share no lock, a recently wrong guess makes the next one unlikely to be tried.
        """
        if self._doubted:
            self._doubted -= 1
            return None
        made = self._made
        return made if made is not None and made.version == self._writer_lock.read_mark() else None


def _run_some(
    transaction: RdfTransaction, functions: Sequence[WriteFunction[object]], load: Load
) -> list[Outcome[object]]:
    """Run writes until what they change is large; the rest goes into the next change."""
    outcomes: list[Outcome[object]] = []
    for function in functions:
        outcome = _run(transaction, function)
        if outcomes and isinstance(outcome.error, MemoryExhausted | MemoryLimitExceeded):
            break  # it may fit into memory alone
        outcomes.append(outcome)
        if load.size > _LARGE_CHANGE:
            break
    return outcomes


def _run(transaction: RdfTransaction, function: WriteFunction[object]) -> Outcome[object]:
    mark = transaction.mark()
    try:
        return Outcome(result=function(transaction))
    except Exception as error:  # noqa: BLE001  (the seam: each work gets its own error)
        transaction.undo(mark)
        return Outcome(error=error)


def _build_beginning(names: GraphNames, format_: str) -> Change:
    values: list[tuple[Iri, Term]] = [
        (v.FORMAT, format_),
        (v.INSTANCE, str(uuid.uuid4())),
        (v.SECRET, base64.b64encode(secrets.token_bytes(32)).decode()),
    ]
    marker: Triple = (v.build_write_iri(names.state, 0), v.WRITE_ID, uuid.uuid4().hex)
    numbers = build_state_triples(names, State(version=0)).values()
    added = [marker, *numbers, *((names.state, predicate, value) for predicate, value in values)]
    return Change(build_guard(names, None), marker, [], [(names.state, added)])


def _hash_ontology(names: GraphNames) -> str:
    text = orjson.dumps(dict(names.ontology), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:16]


class RdfFileStore(RdfStore, Backups):
    """The graph of these names in a directory of its own."""

    def __init__(self, engine: ProcessEngine, names: GraphNames, place: Path) -> None:
        super().__init__(engine, names, shared=True, place=place)
        self._process = engine

    def back_up(self, target: Path) -> None:
        """Let the process link its files at one moment, then archive them; writes continue."""
        snapshot = self._process.files.place / f"backup-{uuid.uuid4().hex}"
        try:
            self._process.back_up(snapshot)
            write_archive(snapshot, target)
        finally:
            shutil.rmtree(snapshot, ignore_errors=True)

    def restore(self, source: Path, timeout: float) -> None:
        """Verify a copy of the backup next to the store, then swap the two."""
        files = self._process.files
        files.place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._process.alone(timeout):
            shutil.rmtree(files.draft, ignore_errors=True)
            try:
                read_archive(source, files.draft)
                self._prepare(files.draft, source)
                install_copy(files.draft, files.store, files.old)
            finally:
                shutil.rmtree(files.draft, ignore_errors=True)
            if self.scratch is not None:
                shutil.rmtree(self.scratch, ignore_errors=True)

    def measure(self) -> int:
        """Return the size of all files of the store."""
        return measure_directory(self._process.files.store)

    def _prepare(self, draft: Path, source: Path) -> None:
        """Begin a new epoch in the draft.

        Raises `StorageDamaged` when it is another graph, or damaged.
        """
        engine = OxigraphEngine(draft)
        store = RdfStore(engine, self.names, shared=False, may_begin=False)
        try:
            store.open()
            faults = store.verify()
            if not faults:
                _renew_epoch(store)
            engine.flush()
        except (ConfigurationError, StorageError) as error:
            raise StorageDamaged(f"{source} is no backup of this graph: {error.message}") from error
        finally:
            store.close()
        if faults:
            raise StorageDamaged(f"{source} is damaged: {'; '.join(faults[:3])}")


def _renew_epoch(store: RdfStore) -> None:
    (outcome,) = store.write([renew_epoch])
    if outcome.error is not None:
        raise outcome.error
