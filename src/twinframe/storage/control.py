"""The interface of control stores: records of the control plane, found by declared keys.

`twinframe.control` defines the kinds of record and their rules. Promise of a write: as in
`storage.base`.
"""

from __future__ import annotations

import enum
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

from twinframe.errors import Conflict
from twinframe.storage.base import Outcome, StoreTraits

T = TypeVar("T")

Key: TypeAlias = str | int | None
"""A value by which records are found and ordered. Integers have 64 bits.

The order: None, then integers, then texts by their code points.
"""

MOST_VALUES: Final = 10_000
"""The most values of one `IN`."""


class RecordConflict(Conflict):
    """A record was changed by another process meanwhile, or one with the same unique keys exists.

    `kind` and `record_id` name the record that could not be written.
    """

    code = "RecordConflict"

    def __init__(self, message: str, *, kind: str, record_id: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.record_id = record_id


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of record. `keys` are those by which its records are found and ordered.

    Each record also has the keys `id` and `version`, which are not declared. Names are of `a-z`,
    `0-9` and `_`, a letter first.

    `unique` are sets of keys that no two records of the kind share; a record with None in one of
    them is not compared. The store gets all kinds when it is opened; a kind may gain keys in a
    later version (its records then have None there until they are written) and unique sets (if its
    records satisfy them), never lose any.

    `indexes` names keys that are often fixed together, and last the one that then orders: a driver
    may make such a listing cost no more than its page. Every single key is fast to search by.
    """

    name: str
    keys: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """One record: `body` is its JSON text, `keys` the values of the kind's keys.

    `version` is 0 in a record to be inserted; the store gives a stored one a number that is greater
    than all before, of any record, so that versions order all changes.
    """

    kind: str
    id: str
    body: bytes
    keys: Mapping[str, Key] = field(default_factory=dict)
    version: int = 0


class Comparison(enum.Enum):
    """How a key is compared. None equals None, and is neither below nor above anything.

    Integers are below texts.
    """

    EQUAL = "="
    IN = "in"
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a key; `value` is a tuple for `IN` (of at most 10,000), else a key's value."""

    key: str
    test: Comparison
    value: Key | tuple[Key, ...]


def equal(key: str, value: Key) -> Condition:
    """Build the condition that the key has this value."""
    return Condition(key, Comparison.EQUAL, value)


def one_of(key: str, *values: Key) -> Condition:
    """Build the condition that the key has one of these values."""
    return Condition(key, Comparison.IN, values)


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a listing by one key; equal records are ordered by id.

    `descending` reverses the whole order, including that of the ids.
    """

    key: str = "id"
    descending: bool = False


class ControlSession(ABC):
    """A view of the records for one thread. Each call sees all writes acknowledged before it."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Show one state of the records to all reads inside, acknowledged before it began or newer.

        In a transaction its own writes are seen all the same.
        """

    @abstractmethod
    def read(self, kind: str, record_id: str) -> Record | None:
        """The record, or None."""

    @abstractmethod
    def find(
        self,
        kind: str,
        conditions: Sequence[Condition] = (),
        *,
        order: Order = Order(),
        offset: int = 0,
        limit: int | None = None,
    ) -> Sequence[Record]:
        """Return records that meet all the conditions.

        Raises `ValueError` for an undeclared key.
        """

    @abstractmethod
    def count(self, kind: str, conditions: Sequence[Condition] = ()) -> int:
        """How many records meet all the conditions."""

    def close(self) -> None:  # noqa: B027  (most hold nothing)
        """Release the resources of the session."""


class ControlTransaction(ControlSession):
    """The write view that a `ControlWriteFunction` gets. All its changes are kept, or none."""

    @abstractmethod
    def insert(self, record: Record) -> Record:
        """Store a new record; return it as stored, with its version.

        Raises `RecordConflict` if its id or a set of its unique keys is taken.
        """

    @abstractmethod
    def update(self, record: Record) -> Record:
        """Replace the record of this kind and id if its version is still `record.version`.

        Raises `RecordConflict` if it has changed or is gone, or unique keys are taken.
        """

    @abstractmethod
    def delete(self, kind: str, record_id: str, version: int | None = None) -> bool:
        """Delete a record; return whether it existed. With another `version`: `RecordConflict`."""

    def wake(self, topic: str) -> None:
        """Wake those who wait for this topic, in all processes, when the write is committed.

        A store that cannot does nothing: they wait for their time.
        """


ControlWriteFunction = Callable[[ControlTransaction], T]
"""A unit of writing. It may run more than once; it has no effect except through its argument."""


class ControlStore(ABC):
    """The records of one control plane, shared by all processes that open it. Calls may block.

    A value that no store can keep (an integer beyond 64 bits, a text with a lone surrogate) is
    refused with `InvalidArgument`; use of undeclared kinds and keys is a `ValueError`.
    """

    traits: StoreTraits

    @abstractmethod
    def open(self, kinds: Sequence[RecordKind]) -> None:
        """Open or create, migrate, add these kinds. Call in the process that uses it.

        Raises `ConfigurationError` when the stored records do not fit: a key or unique set that was
        declared once is missing now, or stored records share what must be unique.
        """

    @abstractmethod
    def close(self) -> None:
        """Finish and release everything. No session may be in use."""

    @abstractmethod
    def session(self) -> ControlSession:
        """A session for the calling thread; close it in the same thread."""

    @abstractmethod
    def write(self, functions: Sequence[ControlWriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run write functions atomically, commit what succeeded, as `GraphStore.write`.

        Write functions of all processes run one after another: what one reads stays true until it
        ends.
        """

    def wait_for_wake(self, topic: str, timeout: float) -> None:
        """Return when a write or `wake` has woken this topic, at the latest after these seconds.

        It may return sooner. One thread waits for a topic at a time. A store that hears nothing of
        other processes waits for the whole time, or for its own `wake`.
        """
        woken = self.find_woken(topic)
        woken.wait(timeout)
        woken.clear()

    def wake(self, topic: str) -> None:
        """Wake those who wait for this topic in this process; in all, where the store can."""
        self.find_woken(topic).set()

    def find_woken(self, topic: str) -> threading.Event:
        """Return what is set when this topic was woken, for drivers."""
        return self._woken.setdefault(topic, threading.Event())

    @cached_property
    def _woken(self) -> dict[str, threading.Event]:
        return {}

    @abstractmethod
    def verify(self) -> Sequence[str]:
        """Check the stored data in depth; return the faults, empty when sound."""
