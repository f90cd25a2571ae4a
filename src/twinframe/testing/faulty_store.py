"""A store that wraps another and fails on purpose, for tests of the layers above a store."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from twinframe.errors import StorageBusy, StorageError
from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    GraphTransaction,
    Outcome,
    WriteFunction,
)


class FaultKind(enum.Enum):
    """The fault of one call of `write`."""

    REFUSE = "nothing is done"
    ROLL_BACK = "the works run, then the commit fails"
    LOSE_REPLY = "everything is committed, and an error reported all the same"
    RUN_TWICE = "the works run, are rolled back, and run again"


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure; `error` is that of every outcome of the call (not for RUN_TWICE)."""

    kind: FaultKind
    error: StorageError | None = None


class _RolledBackError(Exception):
    """Rolls back the changes of a write function."""


class FaultyStore(GraphStore):
    """Delegates to `store`, except the calls of `write` in `faults`, counted from 1."""

    def __init__(self, store: GraphStore, faults: Mapping[int, Fault]) -> None:
        self.traits = store.traits
        self._store = store
        self._faults = dict(faults)
        self.writes = 0

    def open(self) -> None:
        """Open the store inside."""
        self._store.open()

    def close(self) -> None:
        """Close the store inside."""
        self._store.close()

    def session(self) -> GraphSession:
        """A session of the store inside."""
        return self._store.session()

    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Write, or fail as planned for this call."""
        self.writes += 1
        fault = self._faults.get(self.writes)
        if fault is None:
            return self._store.write(functions)
        error = fault.error or StorageBusy("The store was told to fail.")
        match fault.kind:
            case FaultKind.REFUSE:
                pass
            case FaultKind.ROLL_BACK:
                self._run_and_undo(functions)
            case FaultKind.LOSE_REPLY:
                self._store.write(functions)
            case FaultKind.RUN_TWICE:
                self._run_and_undo(functions)
                return self._store.write(functions)
        return [Outcome(error=error) for _ in functions]

    def verify(self) -> Sequence[str]:
        """Verify the store inside."""
        return self._store.verify()

    def remove(self, timeout: float) -> None:
        """Remove the graph of the store inside."""
        self._store.remove(timeout)

    def _run_and_undo(self, functions: Sequence[WriteFunction[object]]) -> None:
        self._store.write(
            [cast("WriteFunction[object]", _undoing(function)) for function in functions]
        )


def _undoing(function: WriteFunction[object]) -> WriteFunction[None]:
    def run(transaction: GraphTransaction) -> None:
        function(transaction)
        raise _RolledBackError

    return run
