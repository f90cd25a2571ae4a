"""The catalog of hosted graphs in a control store: one for any number of machines.

Nothing is locked for longer than a transaction. Writes are checked by the graph's fence, and what
servers have open is recorded, so that its removal waits for them.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import orjson

from twinframe.control.hosting.catalog import (
    Availability,
    Catalog,
    CatalogChange,
    CatalogEntry,
    FenceLost,
    WindowCounts,
)
from twinframe.control.hosting.catalog_changes import (
    RecordChange,
    build_id,
    check_fence,
    put_entry,
    read_graph,
)
from twinframe.control.hosting.catalog_counts import MachineCounts
from twinframe.control.hosting.catalog_view import (
    ADDRESS,
    GRAPH,
    KINDS,
    PROCESS,
    USE,
    CatalogView,
    parse_address,
)
from twinframe.control.hosting.journal import prepare_journal
from twinframe.errors import (
    InvalidArgument,
    StorageBusy,
    StorageError,
    TwinframeError,
)
from twinframe.graph.background.holders import is_dead, read_holder
from twinframe.model.ids import is_resource_id
from twinframe.runtime.leases import BEATS, LifeWatch
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlStore,
    ControlTransaction,
    ControlWriteFunction,
    Order,
    Record,
    equal,
)

T = TypeVar("T")

_log = logging.getLogger(__name__)

TOPIC: Final = "hosted"
LOOK_SECONDS: Final = 1.0
"""The longest time between two looks at the changes of others."""
HOLD_SECONDS: Final = 5.0
"""The time after a successful look for which its result is served."""
LEASE_SECONDS: Final = 10.0
"""The time without a sign of life after which a process counts as dead."""
_UNFORESEEN: Final = "unforeseen"
_FORGET_SECONDS: Final = 86_400
_RELOAD_SECONDS: Final = _FORGET_SECONDS / 2


class RecordCatalog(Catalog):
    """The catalog in `store`, whose files on this machine are below `directory`.

    A process that serves (`start`) finds graphs in its memory. It looks for changes when it is
    woken, at the latest after `LOOK_SECONDS`, and serves nothing once no look has succeeded for
    `HOLD_SECONDS`. Other processes read the store each time.
    """

    def __init__(
        self,
        directory: Path,
        store: ControlStore,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(directory)
        self._store = store
        self._monotonic = monotonic
        self._opening = threading.Lock()
        self._is_open = False
        self._process = ""
        self._view = CatalogView()
        self._looked = -HOLD_SECONDS
        self._is_behind = False
        self._life: LifeWatch[int] = LifeWatch(LEASE_SECONDS, monotonic)
        self._dead: frozenset[str] = frozenset()
        self._has_deaths = False
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._counts = MachineCounts(directory, self)

    # --- following --------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Open the store, and create the directory."""
        try:
            self._graphs.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"Hosting__Directory: {error.filename}: {error.strerror}."
            ) from error
        self._get_store()

    def start(self) -> None:
        """Look, register this process, and keep looking in a thread."""
        self.prepare()
        self._process = uuid.uuid4().hex
        self._beat()
        self.look()
        self._thread = threading.Thread(target=self._follow, name="twinframe-catalog", daemon=True)
        self._thread.start()

    def register(self) -> str:
        """Show from now on that this process lives, until `close`; return its id."""
        if self._thread is None:
            self.start()
        return self._process

    def is_alive(self, process: str) -> bool:
        """Return whether a process that registered lives."""
        found = self.read(lambda session: session.read(PROCESS.name, process))
        return found is not None and not self._is_over(found)

    def close(self) -> None:
        """Stop following and close the store."""
        self._ending.set()
        if self._thread is not None:
            self._store.wake(TOPIC)
            self._thread.join()
            self._thread = None
            with suppress(TwinframeError):
                self.write(lambda found: found.delete(PROCESS.name, self._process))
        with self._opening:
            if self._is_open:
                self._store.close()
            self._is_open = False

    def look(self) -> None:
        """Take over what others changed."""
        began = self._monotonic()
        is_late = began - self._looked > _RELOAD_SECONDS
        view = CatalogView() if is_late or self._is_behind or not self._view.version else self._view
        newer = Condition("version", Comparison.ABOVE, view.version)
        records = self.read(lambda s: s.find(ADDRESS.name, [newer], order=Order("version")))
        view = view.take(records, self._view)
        self._view, self._looked, self._is_behind = view, began, False

    def _follow(self) -> None:
        next_beat = self._monotonic() + LEASE_SECONDS / BEATS  # `start` gave the first sign
        told = ""
        while not self._ending.is_set():
            try:
                if self._monotonic() >= next_beat:
                    self._beat()
                    next_beat = self._monotonic() + LEASE_SECONDS / BEATS
                self.look()
                told = ""
                self._store.wait_for_wake(TOPIC, LOOK_SECONDS)
                continue
            except TwinframeError as error:
                if error.message != told:
                    _log.warning("The catalog of hosted graphs cannot be read: %s", error.message)
                told = error.message
            except Exception:  # noqa: BLE001  (a thread that ended would leave all graphs unserved)
                if told != _UNFORESEEN:
                    _log.exception("The catalog of hosted graphs cannot be read.")
                told = _UNFORESEEN
            self._ending.wait(LOOK_SECONDS)

    def _beat(self) -> None:
        """Show that this process lives, and see which others do not."""
        name = self._process
        body = orjson.dumps({"process": read_holder()})

        def apply(found: ControlTransaction) -> int:
            stored = found.read(PROCESS.name, name)
            if stored is None:
                return found.insert(Record(PROCESS.name, name, body)).version
            return found.update(stored).version

        # NOTE: versions go back when a fail-over lost the last changes.
        self._is_behind = self.write(apply) <= self._view.version
        processes = self.read(lambda session: session.find(PROCESS.name))
        dead = frozenset(each.id for each in processes if self._is_over(each))
        self._life.forget_all_but([each.id for each in processes])
        self._has_deaths = self._has_deaths or bool(dead - self._dead)
        self._dead = dead

    def _is_over(self, process: Record) -> bool:
        return process.id != self._process and (
            self._life.is_silent(process.id, process.version)
            or is_dead(orjson.loads(process.body)["process"])
        )

    # --- reading ----------------------------------------------------------------------------------

    def find(self, resource_id: str) -> CatalogEntry | None:
        """Find it in memory while this process follows the changes.

        Raises `StorageBusy` when it has not seen the catalog for `HOLD_SECONDS`.
        """
        if self._thread is None:
            return self._find_stored(resource_id)
        if self._monotonic() - self._looked > HOLD_SECONDS:
            raise StorageBusy(
                f"The catalog of hosted graphs could not be read for {HOLD_SECONDS:g} seconds; "
                "try again."
            )
        return self._view.find(resource_id)

    def list_served(self) -> list[CatalogEntry]:
        """List what is stored."""
        records = self.read(lambda session: session.find(ADDRESS.name, [equal("gone", None)]))
        view = CatalogView().take(records, self._view)
        for error in view.damaged.values():
            _log.warning("%s", error.message)
        return [view.entries[name] for name in sorted(view.entries)]

    def list_records(self) -> list[tuple[str, str]]:
        """List the records."""
        records = self.read(lambda session: session.find(GRAPH.name))
        pairs = [record.id.split(".", 1) for record in records]
        return sorted((pair[0], pair[1]) for pair in pairs)

    def list_left(self) -> list[CatalogEntry]:
        """List what only dead processes have open, or closed with work left."""
        uses = self.read(lambda session: session.find(USE.name))
        alive = self.read(lambda session: {one.id for one in session.find(PROCESS.name)})
        alive -= self._dead
        held = {use.keys["graph"] for use in uses if _is_open_in(use, alive)}
        left = {use.keys["graph"] for use in uses} - held
        self._has_deaths = False
        return [
            entry
            for entry in self.list_served()
            if entry.availability is not Availability.OFFLINE and build_id(entry) in left
        ]

    def has_deaths(self) -> bool:
        """Return whether another process was found dead since `list_left`."""
        return self._has_deaths

    def _find_stored(self, resource_id: str) -> CatalogEntry | None:
        if not is_resource_id(resource_id):
            return None
        record = self.read(lambda session: session.read(ADDRESS.name, resource_id))
        return parse_address(record)

    # --- changing ---------------------------------------------------------------------------------

    @contextmanager
    def changing(self, resource_id: str, incarnation: str, fence: int) -> Iterator[CatalogChange]:
        """Raise the fence; each change inside is a transaction that compares it."""
        directory = self.build_directory(resource_id, incarnation)
        name = directory.name

        def apply(found: ControlTransaction) -> tuple[CatalogEntry | None, CatalogEntry | None]:
            record = check_fence(found, name, fence)
            if record is not None and fence > record.fence:
                record = replace(record, fence=fence)
                put_entry(found, GRAPH.name, name, record)
            return record, parse_address(found.read(ADDRESS.name, resource_id))

        self.prepare()
        record, served = self.write(apply)
        yield RecordChange(self, directory, fence, record, served)

    @contextmanager
    def changing_served(self, resource_id: str) -> Iterator[CatalogChange]:
        """Read the present fence, then begin."""
        found = self._find_stored(resource_id)
        if found is None:
            raise InvalidArgument(f"No graph {resource_id!r} is served here.")
        record = self.read(lambda session: read_graph(session, build_id(found)))
        fence = found.fence if record is None else record.fence
        with self.changing(resource_id, found.incarnation, fence) as change:
            yield change

    @contextmanager
    def keeping(self, entry: CatalogEntry) -> Iterator[bool]:
        """Record the use before, and look whether the graph was forgotten after."""
        name = build_id(entry)

        def apply(found: ControlTransaction) -> bool:
            served = parse_address(found.read(ADDRESS.name, entry.resource_id))
            if served is None or served.identity != entry.identity:
                return False
            if self._process:
                _put_use(found, name, self._process, left=False)
            return True

        is_served = self.write(apply)
        if is_served:
            directory = self.build_directory(entry.resource_id, entry.incarnation)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            prepare_journal(directory)
        yield is_served
        if is_served and self.read(lambda session: session.read(GRAPH.name, name)) is None:
            raise FenceLost(f"The graph {entry.resource_id} was removed while it was opened.")

    def hold_mark(self, entry: CatalogEntry) -> _UseMark:
        """Return the mark that `keeping` recorded."""
        return _UseMark(self, build_id(entry))

    def tidy(self) -> None:
        """Remove files of this machine whose graph is gone, and records that nobody needs."""
        self.prepare()
        # NOTE: listed first: a graph that is made meanwhile is not among them.
        directories = [*self._graphs.iterdir()]
        graphs = self.read(lambda session: {one.id for one in session.find(GRAPH.name)})
        for directory in directories:
            if directory.name not in graphs:
                shutil.rmtree(directory, ignore_errors=True)
        old = Condition("gone", Comparison.BELOW, int(time.time()) - _FORGET_SECONDS)

        def apply(found: ControlTransaction) -> None:
            for record in found.find(ADDRESS.name, [old]):
                found.delete(ADDRESS.name, record.id)
            used = {one.keys["process"] for one in found.find(USE.name)}
            for name in self._dead - used:
                found.delete(PROCESS.name, str(name))

        self.write(apply)

    def put_statistics(self, name: str, document: Mapping[str, Any]) -> None:
        """Store those of this machine."""
        self._counts.put_statistics(name, document)

    def list_statistics(self, name: str) -> list[dict[str, Any]]:
        """List those of other machines."""
        return self._counts.list_statistics(name)

    def exchange_counts(self, counts: Mapping[str, WindowCounts]) -> Mapping[str, WindowCounts]:
        """Store what has changed, and add up what others stored."""
        return self._counts.exchange_counts(counts)

    # --- for changes and marks --------------------------------------------------------------------

    def write_change(self, function: ControlWriteFunction[T]) -> T:
        """Write, and wake those who follow."""

        def apply(found: ControlTransaction) -> T:
            result = function(found)
            found.wake(TOPIC)
            return result

        return self.write(apply)

    def release(self, name: str, *, has_work: bool) -> None:
        """End this process's use of a graph. Without work, the last one clears what others left."""
        alive = self.read(lambda session: {one.id for one in session.find(PROCESS.name)})
        alive -= {*self._dead, self._process}

        def apply(found: ControlTransaction) -> None:
            uses = found.find(USE.name, [equal("graph", name)])
            if has_work:
                if any(use.keys["process"] == self._process for use in uses):
                    _put_use(found, name, self._process, left=True)
                return
            is_last = not any(_is_open_in(use, alive) for use in uses)
            for use in uses:
                if is_last or use.keys["process"] == self._process:
                    found.delete(USE.name, use.id)

        self.write(apply)

    def is_used(self, name: str) -> bool:
        """Return whether a process that lives has the graph open."""

        def read(session: ControlSession) -> list[Record]:
            uses = session.find(USE.name, [equal("graph", name)])
            found = [session.read(PROCESS.name, str(use.keys["process"])) for use in uses]
            alive = {process.id for process in found if process and not self._is_over(process)}
            return [use for use in uses if _is_open_in(use, alive)]

        return bool(self.read(read))

    def _get_store(self) -> ControlStore:
        with self._opening:
            if not self._is_open:
                self._store.open(KINDS)
                self._is_open = True
        return self._store

    def read(self, function: Callable[[ControlSession], T]) -> T:
        """Run a read in a snapshot."""
        with closing(self._get_store().session()) as session, session.snapshot():
            return function(session)

    def write(self, function: ControlWriteFunction[T]) -> T:
        """Run a write alone."""
        (outcome,) = self._get_store().write([function])
        if outcome.error is not None:
            raise outcome.error
        return cast("T", outcome.result)


class _UseMark:
    """The record that this process has a graph open."""

    def __init__(self, catalog: RecordCatalog, name: str) -> None:
        self._catalog = catalog
        self._name = name

    def close(self, *, has_work: bool) -> None:
        """End the use. What cannot be written is found when this process has ended."""
        try:
            self._catalog.release(self._name, has_work=has_work)
        except TwinframeError as error:
            _log.warning("The use of %s stays recorded: %s", self._name, error.message)


def _put_use(found: ControlTransaction, graph: str, process: str, *, left: bool) -> None:
    name = f"{graph}|{process}"
    body = orjson.dumps({"left": left})
    stored = found.read(USE.name, name)
    if stored is None:
        found.insert(Record(USE.name, name, body, {"graph": graph, "process": process}))
    else:
        found.update(replace(stored, body=body))


def _is_open_in(use: Record, alive: set[str]) -> bool:
    """Return whether one of these processes has the graph open, by this record."""
    return use.keys["process"] in alive and not orjson.loads(use.body)["left"]
