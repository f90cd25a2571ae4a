"""Group commit: runs many writes in one transaction of the server, in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from twinframe.errors import TwinframeError
from twinframe.storage.base import Outcome, WriteFunction
from twinframe_storage_postgres.transaction import PostgresTransaction

Outcomes: TypeAlias = list[Outcome[object]]


class TransactionFailed(Exception):
    """A statement failed, after which the server takes back the whole transaction."""


class _GuardNeeded(Exception):
    """A write failed after the server had got changes of it."""


def run_batch(
    build: Callable[[], PostgresTransaction], functions: Sequence[WriteFunction[object]]
) -> tuple[PostgresTransaction, Outcomes]:
    """Run the first writes, at least one, in a transaction, which the caller commits.

    What put much is committed before others put more, so that the lock is not held long. A write
    that fails changes nothing. Nearly all fail while their changes are in the draft: the batch runs
    without savepoints, and again with them when one fails later. Raises
    `TransactionFailed`, whose cause is the error.
    """
    try:
        return _run(build(), functions, _run_one)
    except _GuardNeeded:
        return _run(build(), functions, _run_guarded)


def _run(
    transaction: PostgresTransaction,
    functions: Sequence[WriteFunction[object]],
    run: Callable[[PostgresTransaction, WriteFunction[object]], Outcome[object]],
) -> tuple[PostgresTransaction, Outcomes]:
    outcomes: Outcomes = []
    try:
        if len(functions) > 1:
            transaction.read_ahead(functions)
        for function in functions:
            outcomes.append(run(transaction, function))
            if transaction.is_large:
                break
    except BaseException as error:
        transaction.close()
        if isinstance(error, TwinframeError):
            _check(transaction)
        raise
    return transaction, outcomes


def _run_one(transaction: PostgresTransaction, function: WriteFunction[object]) -> Outcome[object]:
    mark, sent = transaction.mark(), transaction.sent
    try:
        outcome: Outcome[object] = Outcome(function(transaction))
    except Exception as error:  # the job runner: a write may fail in any way
        _check(transaction)
        if transaction.sent != sent:
            raise _GuardNeeded from error
        transaction.undo(mark)
        return Outcome(error=error)
    _check(transaction)
    return outcome


def _run_guarded(
    transaction: PostgresTransaction, function: WriteFunction[object]
) -> Outcome[object]:
    try:
        with transaction.guarded():
            result = function(transaction)
            _check(transaction)
    except Exception as error:  # noqa: BLE001  (the job runner: a write may fail in any way)
        _check(transaction)
        return Outcome(error=error)
    return Outcome(result)


def _check(transaction: PostgresTransaction) -> None:
    """Raise `TransactionFailed` if a statement failed, also where a write handled its error."""
    if transaction.failure is not None:
        raise TransactionFailed from transaction.failure
