"""Maps SQLite errors to errors of the service."""

from __future__ import annotations

import apsw

from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    MemoryExhausted,
    QueryTimeout,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    TwinframeError,
)

EngineError = (apsw.Error, UnicodeEncodeError, OverflowError, MemoryError)
"""What APSW raises for statements and their bindings."""


def build_error(error: BaseException, file: str) -> TwinframeError:
    """Build the service's error for an `EngineError` in the database `file`."""
    match error:
        case apsw.InterruptError():
            return QueryTimeout(
                "The query passed its deadline and was stopped. Make it narrower, or raise "
                "Query__Timeout."
            )
        case apsw.FullError():
            return StorageFull(f"No space is left for {file}; nothing was changed, reads go on.")
        case apsw.BusyError() | apsw.LockedError():
            return StorageBusy(f"{file} is in use and did not come free in time; try again.")
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA:
            return build_damaged(file, "a page fails its checksum")
        case apsw.NotADBError():
            return build_damaged(file, "file is not a database")  # a copy has no message
        case apsw.CorruptError():
            return build_damaged(file, str(error))
        case apsw.NoMemError() | MemoryError():
            return _build_memory_error()
        case apsw.TooBigError():
            return LimitExceeded(
                "A value is larger than the store accepts (Storage__Sqlite__MaxDocumentBytes)."
            )
        case UnicodeEncodeError():
            return InvalidArgument("A text holds a lone surrogate, which is no Unicode character.")
        case OverflowError():
            return InvalidArgument("An integer lies outside of the 64-bit range.")
        case _:
            return StorageError(f"SQLite failed on {file}: {type(error).__name__}: {error}")


def _build_memory_error() -> TwinframeError:
    """Build the error of a statement at the memory limit; `LimitExceeded` if alone too large.

    NOTE: its memory is free again when its error arrives. Page caches end at a third of the limit,
    so half of it is free unless other statements use the rest.
    """
    limit = apsw.hard_heap_limit(-1)
    if limit and apsw.memory_used() <= limit // 2:
        return LimitExceeded(
            f"The statement alone takes more memory than SQLite may have: {limit} bytes, three "
            "times Storage__Sqlite__MemoryBytes. Ask for fewer or smaller values at once."
        )
    return MemoryExhausted("queries", "Storage__Sqlite__MemoryBytes")


def build_damaged(file: str, reason: str) -> StorageDamaged:
    """Build the error with its one-line reason and the operator's remedy."""
    return StorageDamaged(
        f"The storage {file} is damaged: {' '.join(reason.split())}. "
        "Verify it and restore a backup; it is never repaired by itself."
    )
