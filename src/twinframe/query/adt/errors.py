"""Errors of the vendor's query language, in the format of the vendor's service."""

from __future__ import annotations

from twinframe.query.errors import Source


class AdtSource(Source):
    """A query text of the vendor's language.

    SPEC: the service answers `SQL query parse failed: SQL Parser Error, Line=L, Position=P,
    Message=...`, lines counted from 1 and positions from 0.
    """

    __slots__ = ()

    def _message(
        self, kind: str, detail: str, line: int, column: int, message: str, excerpt: str
    ) -> str:
        return (
            f"SQL query parse failed: SQL Parser Error, Line={line}, Position={column - 1}, "
            f"Message={message}"
        )

    def _runtime_message(
        self, kind: str, detail: str, line: int, column: int, message: str, excerpt: str
    ) -> str:
        place = f"Line={line}, Position={column - 1}, " if line else ""
        return f"SQL query failed: {kind}: {detail}, {place}Message={message}"
