"""Hosted graphs over several databases: which has which, placing new graphs, moving, balancing.

A move has a record in the catalog from its first step until nothing is left of it. Where its
process has ended, upkeep of any node settles it.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Final

import orjson

from twinframe.control.hosting.catalog import Catalog, CatalogEntry
from twinframe.control.hosting.catalog_changes import build_id, put_database
from twinframe.control.hosting.catalog_records import RecordCatalog
from twinframe.control.hosting.catalog_view import MOVE
from twinframe.errors import (
    ConfigurationError,
    InvalidArgument,
    StorageBusy,
    StorageError,
    TwinframeError,
)
from twinframe.hooks.installation import Installation
from twinframe.storage.base import GraphStore
from twinframe.storage.control import ControlTransaction, Record, equal
from twinframe.storage.databases import SeveralDatabases

_log = logging.getLogger(__name__)

KEEP_SECONDS: Final = 300.0
"""The time after a move for which the data stay in the former database: snapshots read them."""
_TOLERANCE: Final = 0.1
"""The part of the mean by which databases may differ."""


@dataclass(frozen=True, slots=True)
class Move:
    """The record of a move. `moved` is when it was done, in seconds since 1970; 0 is not yet."""

    move: str
    graph: str
    store: str
    source: str
    target: str
    process: str
    moved: float = 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A graph with its database and bytes; None where the database does not answer."""

    entry: CatalogEntry
    database: str
    size: int | None


def choose_database(installation: Installation, entry: CatalogEntry) -> str:
    """Return the database for a new graph: the one with the least bytes of those that answer.

    Empty where the storage has one database. Raises `StorageError` if none answers.
    """
    store = installation.build_store(entry.store)
    if not isinstance(store, SeveralDatabases) or len(store.list_databases()) == 1:
        return ""
    sizes = measure_databases(store)
    known = {name: size for name, size in sizes.items() if size is not None}
    if not known:
        raise StorageBusy("No database answers that could take the graph; try again.")
    chosen = min(known, key=lambda name: known[name])
    return "" if chosen == store.list_databases()[0] else chosen


def measure_databases(store: SeveralDatabases) -> Mapping[str, int | None]:
    """Measure all databases; None is the size of one that does not answer."""
    sizes: dict[str, int | None] = {}
    for name in store.list_databases():
        sizes[name] = None
        try:
            sizes[name] = store.measure_database(name)
        except StorageError as error:
            _log.warning("The database %s cannot be measured: %s", name, error.message)
    return sizes


class GraphDatabases:
    """The databases of an installation with what is in them."""

    def __init__(self, installation: Installation, catalog: Catalog) -> None:
        """Raises `ConfigurationError` where graphs cannot be moved as the service is set up."""
        provider = installation.settings.storage.provider
        if not is_able(installation.build_store()):
            raise ConfigurationError(
                f"Storage__Provider={provider} keeps graphs in one database. PostgreSQL can have "
                "several: Storage__Postgres__Databases__NAME."
            )
        if not isinstance(catalog, RecordCatalog):
            raise ConfigurationError(
                "Graphs are moved with the catalog in the database: set Hosting__Catalog=auto."
            )
        self._installation = installation
        self._catalog = catalog

    def list_graphs(self) -> list[Placed]:
        """List what is served, with sizes."""
        return [self._measure(entry) for entry in self._catalog.list_served()]

    def measure(self) -> Mapping[str, int | None]:
        """Measure the databases."""
        return measure_databases(_require(self._installation.build_store()))

    def move(self, entry: CatalogEntry, target: str, report: Callable[[str], None]) -> float:
        """Move a graph while it is served; return for how many seconds writers waited.

        Raises `InvalidArgument` for a database that is not known or has the graph already,
        `StorageBusy` while another move of the graph goes on, `StorageError` when it failed; then
        the graph is where it was.
        """
        store = self._build_store(entry)
        names = store.list_databases()
        if target not in names:
            raise InvalidArgument(f"There is no database {target!r}. There are: {_join(names)}.")
        source = entry.database or names[0]
        if source == target:
            raise InvalidArgument(f"The graph {entry.resource_id!r} is in {target!r} already.")
        process = self._catalog.register()
        move = Move(secrets.token_hex(8), build_id(entry), entry.store, source, target, process)
        self._catalog.write(lambda found: _begin(found, move))
        error: TwinframeError | None = None
        pause = 0.0
        try:
            pause = store.move(target, move.move, report)
        except TwinframeError as raised:
            error = raised
        if not self._settle(move):
            raise error or StorageBusy("The move was given up by another process; try again.")
        return pause

    def balance(self) -> list[tuple[CatalogEntry, str]]:
        """Plan moves after which the databases have about the same bytes of graphs."""
        names = _require(self._installation.build_store()).list_databases()
        graphs = {build_id(one.entry): one for one in self.list_graphs() if one.size is not None}
        sizes: dict[str, dict[str, int]] = {name: {} for name in names}
        for name, one in graphs.items():
            sizes.setdefault(one.database, {})[name] = one.size or 0
        away = [name for name, size in self.measure().items() if size is None]
        for name in away:
            sizes.pop(name, None)
        return [(graphs[name].entry, target) for name, target in plan_moves(sizes)]

    def tidy(self) -> None:
        """Settle moves whose processes have ended, and remove what finished ones have left."""
        for record in self._catalog.read(lambda session: session.find(MOVE.name)):
            move = Move(**orjson.loads(record.body))
            try:
                if move.moved:
                    if time.time() - move.moved > KEEP_SECONDS:
                        self._build_source(move).clear_move(move.move)
                        self._forget(move)
                elif not self._catalog.is_alive(move.process):
                    self._settle(move)
            except TwinframeError as error:
                _log.warning("The move of %s is not tidied yet: %s", move.graph, error.message)

    def _settle(self, move: Move) -> bool:
        """Settle a move; return whether the graph has moved."""
        if not self._build_source(move).settle_move(move.target, move.move):
            self._forget(move)
            return False
        names = self._build_source(move).list_databases()
        database = "" if move.target == names[0] else move.target
        done = replace(move, moved=time.time())

        def apply(found: ControlTransaction) -> None:
            stored = found.read(MOVE.name, move.move)
            if stored is not None and not Move(**orjson.loads(stored.body)).moved:
                put_database(found, move.graph, database)
                found.update(replace(stored, body=orjson.dumps(asdict(done))))

        self._catalog.write_change(apply)
        return True

    def _forget(self, move: Move) -> None:
        self._catalog.write(lambda found: found.delete(MOVE.name, move.move))

    def _build_store(self, entry: CatalogEntry) -> SeveralDatabases:
        return _require(self._installation.build_store(entry.store, entry.database))

    def _build_source(self, move: Move) -> SeveralDatabases:
        return _require(self._installation.build_store(move.store, move.source))

    def _measure(self, entry: CatalogEntry) -> Placed:
        store = self._build_store(entry)
        size = None
        with suppress(StorageError):
            size = store.measure_graph()
        return Placed(entry, entry.database or store.list_databases()[0], size)


def plan_moves(sizes: Mapping[str, Mapping[str, int]]) -> Sequence[tuple[str, str]]:
    """Plan which graph goes where: `sizes` has the bytes of each graph of each database.

    Each move takes the largest graph that makes the fullest and the emptiest database more alike,
    until they differ by a tenth of the mean, or no graph does.
    """
    held = {name: dict(graphs) for name, graphs in sizes.items()}
    mean = sum(map(_sum, held.values())) / max(len(held), 1)
    moves: list[tuple[str, str]] = []
    moved: set[str] = set()
    while len(held) > 1:
        fullest = max(held, key=lambda name: _sum(held[name]))
        emptiest = min(held, key=lambda name: _sum(held[name]))
        gap = _sum(held[fullest]) - _sum(held[emptiest])
        fitting = {
            graph: size
            for graph, size in held[fullest].items()
            if 0 < size <= gap / 2 and graph not in moved
        }
        if gap <= _TOLERANCE * mean or not fitting:
            break
        graph = max(fitting, key=lambda name: fitting[name])
        held[emptiest][graph] = held[fullest].pop(graph)
        moved.add(graph)
        moves.append((graph, emptiest))
    return moves


def tidy_moves(installation: Installation, catalog: Catalog) -> None:
    """Do what is left of moves, where there can be some."""
    if isinstance(catalog, RecordCatalog) and is_able(installation.build_store()):
        GraphDatabases(installation, catalog).tidy()


def is_able(store: GraphStore) -> bool:
    """Return whether graphs of this storage can be in several databases."""
    return isinstance(store, SeveralDatabases)


def _require(store: GraphStore) -> SeveralDatabases:
    if not isinstance(store, SeveralDatabases):
        raise ConfigurationError("The storage keeps graphs in one database.")
    return store


def _begin(found: ControlTransaction, move: Move) -> None:
    for record in found.find(MOVE.name, [equal("graph", move.graph)]):
        if not Move(**orjson.loads(record.body)).moved:
            raise StorageBusy("The graph is being moved already; try again.")
    found.insert(Record(MOVE.name, move.move, orjson.dumps(asdict(move)), {"graph": move.graph}))


def _sum(graphs: Mapping[str, int]) -> int:
    return sum(graphs.values())


def _join(names: Sequence[str]) -> str:
    return ", ".join(names)
