"""The use case of statements that write: parsed, then run in one transaction, all or nothing.

A statement that only reads gives all of its rows at once; `graph.queries` gives pages of them.
Permissions are checked by the transport, which knows the caller: `Prepared.needs` says which.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, TypeVar, cast

from twinframe.errors import (
    LimitExceeded,
    QueryInvalid,
    QueryTimeout,
    StorageError,
    TwinframeError,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.queries.plans import build_options
from twinframe.graph.queries.temporal_members import TypingCache
from twinframe.graph.queries.watch import QueryWatch, build_digest, note_run
from twinframe.graph.statements.explain import COLUMNS, explain_statement
from twinframe.graph.statements.open_writer import OpenWriter
from twinframe.graph.statements.twin_writer import TwinWriter
from twinframe.model.values import Value
from twinframe.query.engine import QueryEngine
from twinframe.query.evaluate.constants import evaluate_briefly
from twinframe.query.evaluate.limits import Interrupt, Limits, Meter
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.evaluate.run import Row
from twinframe.query.language import parse_statement
from twinframe.query.plan.plan_cache import PlanCache, build_plan_key
from twinframe.query.writing.needed import find_needed
from twinframe.query.writing.port import Effect, GraphWriter
from twinframe.query.writing.procedures import NO_PROCEDURES, Procedures
from twinframe.query.writing.run import StatementRun
from twinframe.query.writing.steps import CallStatement, OnError, Read, Statement, Step
from twinframe.query.writing.surroundings import (
    START,
    Counters,
    Plans,
    Surroundings,
    Table,
    build_status,
)
from twinframe.runtime.instruments.base import Instruments
from twinframe.storage.base import GraphSession, GraphTransaction

T = TypeVar("T")

_LONG: Final = 2_000
_BATCH: Final = 1000
_WORDS: Final = re.compile(r"\b(?:CREATE|MERGE|SET|REMOVE|DELETE|CALL)\b", re.IGNORECASE)
_QUERY: Final = re.compile(r"\s*(?:SELECT|PROFILE|AS\s+OF)\b", re.IGNORECASE)
_LOOK_SECONDS: Final = 0.1
_TEXT: Final = 4
"""How many times as many words as a query a statement may have: its clauses are steps in a row, not
parts of one plan.
"""
_STEPS_A_UNIT: Final = 500
_STORE_STEPS_A_UNIT: Final = 50_000
_ROWS_A_UNIT: Final = 100
_WRITES_A_UNIT: Final = 100

PERMISSIONS: Final[Mapping[Effect, str]] = {
    Effect.READ: "query/read",
    Effect.WRITE_NODES: "digitaltwins/write",
    Effect.DELETE_NODES: "digitaltwins/delete",
    Effect.WRITE_RELATIONSHIPS: "digitaltwins/relationships/write",
    Effect.DELETE_RELATIONSHIPS: "digitaltwins/relationships/delete",
}
"""The permission for each thing that a statement may do: that of the single request."""
WRITE: Final = "query/write"
"""The permission for statements that write, besides those for what they write."""


def may_be_statement(text: str) -> bool:
    """Return whether a text may write or call procedures; `Queries` runs all others.

    PERF: each such text has one of these words; a parser takes a hundred times as long to say so.
    """
    return _WORDS.search(text) is not None and _QUERY.match(text) is None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement ready to run: `statement` has its steps, `parameters` are its values.

    `prefix` is EXPLAIN, where that precedes it. With `is_typed`, nodes and relationships of its
    rows have temporal members where their models declare them; otherwise documents are JSON.
    `interrupt` ends its run early. `plans` are those of its steps, which runs of the same text
    share; `began` says by `time.perf_counter` when it was asked for.
    """

    text: str
    statement: Statement
    parameters: Mapping[str, Value]
    prefix: str = ""
    is_typed: bool = False
    interrupt: Interrupt | None = None
    plans: Plans = field(default_factory=dict, repr=False)
    began: float = field(default_factory=time.perf_counter, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; empty where it ends with a clause that writes."""
        if self.prefix:
            return COLUMNS
        return self.statement.columns

    @property
    def writes(self) -> bool:
        """Whether it may change the graph."""
        return self.statement.writes

    @property
    def needs(self) -> tuple[str, ...]:
        """The permissions for what its text does, in a fixed order."""
        statement = self.statement
        found = [name for effect, name in PERMISSIONS.items() if effect in statement.effects]
        found += sorted(statement.permissions - {*found})
        return (WRITE, *found) if self.writes else tuple(found)

    @property
    def is_query(self) -> bool:
        """Whether `Queries` can run it, which gives pages."""
        return self.statement.is_query

    @property
    def in_transactions(self) -> bool:
        """Whether a subquery of it runs in transactions of its own."""
        return self.statement.in_transactions


@dataclass(slots=True)
class StatementResult:
    """The rows of a statement as values, and what it changed; `charge` is its cost in units."""

    columns: tuple[str, ...]
    rows: Sequence[Row] = ()
    counters: Counters = field(default_factory=Counters)
    charge: float = 1.0
    engine: str = ""
    """Which engine read for it: the store's, the evaluator, or both joined by `+`."""


class _Kept(NamedTuple):
    """A parsed statement, and the plans of its steps."""

    statement: Statement
    prefix: str
    plans: Plans


@dataclass(slots=True)
class _Watched:
    """A statement as instruments see it."""

    statement: Statement
    engine: str = ""

    def fingerprint(self) -> str:
        """A digest of its steps."""
        rows = explain_statement(self.statement)
        return build_digest("\n".join(" ".join(map(str, row)) for row in rows))


class _Rehearsed(Exception):  # it is no error
    """Ends a transaction whose changes are not to be kept."""

    def __init__(self, result: StatementResult) -> None:
        super().__init__()
        self.result = result


class Statements:
    """Runs statements that write."""

    def __init__(
        self,
        context: GraphContext,
        engine: QueryEngine | None,
        procedures: Procedures = NO_PROCEDURES,
        instruments: Instruments | None = None,
    ) -> None:
        """`instruments` receive data about each statement."""
        settings = context.settings
        self._context = context
        self._engine = engine
        self.procedures = procedures
        self._instruments = instruments
        self._kept: PlanCache[_Kept] = PlanCache(settings.query.plan_cache)
        self._is_open = settings.graph.open_
        options = build_options(settings.query)
        self._options = replace(
            options,
            max_words=_TEXT * options.max_words,
            writes=True,
            map_properties=not self._is_open,
        )
        has_typing = settings.query.temporal_properties
        self._typings = TypingCache(context.models) if has_typing else None

    def prepare(
        self,
        text: str,
        parameters: Mapping[str, Value],
        *,
        is_typed: bool = False,
        interrupt: Interrupt | None = None,
    ) -> Prepared:
        """Parse and check a statement. Errors: `QueryInvalid`, `LimitExceeded`.

        PERF: one of the same text and names of parameters is parsed once.
        """
        began = time.perf_counter()
        key = build_plan_key(text, dict.fromkeys(parameters), 0)
        kept = self._kept.find(key)
        if kept is None:
            parsed = parse_statement(
                text, parameters=parameters, options=self._options, procedures=self.procedures
            )
            kept = _Kept(parsed.statement, parsed.prefix, {})
            self._kept.keep(key, kept)
        return Prepared(
            text, kept.statement, parameters, kept.prefix, is_typed, interrupt, kept.plans, began
        )

    async def open(
        self,
        text: str,
        parameters: Mapping[str, Value],
        *,
        is_typed: bool = False,
        interrupt: Interrupt | None = None,
    ) -> Prepared:
        """Prepare a statement, a long one in a thread, and note an error for the instruments."""
        prepare = partial(self.prepare, is_typed=is_typed, interrupt=interrupt)
        watch = QueryWatch(text)
        watch.begin_compile()
        try:
            if len(text) > _LONG:
                return await asyncio.to_thread(prepare, text, parameters)
            return prepare(text, parameters)
        except TwinframeError:
            with note_run(self._instruments, watch):
                raise

    @contextmanager
    def note_run(self, prepared: Prepared) -> Iterator[Callable[[StatementResult], None]]:
        """Note the run in the body for the instruments; that calls the function with its result.

        `run` does so itself.
        """
        watch, watched = QueryWatch(prepared.text, prepared.began), _Watched(prepared.statement)
        watch.begin_compile(prepared.began)
        watch.begin_run(watched)
        with note_run(self._instruments, watch) as note:

            def note_result(result: StatementResult) -> None:
                watched.engine = result.engine
                note(len(result.rows), result.charge)

            yield note_result

    async def run(self, prepared: Prepared, *, rehearse: bool = False) -> StatementResult:
        """Run a statement in a transaction; with `rehearse` nothing of it is kept.

        Errors: `QueryInvalid`, `LimitExceeded`, `QueryTimeout`, `StorageError`, and those of the
        writes that the statement does. Nothing is changed on any error, but for the transactions
        of `CALL { ... } IN TRANSACTIONS` that were complete before.
        """
        with self.note_run(prepared) as note:
            result = await self._run(prepared, rehearse=rehearse)
            note(result)
        return result

    async def _run(self, prepared: Prepared, *, rehearse: bool) -> StatementResult:
        if prepared.prefix:
            return StatementResult(COLUMNS, explain_statement(prepared.statement))
        if prepared.in_transactions and not rehearse:
            return await self._run_in_transactions(prepared)
        context = self._context.join_request()

        def write(transaction: GraphTransaction) -> StatementResult:
            result = self.apply(prepared, transaction, context, joins=rehearse)
            if rehearse:
                raise _Rehearsed(result)
            return result

        try:
            if not prepared.writes:
                timeout = context.settings.query.timeout
                read = partial(self.read, prepared, context=context)
                return await context.runner.scan(read, timeout)
            result = await context.write(write)
        except _Rehearsed as rehearsed:
            return rehearsed.result
        self._context.signal.set()
        return result

    def apply(
        self,
        prepared: Prepared,
        transaction: GraphTransaction,
        context: GraphContext | None = None,
        *,
        joins: bool = False,
    ) -> StatementResult:
        """Run a statement within a transaction of the caller, who keeps or discards its changes.

        After an error the caller must discard them. With `joins`, subqueries IN TRANSACTIONS run
        within it too, else they are refused.
        """
        context = context or self._context
        limits = self._build_limits(context, prepared)
        with transaction.snapshot(limits.deadline):
            writer = self._open_writer(context, transaction)
            run = self._open_run(prepared, transaction, writer, limits)
            run.around.joins_transactions = joins
            try:
                table = _locate(prepared, lambda: run.run(prepared.statement))
            finally:
                run.close()
            return _build_result(prepared, table.rows, run, limits, transaction)

    def read(
        self, prepared: Prepared, session: GraphSession, context: GraphContext | None = None
    ) -> StatementResult:
        """Run a statement that writes nothing within a session of the caller."""
        limits = self._build_limits(context or self._context, prepared)
        run = self._open_run(prepared, session, None, limits)
        try:
            table = _locate(prepared, lambda: run.run(prepared.statement))
        finally:
            run.close()
        return _build_result(prepared, table.rows, run, limits, session)

    # --- transactions of a caller, of several statements

    async def hold_session(self, read: Callable[[GraphSession], T], seconds: float) -> T:
        """Run a function that may wait for a caller; its session shows one state meanwhile."""
        return await self._context.runner.hold(read, seconds)

    async def write(
        self, function: Callable[[GraphTransaction, GraphContext], T], *, alone: bool = False
    ) -> tuple[T, int]:
        """Run a write function that calls `apply`, with the context it gets, and commit it.

        Returns its result, and the position of its last change. With `alone` it may wait for a
        caller: no other write of the graph runs meanwhile.
        """
        context = self._context.join_request()

        def run(transaction: GraphTransaction) -> tuple[T, int]:
            result = function(transaction, context)
            return result, transaction.read_event_bounds()[1]

        found = await context.write(run, alone=alone)
        self._context.signal.set()
        return found

    async def read_position(self) -> int:
        """Return the position of the last change of the graph."""
        return await self._context.runner.read(lambda session: session.read_event_bounds()[1])

    async def wait_for(self, position: int, seconds: float) -> bool:
        """Wait until the graph has the change at a position; False if it has not come in time."""
        end = time.monotonic() + seconds
        while True:
            count = self._context.signal.count
            if await self.read_position() >= position:
                return True
            if time.monotonic() >= end:
                return False
            await self._context.wait(count, _LOOK_SECONDS)

    # --- CALL { ... } IN TRANSACTIONS

    async def _run_in_transactions(self, prepared: Prepared) -> StatementResult:
        """Run what is before the subquery, its batches, and what follows, each in a transaction."""
        statement = prepared.statement
        steps = statement.parts[0]
        at = next(
            at
            for at, step in enumerate(steps)
            if isinstance(step, CallStatement) and step.in_transactions
        )
        step = cast("CallStatement", steps[at])
        if len(statement.parts) > 1 or any(
            isinstance(one, CallStatement) and one.in_transactions for one in steps[at + 1 :]
        ):
            raise QueryInvalid(
                "A statement has one subquery IN TRANSACTIONS, and no UNION.",
                kind="SemanticError",
                detail="InvalidClauseComposition",
            )
        size = _read_batch(step, prepared)
        result = StatementResult(statement.columns)
        start = Table((), list(START))
        table = await self._run_some(prepared, result, steps[:at], start, _names(steps[at:]))
        rest = await self._run_batches(prepared, result, step, table, size)
        following = steps[at + 1 :]
        if following:
            rest = await self._run_some(prepared, result, following, rest, statement.columns)
        slots = [rest.names.index(name) for name in statement.columns]
        result.rows = [tuple([row[slot] for slot in slots]) for row in rest.rows] if slots else ()
        if prepared.is_typed and slots:
            rows, timeout = result.rows, self._context.settings.query.timeout
            result.rows = await self._context.runner.scan(
                lambda session: _type_rows(self._open_typing(session)[1], session, rows), timeout
            )
        return result

    async def _run_batches(
        self,
        prepared: Prepared,
        result: StatementResult,
        step: CallStatement,
        table: Table,
        size: int,
    ) -> Table:
        """Run a subquery for so many rows at a time, each time in a transaction.

        Rows of a transaction with an error, and of those that did not begin after it, have nulls.
        """
        names = (*table.names, *step.statement.columns)
        one = replace(step, status=None)
        nulls = (None,) * len(step.statement.columns)
        done: list[Row] = []
        is_over = False
        for number, first in enumerate(range(0, len(table.rows), size), 1):
            batch = Table(table.names, table.rows[first : first + size])
            found, status = None, build_status(None)
            if not is_over:
                try:
                    ran = await self._run_some(prepared, result, (one,), batch, names, joins=True)
                    found, status = ran.rows, build_status(number)
                except (QueryTimeout, StorageError):
                    raise  # the others would have it too
                except TwinframeError as error:
                    if step.on_error is OnError.FAIL:
                        raise
                    is_over = step.on_error is OnError.BREAK
                    status = build_status(number, error.message)
            if found is None:
                found = [(*row, *nulls) for row in batch.rows]
            done += found if step.status is None else [(*row, status) for row in found]
        return Table(names if step.status is None else (*names, step.status), done)

    async def _run_some(
        self,
        prepared: Prepared,
        result: StatementResult,
        steps: Sequence[Step],
        table: Table,
        columns: Sequence[str],
        *,
        joins: bool = False,
    ) -> Table:
        """Run some steps of a statement in a transaction of their own."""
        context = self._context.join_request()

        def work(session: GraphSession, writer: GraphWriter | None) -> tuple[Table, StatementRun]:
            limits = self._build_limits(context, prepared)
            with session.snapshot(limits.deadline):
                run = self._open_run(prepared, session, writer, limits)
                run.around.joins_transactions = joins
                try:
                    given = Table(table.names, run.renew(table.rows))
                    found = _locate(prepared, lambda: run.run_steps(steps, given, columns))
                finally:
                    run.close()
            result.charge += _measure(run, limits, session)
            return found, run

        if all(isinstance(step, Read) for step in steps):
            timeout = context.settings.query.timeout
            found, _ = await context.runner.scan(lambda session: work(session, None), timeout)
            return found
        found, run = await context.write(
            lambda transaction: work(transaction, self._open_writer(context, transaction))
        )
        self._context.signal.set()
        result.counters.add(run.counters)
        result.engine = run.engine
        return found

    # --- what a run needs

    def _build_limits(self, context: GraphContext, prepared: Prepared) -> Limits:
        settings = context.settings.query
        deadline = time.monotonic() + settings.timeout
        if prepared.interrupt is not None:
            deadline = min(deadline, prepared.interrupt.deadline)
        return Limits(
            settings.max_rows,
            deadline,
            settings.max_hops,
            Meter(),
            settings.max_bytes,
            context.memory,
            prepared.interrupt,
        )

    def _open_writer(self, context: GraphContext, transaction: GraphTransaction) -> GraphWriter:
        if self._is_open:
            return OpenWriter(context, transaction)
        return TwinWriter(context, transaction)

    def _open_run(
        self,
        prepared: Prepared,
        session: GraphSession,
        writer: GraphWriter | None,
        limits: Limits,
    ) -> StatementRun:
        open_typing = partial(self._open_typing, session)
        most = self._context.settings.query.max_writes
        engine = self._engine
        if engine is not None and isinstance(session, GraphTransaction):
            # NOTE: what an engine keeps beside the store must not learn of changes that may be
            # taken back.
            engine = engine.statements
        # NOTE: statements of an open graph make models, which may be taken back with them.
        plans = {} if self._is_open else prepared.plans
        around = Surroundings(
            session, writer, prepared.parameters, limits, engine, open_typing, most, plans=plans
        )
        return StatementRun(around)

    def _open_typing(self, session: GraphSession) -> tuple[int, MemberTyping | None]:
        version = session.read_schema_version()
        typings = self._typings
        return version, None if typings is None else typings.open(session, version)


def _locate(prepared: Prepared, run: Callable[[], Table]) -> Table:
    """Run, and locate the errors of a run in the text of the statement."""
    try:
        return run()
    except QueryInvalid as error:
        source = prepared.statement.source
        raise error if source is None else source.locate(error) from error
    except RecursionError as error:
        raise LimitExceeded(
            "A value of the statement is nested too deeply to be compared or written."
        ) from error


def _build_result(
    prepared: Prepared,
    rows: Sequence[Row],
    run: StatementRun,
    limits: Limits,
    session: GraphSession,
) -> StatementResult:
    counters = run.counters
    if counters.nodes_deleted or counters.relationships_deleted:
        rows = [tuple(map(run.entities.show, row)) for row in rows]
    if prepared.is_typed and prepared.columns:
        rows = _type_rows(run.around.open_typing()[1], session, rows)
    charge = 1.0 + len(rows) / _ROWS_A_UNIT + _measure(run, limits, session)
    return StatementResult(prepared.columns, rows, counters, round(charge, 2), run.engine)


def _type_rows(
    typing: MemberTyping | None, session: GraphSession, rows: Sequence[Row]
) -> Sequence[Row]:
    return rows if typing is None else [*typing.type_rows(session, rows)]


def _measure(run: StatementRun, limits: Limits, session: GraphSession) -> float:
    """Return the work of a run in units."""
    steps = 0 if limits.meter is None else limits.meter.steps
    evaluated = session.read_steps() / _STORE_STEPS_A_UNIT + steps / _STEPS_A_UNIT
    return evaluated + run.written / _WRITES_A_UNIT


def _names(steps: Sequence[Step]) -> Sequence[str]:
    """Return the variables that a subquery and what follows it read."""
    return tuple(find_needed(steps, ()))


def _read_batch(step: CallStatement, prepared: Prepared) -> int:
    if step.batch is None:
        return _BATCH
    size = evaluate_briefly(step.batch, prepared.parameters)
    if type(size) is int and size > 0:
        return size
    raise QueryInvalid(
        f"IN TRANSACTIONS OF takes a number of rows from 1 on, not {size}.",
        kind="ArgumentError",
        detail="NumberOutOfRange",
        phase="runtime",
    )
