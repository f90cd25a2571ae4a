"""The reference control store, which keeps records in this process's memory.

It defines the meaning of the interface and serves for tests and trials.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from twinframe.errors import ConfigurationError
from twinframe.storage.base import Outcome, Placement, StoreTraits
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlStore,
    ControlTransaction,
    ControlWriteFunction,
    Key,
    Order,
    Record,
    RecordKind,
)
from twinframe.storage.control_kinds import (
    DeclaredKinds,
    build_changed,
    build_shared,
    build_taken,
    check_value,
)
from twinframe.storage.memory_state import FrozenMap

Rank: TypeAlias = tuple[int, int, str]
"""A key as Python orders it: None, then integers, then texts."""

Shared: TypeAlias = tuple[tuple[str, ...], tuple[Key, ...]]
"""A unique set of a kind and one record's values in it."""


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The records of one kind, and the owners of the values of its unique sets."""

    records: FrozenMap[str, Record] = field(default_factory=FrozenMap)
    owners: FrozenMap[Shared, str] = field(default_factory=FrozenMap)


Tables: TypeAlias = Mapping[str, RecordTable]
"""An immutable state of all records, by kind: a write makes another."""


class MemoryRecords:
    """The data of one control plane; stores opened on the same object share it, as on one file."""

    def __init__(self) -> None:
        self.kinds: dict[str, RecordKind] = {}
        self.tables: Tables = {}
        self.writer_lock = threading.Lock()
        self._version = 0

    def build_version(self) -> int:
        """Return the next version: numbers of failed writes do not recur."""
        self._version += 1
        return self._version


class MemoryControlSession(ControlSession):
    """Reads the newest state at each call."""

    def __init__(self, kinds: DeclaredKinds, state: Callable[[], Tables]) -> None:
        self._kinds = kinds
        self._newest = state
        self._held: Tables | None = None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Keep to the state that is the newest now."""
        outer = self._held
        self._held = self._state()
        try:
            yield
        finally:
            self._held = outer

    def read(self, kind: str, record_id: str) -> Record | None:
        """The record."""
        self._kinds.find(kind)
        check_value("id", record_id)
        found = self._state()[kind].records.get(record_id)
        return None if found is None else self._complete(found)

    def find(
        self,
        kind: str,
        conditions: Sequence[Condition] = (),
        *,
        order: Order = Order(),  # noqa: B008  (frozen)
        offset: int = 0,
        limit: int | None = None,
    ) -> Sequence[Record]:
        """Scan all records of the kind, then sort those that were found."""
        self._kinds.check_page(kind, order, offset, limit)
        found = sorted(
            self._select(kind, conditions),
            key=lambda record: (_rank(_read_key(record, order.key)), record.id),
            reverse=order.descending,
        )
        end = None if limit is None else offset + limit
        return [self._complete(record) for record in found[offset:end]]

    def count(self, kind: str, conditions: Sequence[Condition] = ()) -> int:
        """Scan all records of the kind."""
        return sum(1 for _ in self._select(kind, conditions))

    def _state(self) -> Tables:
        return self._newest() if self._held is None else self._held

    def _select(self, kind: str, conditions: Sequence[Condition]) -> Iterator[Record]:
        self._kinds.check_conditions(kind, conditions)
        for record in self._state()[kind].records.values():
            if all(_meets(_read_key(record, each.key), each) for each in conditions):
                yield record

    def _complete(self, record: Record) -> Record:
        """Return it with the keys that this store declares: they may have changed since."""
        keys = {name: record.keys.get(name) for name in self._kinds.find(record.kind).keys}
        return replace(record, keys=keys)


class MemoryControlTransaction(MemoryControlSession, ControlTransaction):
    """A state of its own, which is published when the write function succeeds."""

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Do nothing: there is no other writer, and its own writes are seen."""
        yield

    def __init__(self, kinds: DeclaredKinds, records: MemoryRecords, tables: Tables) -> None:
        super().__init__(kinds, lambda: self.tables)
        self._build_version = records.build_version
        self._stored_kinds = records.kinds
        self.tables = tables

    def insert(self, record: Record) -> Record:
        """Store a new record."""
        keys = self._kinds.build_keys(record)
        if record.id in self.tables[record.kind].records:
            raise build_taken(record)
        return self._put(replace(record, keys=keys), None)

    def update(self, record: Record) -> Record:
        """Replace a record of the same version."""
        keys = self._kinds.build_keys(record)
        stored = self.tables[record.kind].records.get(record.id)
        if stored is None or stored.version != record.version:
            raise build_changed(record.kind, record.id)
        return self._put(replace(record, keys={**stored.keys, **keys}), stored)

    def delete(self, kind: str, record_id: str, version: int | None = None) -> bool:
        """Delete a record."""
        self._kinds.find(kind)
        check_value("id", record_id)
        stored = self.tables[kind].records.get(record_id)
        if stored is None:
            return False
        if version is not None and stored.version != version:
            raise build_changed(kind, record_id)
        table = self._disown(stored)
        self._publish(kind, RecordTable(table.records.delete(record_id), table.owners))
        return True

    def _put(self, record: Record, stored: Record | None) -> Record:
        kind = self._stored_kinds[record.kind]
        table = self.tables[kind.name] if stored is None else self._disown(stored)
        owners = table.owners
        for shared in _list_shared(kind, record):
            if shared in owners:
                raise build_shared(record, shared[0])
            owners = owners.set(shared, record.id)
        written = replace(record, version=self._build_version())
        self._publish(kind.name, RecordTable(table.records.set(record.id, written), owners))
        return self._complete(written)

    def _disown(self, stored: Record) -> RecordTable:
        table = self.tables[stored.kind]
        owners = table.owners
        for shared in _list_shared(self._stored_kinds[stored.kind], stored):
            owners = owners.delete(shared)
        return RecordTable(table.records, owners)

    def _publish(self, kind: str, table: RecordTable) -> None:
        self.tables = {**self.tables, kind: table}


class MemoryControlStore(ControlStore):
    """A store over `MemoryRecords`, new ones unless given; the data live as long as they."""

    traits = StoreTraits(point_reads=Placement.INLINE, shared=False)

    def __init__(self, records: MemoryRecords | None = None) -> None:
        self._records = records or MemoryRecords()
        self._kinds = DeclaredKinds()

    def open(self, kinds: Sequence[RecordKind]) -> None:
        """Add the new kinds."""
        declared = DeclaredKinds(kinds)
        records = self._records
        with records.writer_lock:
            for kind in kinds:
                stored = records.kinds.get(kind.name)
                _check_gain(kind, stored)
                table = records.tables.get(kind.name, RecordTable())
                records.tables = {**records.tables, kind.name: _index(kind, table)}
                records.kinds[kind.name] = kind
        self._kinds = declared

    def close(self) -> None:
        """Do nothing; the records stay, and opening the store again finds them."""

    def session(self) -> ControlSession:
        """A session that sees the newest state at each call."""
        records = self._records
        return MemoryControlSession(self._kinds, lambda: records.tables)

    def write(self, functions: Sequence[ControlWriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the write functions one after the other, then publish the result."""
        records = self._records
        outcomes: list[Outcome[object]] = []
        with records.writer_lock:
            tables = records.tables
            for function in functions:
                transaction = MemoryControlTransaction(self._kinds, records, tables)
                try:
                    result = function(transaction)
                except Exception as error:  # noqa: BLE001  (the seam: each work gets its own error)
                    outcomes.append(Outcome(error=error))
                else:
                    outcomes.append(Outcome(result=result))
                    tables = transaction.tables
            records.tables = tables
        return outcomes

    def verify(self) -> Sequence[str]:
        """Compare the records and the owners of unique keys."""
        records = self._records
        return [
            f"the unique keys of {kind.name} do not agree with its records"
            for kind in records.kinds.values()
            if dict(_index(kind, records.tables[kind.name]).owners)
            != dict(records.tables[kind.name].owners)
        ]


def _read_key(record: Record, key: str) -> Key:
    match key:
        case "id":
            return record.id
        case "version":
            return record.version
        case _:
            return record.keys.get(key)


def _rank(value: Key) -> Rank:
    if value is None:
        return 0, 0, ""
    return (1, value, "") if isinstance(value, int) else (2, 0, value)


def _meets(value: Key, condition: Condition) -> bool:
    wanted = condition.value
    if isinstance(wanted, tuple):
        return value in wanted
    if condition.test is Comparison.EQUAL:
        return value == wanted
    if value is None or wanted is None:
        return False
    left, right = _rank(value), _rank(wanted)
    match condition.test:
        case Comparison.BELOW:
            return left < right
        case Comparison.AT_MOST:
            return left <= right
        case Comparison.ABOVE:
            return left > right
        case Comparison.AT_LEAST:
            return left >= right
        case Comparison.IN:  # its value is a tuple, which was handled above
            return False
        case _:
            assert_never(condition.test)


def _list_shared(kind: RecordKind, record: Record) -> Iterator[Shared]:
    for keys in kind.unique:
        values = tuple(record.keys.get(key) for key in keys)
        if None not in values:
            yield keys, values


def _index(kind: RecordKind, table: RecordTable) -> RecordTable:
    owners: FrozenMap[Shared, str] = FrozenMap()
    for record in table.records.values():
        for shared in _list_shared(kind, record):
            if shared in owners:
                raise ConfigurationError(
                    f"Records of {kind.name} share {', '.join(shared[0])}, which shall be unique."
                )
            owners = owners.set(shared, record.id)
    return RecordTable(table.records, owners)


def _check_gain(kind: RecordKind, stored: RecordKind | None) -> None:
    if stored is None:
        return
    lost = [key for key in stored.keys if key not in kind.keys]
    lost += [" + ".join(keys) for keys in stored.unique if keys not in kind.unique]
    if lost:
        raise ConfigurationError(
            f"The records of {kind.name} were stored with {', '.join(lost)}, which this release "
            "does not know. Install the newer release."
        )
