"""A change of one hosted graph in the catalog of many nodes, in steps that compare its fence."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from twinframe.control.hosting.catalog import (
    CatalogChange,
    CatalogEntry,
    FenceLost,
    parse_entry,
    render_entry,
)
from twinframe.control.hosting.catalog_view import ADDRESS, GRAPH, OF_GRAPHS, parse_address
from twinframe.errors import StorageBusy
from twinframe.storage.control import (
    ControlSession,
    ControlTransaction,
    ControlWriteFunction,
    Record,
    equal,
)

T = TypeVar("T")


class Changes(Protocol):
    """The access to the catalog that a change needs."""

    def write_change(self, function: ControlWriteFunction[T]) -> T:
        """Write, and wake those who follow."""

    def is_used(self, name: str) -> bool:
        """Return whether a process that lives has the graph open."""


class RecordChange(CatalogChange):
    """One graph in a change of this fence; each step is a transaction."""

    def __init__(
        self,
        catalog: Changes,
        directory: Path,
        fence: int,
        record: CatalogEntry | None,
        served: CatalogEntry | None,
    ) -> None:
        super().__init__(directory, record, served)
        self._catalog = catalog
        self._fence = fence
        self._name = directory.name
        self._resource_id = directory.name.split(".", 1)[0]

    def begin(self, entry: CatalogEntry) -> None:
        """Insert the record."""

        def apply(found: ControlTransaction) -> None:
            check_fence(found, self._name, self._fence)
            put_entry(found, GRAPH.name, self._name, entry)

        self._catalog.write_change(apply)
        self.directory.mkdir(mode=0o700, exist_ok=True)
        self.record = entry

    def serve(self, entry: CatalogEntry) -> None:
        """Write record and address together."""

        def apply(found: ControlTransaction) -> None:
            self._check(found)
            served = parse_address(found.read(ADDRESS.name, self._resource_id))
            if served is not None and build_id(served) != self._name:
                raise StorageBusy(
                    f"The address of {entry.resource_id} still belongs to {served.incarnation}."
                )
            put_entry(found, GRAPH.name, self._name, entry)
            put_entry(found, ADDRESS.name, self._resource_id, entry)

        self._catalog.write_change(apply)
        self.record = self.served = entry

    def withdraw(self) -> None:
        """Leave a record that the address is gone, so that those who follow see it."""

        def apply(found: ControlTransaction) -> None:
            check_fence(found, self._name, self._fence)
            record = found.read(ADDRESS.name, self._resource_id)
            served = parse_address(record)
            if record is not None and served is not None and build_id(served) == self._name:
                found.update(replace(record, body=b"null", keys={"gone": int(time.time())}))

        if self.serves_this:
            self._catalog.write_change(apply)
            self.served = None

    def forget(self) -> None:
        """Delete the records, then the files of this machine."""

        def apply(found: ControlTransaction) -> None:
            check_fence(found, self._name, self._fence)
            found.delete(GRAPH.name, self._name)
            for kind in OF_GRAPHS:
                for record in found.find(kind.name, [equal("graph", self._name)]):
                    found.delete(kind.name, record.id)

        self._catalog.write_change(apply)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.record = None

    def check(self) -> None:
        """Compare the fence."""
        self._catalog.write_change(self._check)

    def is_used(self) -> bool:
        """Return whether a process that lives has it open."""
        return self._catalog.is_used(self._name)

    def _check(self, found: ControlTransaction) -> None:
        if check_fence(found, self._name, self._fence) is None:
            raise FenceLost(f"The graph {self._resource_id} was removed by another attempt.")


def build_id(entry: CatalogEntry) -> str:
    """Build the id of a graph's own record."""
    return f"{entry.resource_id}.{entry.incarnation}"


def read_graph(session: ControlSession, name: str) -> CatalogEntry | None:
    """Read the graph's own record."""
    record = session.read(GRAPH.name, name)
    return None if record is None else parse_entry(record.body, f"of {name}")


def check_fence(session: ControlSession, name: str, fence: int) -> CatalogEntry | None:
    """Return the graph's record, if there is one. Raises `FenceLost`."""
    record = read_graph(session, name)
    if record is not None and fence < record.fence:
        raise FenceLost(
            f"The graph {record.resource_id} is in the hands of attempt {record.fence}; attempt "
            f"{fence} comes too late."
        )
    return record


def put_entry(found: ControlTransaction, kind: str, name: str, entry: CatalogEntry) -> None:
    """Insert or replace an entry. The database stays: only a finished move changes it."""
    graph = read_graph(found, build_id(entry))
    if graph is not None:
        entry = replace(entry, database=graph.database)
    stored = found.read(kind, name)
    body = render_entry(entry)
    if stored is None:
        found.insert(Record(kind, name, body))
    else:
        found.update(replace(stored, body=body, keys={}))


def put_database(found: ControlTransaction, name: str, database: str) -> None:
    """Set the database of a graph that was moved, where it is still known."""
    graph = read_graph(found, name)
    if graph is None:
        return
    moved = replace(graph, database=database)
    stored = found.read(GRAPH.name, name)
    assert stored is not None  # noqa: S101  # it was just read
    found.update(replace(stored, body=render_entry(moved)))
    address = found.read(ADDRESS.name, graph.resource_id)
    served = parse_address(address)
    if address is not None and served is not None and build_id(served) == name:
        body = render_entry(replace(served, database=database))
        found.update(replace(address, body=body, keys={}))
