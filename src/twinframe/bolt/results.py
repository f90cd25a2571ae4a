"""Results on their way to a client: rows as messages, a piece at a time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from twinframe.bolt.framing import build_chunks
from twinframe.bolt.packstream import Structure, unpack
from twinframe.bolt.plans import SummaryPlan, build_query_plan, build_statement_plan
from twinframe.bolt.requests import Answer
from twinframe.bolt.values import pack_value
from twinframe.graph.queries.names import QueryWarning
from twinframe.graph.queries.queries import QueryPage
from twinframe.graph.statements.statements import StatementResult
from twinframe.query.evaluate.run import Row
from twinframe.query.writing.surroundings import Counters

_ESCAPE: Final = b"\x1b"
_PIECE_BYTES: Final = 64 * 1024


def build_record(row: Row) -> bytes:
    """Return the message of a row. Raises `Unsupported`."""
    buffer = bytearray((0xB1, Answer.RECORD))
    pack_value(buffer, list(row))
    return bytes(buffer)


def build_records(found: StatementResult) -> list[bytes]:
    """Return the messages of the rows of a statement. Raises `Unsupported`."""
    return [build_record(row) for row in found.rows] if found.columns else []


class RecordForm:
    """Rows as messages without line breaks, as stored results need them."""

    page_bytes = 512 * 1024

    def render_rows(self, rows: Iterator[Row]) -> Iterator[bytes]:
        """Yield the message of each row, escaped."""
        for row in rows:
            yield _escape(build_record(row))


RECORDS: Final = RecordForm()


def _escape(message: bytes) -> bytes:
    # PERF: two passes in C, and a message without either byte is not copied.
    return message.replace(_ESCAPE, b"\x1be").replace(b"\n", b"\x1bn")


def _unescape(message: bytes) -> bytes:
    if _ESCAPE not in message:
        return message
    return message.replace(b"\x1bn", b"\n").replace(b"\x1be", _ESCAPE)


class Result:
    """The rows of one statement that the client has not taken yet."""

    def __init__(
        self,
        columns: Sequence[str],
        charge: float,
        messages: Iterator[bytes],
        *,
        token: str | None = None,
        read: Callable[[str], Awaitable[QueryPage]] | None = None,
        warnings: Sequence[QueryWarning] = (),
        counters: Counters | None = None,
        writes: bool = False,
    ) -> None:
        """`read` returns the page of the `token`. `counters` are None for a query.

        `text` is that of the statement, and `available_at` when its first rows were there, in
        seconds of `time.perf_counter`. Both are for the summary.
        """
        self.columns = columns
        self.charge = charge
        self.warnings = warnings
        self.counters = counters
        self.writes = writes
        self.has_rows = False
        self.bookmark = ""
        self.text = ""
        self.available_at = time.perf_counter()
        self.plan: SummaryPlan | None = None
        self._messages = messages
        self._token = token
        self._read = read
        self._next = next(messages, None)

    @classmethod
    def of_page(cls, page: QueryPage, read: Callable[[str], Awaitable[QueryPage]]) -> Result:
        """Return the result of a query; `read` reads its further pages."""
        rows = map(_unescape, page.rows)
        token, warnings = page.continuation_token, page.warnings
        return cls(page.columns, page.charge, rows, token=token, read=read, warnings=warnings)

    @classmethod
    def of_statement(
        cls, found: StatementResult, messages: Iterable[bytes], *, writes: bool
    ) -> Result:
        """Return the result of a statement, with the messages of all its rows."""
        rows = iter(messages)
        return cls(found.columns, found.charge, rows, counters=found.counters, writes=writes)

    @classmethod
    def of_explained(cls, found: StatementResult) -> Result:
        """Return the result of EXPLAIN of a statement."""
        result = cls.of_statement(found, build_records(found), writes=False)
        result.plan = build_statement_plan(found.rows)
        return result

    def note_plan(self, member: str) -> None:
        """Take the plan of a query from its row, for its summary."""
        message = unpack(self._next) if self._next is not None else None
        if isinstance(message, Structure):
            self.plan = build_query_plan(member, self.columns, message.fields[0])

    @property
    def has_more(self) -> bool:
        """Whether rows are left, or may be."""
        return self._next is not None or self._token is not None

    @property
    def has_to_wait(self) -> bool:
        """Whether the next rows are to be read first."""
        return self._next is None and self._token is not None

    async def take(self, most: int) -> tuple[int, bytes]:
        """Return how many of the next rows these are, and the rows as they are sent.

        They are at most `most`, and about 64 KiB. Errors: those of the query.
        """
        while self.has_to_wait and self._token is not None and self._read is not None:
            page = await self._read(self._token)
            self._token = page.continuation_token
            self._messages = map(_unescape, page.rows)
            self._next = next(self._messages, None)
        parts: list[bytes] = []
        size = 0
        while self._next is not None and len(parts) < most and size < _PIECE_BYTES:
            part = build_chunks(self._next)
            parts.append(part)
            size += len(part)
            self._next = next(self._messages, None)
        self.has_rows = self.has_rows or bool(parts)
        return len(parts), b"".join(parts)

    async def skip(self, most: int) -> None:
        """Leave out the next rows."""
        while most > 0 and self.has_more:
            count, _ = await self.take(most)
            most -= count

    def close(self) -> None:
        """Leave out all rows."""
        self.has_rows = self.has_rows or self._next is not None
        self._messages, self._next, self._token = islice(self._messages, 0), None, None
