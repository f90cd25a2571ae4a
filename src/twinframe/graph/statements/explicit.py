"""Explicit transactions: several use cases of a caller in one write function, all or nothing.

The write function waits for the caller between two steps, and no other write of the graph runs
meanwhile: what the transaction reads holds until it is committed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from twinframe.errors import (
    MemoryExhausted,
    MemoryLimitExceeded,
    StorageError,
    TransactionFailed,
    TwinframeError,
)
from twinframe.graph.context.context import GraphContext, WriteSignal
from twinframe.graph.context.write_clock import WriteClock
from twinframe.graph.models.models import Models
from twinframe.graph.queries.queries import Queries, QueryPage
from twinframe.graph.statements.conversations import Conversation, Publish, Step
from twinframe.graph.statements.statements import Prepared, StatementResult, Statements
from twinframe.graph.twins.bulk import Bulk
from twinframe.graph.twins.relationships import Relationships
from twinframe.graph.twins.twins import Components, Twins
from twinframe.model.values import JsonValue
from twinframe.query.engine import QueryEngine
from twinframe.query.evaluate.limits import Interrupt
from twinframe.storage.base import GraphSession, GraphTransaction, WriteFunction

T = TypeVar("T")

_HALFWAY: Final = (StorageError, MemoryExhausted, MemoryLimitExceeded)
"""Errors that a command may get after its first effect; others refuse it before."""


class _Rehearsed(Exception):  # it is no error
    """Ends a transaction whose changes are not to be kept."""


class ExplicitTransactions:
    """Opens transactions over the use cases of a graph."""

    def __init__(
        self,
        context: GraphContext,
        statements: Statements,
        engine: QueryEngine | None,
        scratch: Path | None,
    ) -> None:
        self._context = context
        self._statements = statements
        # NOTE: what an engine keeps beside the store does not have the changes of a transaction.
        self._engine = None if engine is None else engine.statements
        self._scratch = scratch

    @asynccontextmanager
    async def open(
        self, seconds: float, *, rehearse: bool = False
    ) -> AsyncIterator[ExplicitTransaction]:
        """Commit at the end of the context what was done in it; an error takes it back.

        Once it is its turn to write, it may be open for `seconds`; then it is rolled back. With
        `rehearse` nothing is kept. Errors: those of its steps, which say so where they take all of
        it back; `StorageBusy`, `QueryTimeout`, `TransactionOutdated`, `TransactionFailed`.
        """
        conversation = Conversation[GraphTransaction](time.monotonic() + seconds)
        opened: list[ExplicitTransaction] = []

        def write(transaction: GraphTransaction, context: GraphContext) -> None:
            if not opened:
                engine = self._engine if transaction.is_for_engines else None
                made = ExplicitTransaction(conversation, context, self._statements)
                made.join(engine, self._scratch)
                opened.append(made)
            conversation.deadline = time.monotonic() + seconds
            conversation.serve(transaction)
            if rehearse:
                raise _Rehearsed

        try:
            await conversation.start(self._statements.write(write, alone=True))
        except BaseException:
            await conversation.discard()
            raise
        (transaction,) = opened
        try:
            yield transaction
            transaction.check()
        except BaseException:
            transaction.end()
            await conversation.discard()
            raise
        transaction.end()
        try:
            await conversation.commit()
        except _Rehearsed:
            return


class ExplicitTransaction:
    """An open transaction and its use cases, which see its changes.

    A refused command changes nothing, and the transaction goes on. After an error of a statement
    that writes, of a model or of the storage, it can only be rolled back.
    """

    twins: Twins
    components: Components
    relationships: Relationships
    models: Models
    bulk: Bulk
    queries: Queries

    def __init__(
        self,
        conversation: Conversation[GraphTransaction],
        context: GraphContext,
        statements: Statements,
    ) -> None:
        self._conversation = conversation
        self._context = context
        self.statements = statements
        self._turn = asyncio.Lock()
        self._failure: BaseException | None = None
        self._is_over = False

    def join(self, engine: QueryEngine | None, scratch: Path | None) -> None:
        """Build the use cases; called in the write function, at the moment of its changes."""
        clock = _OneMoment(self._context.write_clock())
        runner = _StepRunner(self, _HALFWAY)
        context = replace(self._context, runner=runner, write_clock=clock, signal=WriteSignal())
        self.twins = Twins(context)
        self.components = Components(context, self.twins)
        self.relationships = Relationships(context)
        self.bulk = Bulk(context)
        self.models = Models(replace(context, runner=_StepRunner(self, (BaseException,))))
        procedures = self.statements.procedures
        self.queries = Queries(context, engine, scratch, procedures=procedures)

    async def query(
        self, text: str, parameters: Mapping[str, JsonValue], page_size: int
    ) -> QueryPage:
        """Return the first page of a query; `queries.run` continues it.

        Errors: as `Queries.run`; `InvalidArgument` for a query of an earlier state.
        """
        latest = self._conversation.deadline
        step = await self.queries.prepare_in(text, parameters, page_size, None, latest)
        return await self.run(step)

    async def execute(self, prepared: Prepared) -> StatementResult:
        """Run a statement. Errors: as `Statements.run`."""
        if prepared.prefix:
            return await self.statements.run(prepared)
        prepared = replace(prepared, interrupt=Interrupt(self._conversation.deadline))

        def apply(transaction: GraphTransaction, _: Publish[StatementResult]) -> StatementResult:
            return self.statements.apply(prepared, transaction, self._context)

        return await self.run(apply, (BaseException,) if prepared.writes else _HALFWAY)

    async def run(
        self,
        step: Step[GraphTransaction, T],
        fatal: tuple[type[BaseException], ...] = _HALFWAY,
    ) -> T:
        """Run a step, alone. Errors of the `fatal` kinds, and unexpected ones, fail the whole."""
        async with self._turn:
            self.check()
            try:
                return await self._conversation.run(step)
            except BaseException as error:
                if isinstance(error, fatal) or not isinstance(error, TwinframeError):
                    self._failure = error
                raise

    def check(self) -> None:
        """Raise `TransactionFailed` where nothing more can be done."""
        if self._is_over:
            raise TransactionFailed("The transaction has ended.")
        if self._failure is not None:
            reason = str(self._failure) or type(self._failure).__name__
            raise TransactionFailed(
                f"The transaction can only be rolled back, after this error: {reason}"
            ) from self._failure

    def end(self) -> None:
        """Take no more steps."""
        self._is_over = True


class _OneMoment(WriteClock):
    """The moment of a write function that has begun and is ended elsewhere."""

    def __init__(self, moment: int) -> None:
        super().__init__(lambda: moment)

    def begin(self, transaction: GraphTransaction) -> None:
        """Do nothing."""

    def end(self, transaction: GraphTransaction) -> int:
        """Move no mark."""
        del transaction
        return 0


class _StepRunner:
    """Runs reads and writes as steps of a transaction, in its state; a `GraphRunner`."""

    def __init__(
        self, transaction: ExplicitTransaction, fatal: tuple[type[BaseException], ...]
    ) -> None:
        self._transaction = transaction
        self._fatal = fatal

    async def read(self, function: Callable[[GraphSession], T]) -> T:
        """Run point reads."""
        return await self._transaction.run(lambda session, _: function(session))

    def read_short(self, read: Callable[[GraphSession], T], steps: int, seconds: float) -> None:
        """Give no result: no read of a transaction runs on the event loop."""

    async def write(self, function: WriteFunction[T], *, alone: bool = False) -> T:
        """Run a write function as a part of the transaction."""
        del alone
        return await self._transaction.run(lambda found, _: function(found), self._fatal)

    async def scan(
        self,
        function: Callable[[GraphSession], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
    ) -> T:
        """Run reads that may take long."""
        return await self.scan_early(lambda session, _: function(session), timeout)

    hold = scan

    async def scan_early(
        self,
        function: Callable[[GraphSession, Callable[[T], None]], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
        *,
        quick: bool = False,
    ) -> T:
        """Run reads that may give their answer before they end."""
        del quick

        def step(session: GraphTransaction, publish: Publish[T]) -> T:
            with session.snapshot(time.monotonic() + timeout):
                return function(session, publish)

        return await self._transaction.run(step)

    async def refresh_statistics(self) -> None:
        """Do nothing."""

    def listen(self, wake: Callable[[], None]) -> bool:
        """Hear of no other writes: none comes meanwhile."""
        del wake
        return False

    def on_close(self, end: Callable[[], None]) -> None:
        """Do nothing."""
