"""The faults that must-fail twins have in them: what to patch of which module. None is of use.

Each is a bug that a careful hand could make. A patch that no longer finds its place fails loudly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Patch = tuple[str, Callable[[Any], None]]


def acknowledge_before_commit(module: Any) -> None:
    """Works are tried, rolled back and acknowledged; they are written some 100 ms later."""
    writer, commit_works = module.FileWriter, module.commit_works
    outcome = module.Outcome

    def write(self: Any, works: Any) -> Any:
        late = self.__dict__.setdefault("late", [])
        with self._writing:
            transaction = self._transaction or self._open_connection()
            with self._turn.hold(5.0):
                if late and time.monotonic() - late[0][0] > 0.1:
                    commit_works(transaction, [work for _, found in late for work in found])
                    late.clear()
                connection = transaction.connection
                connection.execute("BEGIN IMMEDIATE")
                try:
                    outcomes = [_try(connection, transaction, work, outcome) for work in works]
                finally:
                    connection.execute("ROLLBACK")
            late.append((time.monotonic(), works))
        return outcomes

    writer.write = write


def _try(connection: Any, transaction: Any, work: Any, outcome: Any) -> Any:
    connection.execute("SAVEPOINT try")
    try:
        return outcome(work(transaction))
    except Exception as error:  # noqa: BLE001  (as the writer does)
        connection.execute("ROLLBACK TO try")
        return outcome(error=error)


def never_sync(module: Any) -> None:
    """Nothing is ever forced to the disk."""
    inner = module._set_pragmas

    def set_pragmas(connection: Any, settings: Any) -> None:
        inner(connection, settings)
        connection.execute("PRAGMA synchronous = OFF").fetchall()

    module._set_pragmas = set_pragmas


def ignore_etags(module: Any) -> None:
    """Every If-Match fits."""
    module.IfMatch.check = lambda self, etag: None


def use_stock_protocol(module: Any) -> None:
    """uvicorn's protocol as it comes."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    module.build_protocol = lambda settings: HttpToolsProtocol


FAULTS: dict[str, tuple[Patch, ...]] = {
    "acknowledge-before-commit": (
        ("twinframe_storage_sqlite.writing", acknowledge_before_commit),
    ),
    "ignore-etags": (("twinframe.model.etags", ignore_etags),),
    "stock-protocol": (("twinframe.web.worker", use_stock_protocol),),
    "never-sync": (("twinframe_storage_sqlite.connection", never_sync),),
}
