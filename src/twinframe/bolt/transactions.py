"""Explicit transactions: conversations with a thread that holds a session of the store.

A transaction reads one snapshot. At its first statement that writes it becomes a write function,
if no other has changed the graph since: all that it has read still holds then. Otherwise it ends
with an error that drivers answer by running it again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import cast

from twinframe.bolt.graphs import Database
from twinframe.bolt.results import RECORDS, Result, build_records
from twinframe.errors import TransactionOutdated
from twinframe.graph.context.context import GraphContext
from twinframe.graph.statements.conversations import LEAST_WAIT, Conversation
from twinframe.graph.statements.statements import Prepared, StatementResult
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction


class Transaction:
    """A transaction of a client, over a graph in use. Use it from one task."""

    def __init__(self, database: Database, deadline: float, write_seconds: float) -> None:
        """It may be open until `deadline` of `time.monotonic`, and keep other writers waiting for
        `write_seconds`.
        """
        self.database = database
        self._deadline = deadline
        self._write_seconds = write_seconds
        self._reading: Conversation[GraphSession] | None = None
        self._writing: Conversation[GraphTransaction] | None = None
        self._context: GraphContext | None = None

    @property
    def writes(self) -> bool:
        """Whether it has become a write function: `run_statement` runs all texts then."""
        return self._writing is not None

    async def run_query(
        self, text: str, parameters: Mapping[str, JsonValue], page_size: int
    ) -> Result:
        """Run a query in the snapshot."""
        queries = self.database.graph.queries
        asked = text, parameters, page_size, RECORDS, self._deadline
        with queries.note_in(text) as (watch, note):
            step = await queries.prepare_in(*asked, watch)
            page = await (await self._open_reading()).run(step)
            note(len(page.rows), page.charge)
        return Result.of_page(page, partial(queries.run, None, None, form=RECORDS))

    async def run_statement(self, prepared: Prepared) -> Result:
        """Run a statement, in the write function if it writes."""
        statements = self.database.graph.statements
        if prepared.prefix:
            found = await statements.run(prepared)
            return Result.of_explained(found)
        if not prepared.writes and self._writing is None:

            def read(session: GraphSession, _: object) -> tuple[StatementResult, list[bytes]]:
                found = statements.read(prepared, session)
                return found, build_records(found)

            with statements.note_run(prepared) as note:
                found, messages = await (await self._open_reading()).run(read)
                note(found)
            return Result.of_statement(found, messages, writes=False)

        def write(transaction: GraphTransaction, _: object) -> tuple[StatementResult, list[bytes]]:
            found = statements.apply(prepared, transaction, self._context)
            return found, build_records(found)

        with statements.note_run(prepared) as note:
            found, messages = await (await self._open_writing()).run(write)
            note(found)
        return Result.of_statement(found, messages, writes=prepared.writes)

    async def commit(self) -> int | None:
        """Keep what was written; return the position of the last change, None if it only read."""
        writing = self._writing
        await self._end_reading()
        if writing is None:
            return None
        _, position = await writing.commit()
        self._writing = None
        return cast("int", position)

    async def discard(self) -> None:
        """Take back what was written, if it is open."""
        writing, self._writing = self._writing, None
        await self._end_reading()
        if writing is not None:
            await writing.discard()

    async def _open_reading(self) -> Conversation[GraphSession]:
        if self._reading is None:
            statements = self.database.graph.statements
            self._reading = reading = Conversation[GraphSession](self._deadline)
            seconds = max(self._deadline - time.monotonic(), LEAST_WAIT)
            await reading.start(statements.hold_session(reading.serve, seconds))
        return self._reading

    async def _end_reading(self) -> None:
        reading, self._reading = self._reading, None
        if reading is not None:
            await reading.discard()

    async def _open_writing(self) -> Conversation[GraphTransaction]:
        if self._writing is not None:
            return self._writing
        position: int | None = None
        if self._reading is not None:
            position = await self._reading.run(lambda session, _: session.read_event_bounds()[1])
            await self._end_reading()
        deadline = min(self._deadline, time.monotonic() + self._write_seconds)
        writing = Conversation[GraphTransaction](deadline)

        def write(transaction: GraphTransaction, context: GraphContext) -> None:
            if position is not None and transaction.read_event_bounds()[1] != position:
                raise TransactionOutdated
            self._context = context
            writing.serve(transaction)

        self._writing = writing
        statements = self.database.graph.statements
        await writing.start(statements.write(write, alone=True))
        return writing
