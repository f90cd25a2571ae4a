"""Group commit: runs many writes in one transaction with one sync, in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import apsw

from twinframe.errors import TwinframeError
from twinframe.storage.base import Outcome
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.statements import StatementRunner

Outcomes = list[Outcome[object]]

X = TypeVar("X", bound=StatementRunner)
_Run: TypeAlias = Callable[[X, Callable[[X], object], bool], Outcome[object]]


class _TransactionLost(Exception):
    """SQLite rolled back the whole transaction while a write ran (disk full, I/O error)."""


class _SavepointNeeded(Exception):
    """A write failed after it had changed rows, or in a way that does not tell whether it had."""


def commit_batch(transaction: X, functions: Sequence[Callable[[X], object]]) -> Outcomes:
    """Run each write and commit once; the caller holds the writer lock.

    A write that fails changes nothing. Nearly all fail before their first change: the batch runs
    without savepoints, and again with them when a write fails after one. When SQLite rolls back the
    whole transaction, each write is tried again alone, so that one failing write does not fail the
    others. PERF: a savepoint and its release take 3 us of a write's 45.
    """
    try:
        return _commit(transaction, functions, _run)
    except _SavepointNeeded:
        _roll_back(transaction)
        return _commit_guarded(transaction, functions)
    except _TransactionLost:
        return _commit_each(transaction, functions)
    except EngineError as error:
        return [Outcome(error=_translate(transaction, error))] * len(functions)
    finally:
        _roll_back(transaction)


def _commit_guarded(transaction: X, functions: Sequence[Callable[[X], object]]) -> Outcomes:
    try:
        return _commit(transaction, functions, _run_guarded)
    except _TransactionLost:
        return _commit_each(transaction, functions)
    except EngineError as error:
        return [Outcome(error=_translate(transaction, error))] * len(functions)


def _commit_each(transaction: X, functions: Sequence[Callable[[X], object]]) -> Outcomes:
    return [outcome for function in functions for outcome in commit_batch(transaction, [function])]


def _commit(transaction: X, functions: Sequence[Callable[[X], object]], run: _Run[X]) -> Outcomes:
    connection = transaction.connection
    connection.execute("BEGIN IMMEDIATE")
    alone = len(functions) == 1
    outcomes = [run(transaction, function, alone) for function in functions]
    if connection.in_transaction:
        connection.execute("COMMIT")
    return outcomes


def _run(transaction: X, function: Callable[[X], object], alone: bool) -> Outcome[object]:
    connection = transaction.connection
    changes = connection.total_changes()
    try:
        return Outcome(function(transaction))
    except Exception as error:  # the job runner: a write may fail in any way
        if not connection.in_transaction:
            if not alone:
                raise _TransactionLost from error
        elif alone:
            connection.execute("ROLLBACK")
        elif connection.total_changes() != changes or not isinstance(error, TwinframeError):
            raise _SavepointNeeded from error
        return Outcome(error=_translate(transaction, error))


def _run_guarded(transaction: X, function: Callable[[X], object], alone: bool) -> Outcome[object]:
    connection = transaction.connection
    connection.execute("SAVEPOINT work")
    try:
        result = function(transaction)
    except Exception as error:  # the job runner: a write may fail in any way
        if connection.in_transaction:
            connection.execute("ROLLBACK TO work")
            connection.execute("RELEASE work")
        elif not alone:
            raise _TransactionLost from error
        return Outcome(error=_translate(transaction, error))
    connection.execute("RELEASE work")
    return Outcome(result)


def _translate(transaction: StatementRunner, error: BaseException) -> BaseException:
    if isinstance(error, apsw.Error):
        translated = build_error(error, transaction.connection.filename)
        translated.__cause__ = error
        return translated
    return error


def _roll_back(transaction: StatementRunner) -> None:
    if transaction.connection.in_transaction:
        transaction.connection.execute("ROLLBACK")
