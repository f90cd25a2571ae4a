"""Marks of traps: expressions that stop a statement at a value that SQL would treat differently.

A dialect writes the trap, whose error has a mark in its message. A trap reaches the caller as
`CannotRun`, or as `LimitExceeded` where the query exceeded a limit; it never yields a value.
"""

from __future__ import annotations

from typing import Final

from twinframe.errors import LimitExceeded
from twinframe.query.engine import CannotRun

TRAP_MARK: Final = "twinframe cannot run: "
RETREAT_MARK: Final = "twinframe leaves to others: "
"""The mark of what SQL would compute correctly but too slowly: skipping it hides no error."""
LIMIT_MARK: Final = "twinframe limit: "


def has_trap(sql: str) -> bool:
    """Return whether the SQL contains a trap, so that skipping it would hide an error."""
    return TRAP_MARK in sql


def read_trap(message: str) -> CannotRun | LimitExceeded | None:
    """Return the error of the trap whose mark the message of an engine has, if it has one."""
    if LIMIT_MARK in message:
        return LimitExceeded(message.partition(LIMIT_MARK)[2])
    for mark in (TRAP_MARK, RETREAT_MARK):
        if mark in message:
            return CannotRun(message.partition(mark)[2])
    return None
