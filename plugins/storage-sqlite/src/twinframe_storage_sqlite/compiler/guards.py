"""Traps in the SQL of SQLite, and the errors that they become."""

from __future__ import annotations

from twinframe.errors import LimitExceeded
from twinframe.query.engine import CannotRun
from twinframe.query.sql import LIMIT_MARK, RETREAT_MARK, TRAP_MARK, read_trap, render_text

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
    return f"json_extract('{{}}', {render_text(TRAP_MARK + reason)})"


def render_retreat(reason: str) -> str:
    """Render a trap for something that SQLite would compute correctly but too slowly.

    Skipping it hides no error.
    """
    return f"json_extract('{{}}', {render_text(RETREAT_MARK + reason)})"


def render_limit(message: str) -> str:
    """Render an SQL expression that fails with `LimitExceeded` when it is evaluated."""
    return f"json_extract('{{}}', {render_text(LIMIT_MARK + message)})"


def find_trap(error: BaseException) -> CannotRun | LimitExceeded | None:
    """Return the error of a trap that `error` (or its cause) carries; None if it is another
    failure.
    """
    seen: BaseException | None = error
    while seen is not None:
        text = str(seen)
        trap = read_trap(text.rstrip("'"))
        if trap is not None:
            return trap
        if any(limit in text for limit in _LIMITS):
            return CannotRun(f"A limit of SQLite: {text}.")
        if text.endswith("integer overflow"):
            return CannotRun("A sum of integers does not fit into 64 bits.")
        seen = seen.__cause__
    return None
