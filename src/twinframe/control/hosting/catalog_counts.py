"""What the machines of a service count of hosted graphs, added up through a control store."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import orjson

from twinframe.control.hosting.catalog import WindowCounts
from twinframe.control.hosting.catalog_view import COUNT, GRAPH, STATISTICS
from twinframe.runtime.files import write_durably
from twinframe.runtime.locks import hold_lock
from twinframe.storage.control import (
    MOST_VALUES,
    Condition,
    ControlSession,
    ControlTransaction,
    ControlWriteFunction,
    Record,
    RecordKind,
    equal,
    one_of,
)

T = TypeVar("T")


class Records(Protocol):
    """The access to the control store."""

    def read(self, function: Callable[[ControlSession], T]) -> T:
        """Run a read in a snapshot."""

    def write(self, function: ControlWriteFunction[T]) -> T:
        """Run a write."""


class MachineCounts:
    """The counts of this machine, which is named by a file in `directory`, and of all others."""

    def __init__(self, directory: Path, records: Records) -> None:
        self._directory = directory
        self._records = records
        self._told: dict[str, WindowCounts] = {}

    def put_statistics(self, name: str, document: Mapping[str, Any]) -> None:
        """Store those of this machine, unless another worker of it has stored newer ones."""

        def apply(found: ControlTransaction) -> None:
            stored = found.read(STATISTICS.name, f"{name}|{self._machine}")
            before = None if stored is None else orjson.loads(stored.body)
            if before is None or before["totals"]["operations"] <= document["totals"]["operations"]:
                self._put_count(found, STATISTICS, name, document)

        self._records.write(apply)

    def list_statistics(self, name: str) -> list[dict[str, Any]]:
        """List those of other machines."""
        found = self._records.read(
            lambda session: session.find(STATISTICS.name, [equal("graph", name)])
        )
        return [orjson.loads(one.body) for one in found if one.id != f"{name}|{self._machine}"]

    def exchange_counts(self, counts: Mapping[str, WindowCounts]) -> Mapping[str, WindowCounts]:
        """Store what has changed, and add up what others stored."""
        changed = {name: one for name, one in counts.items() if self._told.get(name) != one}

        def apply(found: ControlTransaction) -> None:
            for name, one in changed.items():
                self._put_count(found, COUNT, name, {str(key): value for key, value in one.items()})

        if changed:
            self._records.write(apply)
            self._told.update(changed)
        records: list[Record] = []
        names = list(counts)
        for first in range(0, len(names), MOST_VALUES):
            some = one_of("graph", *names[first : first + MOST_VALUES])
            records += self._records.read(partial(_find, kind=COUNT, condition=some))
        others: dict[str, WindowCounts] = {name: {} for name in names}
        for record in records:
            name = str(record.keys["graph"])
            if record.id != f"{name}|{self._machine}":
                for key, (start, count) in orjson.loads(record.body).items():
                    begun, known = others[name].get(int(key), (start, 0))
                    if start >= begun:
                        count += known if start == begun else 0
                        others[name][int(key)] = (start, count)
        return others

    def _put_count(
        self, found: ControlTransaction, kind: RecordKind, name: str, document: Mapping[str, Any]
    ) -> None:
        if found.read(GRAPH.name, name) is None:
            return  # it is gone, with all that was counted
        record_id, body = f"{name}|{self._machine}", orjson.dumps(document)
        stored = found.read(kind.name, record_id)
        if stored is None:
            found.insert(Record(kind.name, record_id, body, {"graph": name}))
        elif stored.body != body:
            found.update(replace(stored, body=body))

    @cached_property
    def _machine(self) -> str:
        """The name of this machine's directory, which all its workers know."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / "machine"
        with hold_lock(path.with_name("machine.lock")):
            with suppress(FileNotFoundError):
                return path.read_text(encoding="ascii")
            name = uuid.uuid4().hex
            write_durably(path, name.encode())
            return name


def _find(session: ControlSession, *, kind: RecordKind, condition: Condition) -> Sequence[Record]:
    return session.find(kind.name, [condition])
