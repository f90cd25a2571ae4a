"""Group commit: runs many writes in one transaction with one sync, in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw

from twinframe.storage.base import Outcome
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.statements import StatementRunner

Outcomes = list[Outcome[object]]

X = TypeVar("X", bound=StatementRunner)


class _TransactionLost(Exception):
    """SQLite rolled back the whole transaction while a write ran (disk full, I/O error)."""


def commit_batch(transaction: X, functions: Sequence[Callable[[X], object]]) -> Outcomes:
    """Run each write in a savepoint and commit once; the caller holds the writer lock.

    When SQLite rolls back the whole transaction, each write is tried again alone, so that one
    failing write does not fail the others.
    """
    try:
        return _commit(transaction, functions)
    except _TransactionLost:
        return [
            outcome for function in functions for outcome in commit_batch(transaction, [function])
        ]
    except EngineError as error:
        return [Outcome(error=_translate(transaction, error))] * len(functions)
    finally:
        _roll_back(transaction)


def _commit(transaction: X, functions: Sequence[Callable[[X], object]]) -> Outcomes:
    connection = transaction.connection
    connection.execute("BEGIN IMMEDIATE")
    outcomes = [_run(transaction, function, alone=len(functions) == 1) for function in functions]
    if connection.in_transaction:
        connection.execute("COMMIT")
    return outcomes


def _run(transaction: X, function: Callable[[X], object], *, alone: bool) -> Outcome[object]:
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
