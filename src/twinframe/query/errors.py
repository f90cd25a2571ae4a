"""Builds the errors of query texts: kind, detail, line, column and an excerpt with a caret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.errors import QueryInvalid

if TYPE_CHECKING:
    from twinframe.query.spans import Span

_EXCERPT_WIDTH = 100


class Source:
    """A query text that can locate errors in itself.

    This is the form of Cypher's errors; a language with another form derives from it.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def error(
        self,
        span: Span | None,
        detail: str,
        message: str,
        *,
        kind: str = "SyntaxError",
    ) -> QueryInvalid:
        """Build the error for the span `span` (None: no position).

        `kind` and `detail` are those of the openCypher Technology Compatibility Kit.
        """
        if span is None:
            return QueryInvalid(f"{kind}: {detail}: {message}", kind=kind, detail=detail)
        line, column, excerpt = self._find(span.start)
        return QueryInvalid(
            self._message(kind, detail, line, column, message, excerpt),
            kind=kind,
            detail=detail,
            line=line,
            column=column,
            excerpt=excerpt,
        )

    def locate(self, error: QueryInvalid) -> QueryInvalid:
        """Add kind and, if known, position in the text to an error of a run."""
        if error.phase != "runtime":
            return error
        kind, detail = error.kind, error.detail
        if error.offset is None:
            message = self._runtime_message(kind, detail, 0, 0, error.message, "")
            return QueryInvalid(message, kind=kind, detail=detail, phase=error.phase)
        line, column, excerpt = self._find(error.offset)
        return QueryInvalid(
            self._runtime_message(kind, detail, line, column, error.message, excerpt),
            kind=kind,
            detail=detail,
            phase=error.phase,
            line=line,
            column=column,
            excerpt=excerpt,
        )

    def _find(self, offset: int) -> tuple[int, int, str]:
        return *find_position(self.text, offset), build_excerpt(self.text, offset)

    def _message(
        self, kind: str, detail: str, line: int, column: int, message: str, excerpt: str
    ) -> str:
        return f"{kind}: {detail} at line {line}, column {column}: {message}\n{excerpt}"

    def _runtime_message(
        self, kind: str, detail: str, line: int, column: int, message: str, excerpt: str
    ) -> str:
        if not line:
            return f"{kind}: {detail}: {message}"
        return self._message(kind, detail, line, column, message, excerpt)


def find_position(text: str, offset: int) -> tuple[int, int]:
    """Line and column, both counted from 1, of a character offset."""
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1


def build_excerpt(text: str, offset: int) -> str:
    """The line of `offset`, cut to a readable width, and a caret below the place."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    whole = end - start <= _EXCERPT_WIDTH
    left = start if whole else max(start, offset - _EXCERPT_WIDTH // 2)
    right = min(end, left + _EXCERPT_WIDTH)
    prefix = "..." if left > start else ""
    suffix = "..." if right < end else ""
    # NOTE: one blank for each control character keeps the caret in its column.
    shown = "".join(char if char.isprintable() else " " for char in text[left:right])
    return f"{prefix}{shown}{suffix}\n{' ' * (len(prefix) + offset - left)}^"
