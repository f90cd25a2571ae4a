"""Traps in compiled SQL, which stop a statement at a value that SQL would treat differently.

A trap reaches the caller as `CannotRun`, or as `LimitExceeded` where the query exceeded a limit; it
never yields a value.
"""

from __future__ import annotations

from twinframe.errors import LimitExceeded
from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.json_paths import render_text

_MARK = "twinframe cannot run: "
_RETREAT_MARK = "twinframe leaves to others: "
_LIMIT_MARK = "twinframe limit: "
_LIMITS = (
    "Expression tree is too large",
    "tables in a join",
    "too many",
    "nested too deep",
    "parser stack overflow",
)
"""Parts of the messages by which SQLite refuses to prepare a statement for its size."""


def render_trap(reason: str) -> str:
    """Render an SQL expression that fails with `reason` when it is evaluated.

    NOTE: SQLite names a malformed path in its error, evaluates CASE branches lazily and does not
    hoist a function call out of its branch; so the trap needs no function of the connection.
    """
    return f"json_extract('{{}}', {render_text(_MARK + reason)})"


def render_retreat(reason: str) -> str:
    """Render a trap for something that SQLite would compute correctly but too slowly.

    Skipping it hides no error.
    """
    return f"json_extract('{{}}', {render_text(_RETREAT_MARK + reason)})"


def has_trap(sql: str) -> bool:
    """Return whether the SQL contains a trap, so that skipping it would hide an error."""
    return _MARK in sql


def render_limit(message: str) -> str:
    """Render an SQL expression that fails with `LimitExceeded` when it is evaluated."""
    return f"json_extract('{{}}', {render_text(_LIMIT_MARK + message)})"


def find_trap(error: BaseException) -> CannotRun | LimitExceeded | None:
    """Return the error of a trap that `error` (or its cause) carries; None if it is another
    failure.
    """
    seen: BaseException | None = error
    while seen is not None:
        text = str(seen)
        if _LIMIT_MARK in text:
            return LimitExceeded(text.partition(_LIMIT_MARK)[2].rstrip("'"))
        for mark in (_MARK, _RETREAT_MARK):
            if mark in text:
                return CannotRun(text.partition(mark)[2].rstrip("'"))
        if any(limit in text for limit in _LIMITS):
            return CannotRun(f"A limit of SQLite: {text}.")
        if text.endswith("integer overflow"):
            return CannotRun("A sum of integers does not fit into 64 bits.")
        seen = seen.__cause__
    return None
