"""The use case of queries: parse, plan, run and page them.

Paging: a plan whose rows come in the order of a key continues after the last key, so that writes
between pages neither repeat nor hide rows. The result of any other query that is longer than a page
is written to a file once, while its first page is sent; all pages show the one snapshot.

A query of an earlier state is run by the evaluator over a session that shows that state, until
questions about it are worth a copy of it, which the store's engine reads.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from twinframe.errors import (
    InvalidArgument,
    InvalidContinuationToken,
    QueryInvalid,
    QueryTimeout,
    TwinframeError,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import ModelCache
from twinframe.graph.context.paging import PageSizes, TokenSigner
from twinframe.graph.history.history import Asked, History, check_asked
from twinframe.graph.history.past import PastSession
from twinframe.graph.queries.names import QueryWarning
from twinframe.graph.queries.pages import (
    LATER,
    Answer,
    OneState,
    PageForm,
    PageRequest,
    RowDigest,
    RowForm,
    build_answer,
    is_keyed,
    measure_rows,
    run_plan,
    take_rows,
    take_short,
)
from twinframe.graph.queries.past_values import QueryPast
from twinframe.graph.queries.plans import Found, Plan, QueryPlans
from twinframe.graph.queries.positions import (
    OPERATION,
    Position,
    State,
    parse_position,
    render_token,
)
from twinframe.graph.queries.short_runs import SHORT_SECONDS, SHORT_STEPS, is_small
from twinframe.graph.queries.spool import ResultSpool, SpoolLimits, SpoolWriter
from twinframe.graph.queries.states import PastStates
from twinframe.graph.queries.watch import QueryWatch, note_run
from twinframe.graph.series.series import Series
from twinframe.model.values import JsonValue, Value
from twinframe.query.engine import CannotRun, JsonRow, QueryEngine
from twinframe.query.evaluate.constants import evaluate_briefly
from twinframe.query.evaluate.limits import Limits, Meter
from twinframe.query.language import AsOf, split_as_of
from twinframe.query.writing.procedures import NO_PROCEDURES, Procedures
from twinframe.runtime.instruments.base import Instruments, Level
from twinframe.storage.base import GraphSession

_PAUSE: Final = 0.01
_OVERDUE: Final = 20.0
"""How many times as much as makes a copy worth it questions take to have waited for it."""
_SHORT_LIMITS: Final = Limits()
"""Those of a run at once, which only a store does, within the bounds of its session."""

_log = logging.getLogger(__name__)


class QueryPage(NamedTuple):
    """Rows as JSON texts, the token of the next page (None on the last), the cost in query units.

    The cost is 1, plus the work for the page: 1 for each 100 rows returned, each 64 KiB of them,
    each 50,000 steps of the store's engine and each 500 of the evaluator, which all take about a
    millisecond. It serves to compare queries and is no price. The first page has the warnings and
    the names of the `columns`: none where each row is a document with members of its own.
    """

    rows: tuple[bytes, ...]
    continuation_token: str | None
    charge: float
    warnings: tuple[QueryWarning, ...] = ()
    columns: tuple[str, ...] = ()


_Publish: TypeAlias = Callable[[Answer], None]


class _OutdatedError(Exception):
    """The models changed since the plan of this run was made."""


class Queries:
    """Runs queries of both languages."""

    def __init__(
        self,
        context: GraphContext,
        engine: QueryEngine | None,
        scratch: Path | None = None,
        instruments: Instruments | None = None,
        series: Series | None = None,
        procedures: Procedures = NO_PROCEDURES,
    ) -> None:
        """Results longer than a page are stored in `scratch`, else among the temporary files.
        `series` answers functions on the past; without it they are refused. `instruments` receive
        data about each page. `procedures` may be called if they only read.
        """
        settings = context.settings.query
        self._context = context
        self._instruments = instruments
        self._series = series
        most_bytes = context.settings.graph.max_page_bytes
        self._tries_short = settings.timeout > SHORT_SECONDS
        self._sizes = PageSizes(settings.page_size, settings.max_page_size, most_bytes)
        self._plans = QueryPlans(settings, context.models, engine, procedures)
        self._history = History(context)
        self._past_plans = QueryPlans(settings, ModelCache(), None, procedures)
        # NOTE: what an engine keeps beside the store is of the present state.
        statements = None if engine is None else engine.statements
        self._state_plans = QueryPlans(settings, ModelCache(), statements, procedures)
        most_bytes = 0 if engine is None else context.settings.history.copies_bytes
        self._states = PastStates(scratch, most_bytes, settings.result_lifetime)
        self._spool = ResultSpool(
            scratch,
            SpoolLimits(
                settings.max_result_bytes, settings.results_bytes, settings.result_lifetime
            ),
        )

    def run_at_once(
        self,
        text: str,
        parameters: Mapping[str, JsonValue],
        page_size: int | None = None,
        form: PageForm | None = None,
    ) -> QueryPage | None:
        """Return the first page, without waiting, of a query that was recently short.

        None says nothing: `run` it, which raises the errors. Rows are JSON, or in the `form`.
        PERF: the whole of a short query is here, without a coroutine and without a watch for a
        client that leaves.
        """
        signer, values = self._context.signer, _build_values(parameters)
        if signer is None or not is_small(text, values):
            return None
        found = self._plans.find(text, values)
        if found is None or not found.plan.is_short or not self._tries_short:
            return None
        started = time.perf_counter()
        size = self._sizes.build(page_size)
        position, plan = Position(text, parameters), found.plan
        request = PageRequest(
            position,
            found.values,
            size,
            self._choose_bytes(form),
            _SHORT_LIMITS,
            self._plans,
            None,
            form,
        )
        answer = self._run_short(request, plan)
        if answer is None:
            return None
        page = _build_page(answer, signer, size)
        told = self._instruments
        if told is not None and time.perf_counter() - started >= told.least_query:
            watch = QueryWatch(text, started)
            watch.begin_run(plan, started)
            self._note(watch, page)
        return page

    async def run(
        self,
        text: str | None,
        parameters: Mapping[str, JsonValue] | None = None,
        continuation_token: str | None = None,
        page_size: int | None = None,
        as_of: Asked | None = None,
        form: PageForm | None = None,
    ) -> QueryPage:
        """Return one page of rows; a token suffices to continue, a text with it must match.

        `as_of` names the state to read, as the clause AS OF of a text does; None is the present.
        Rows are JSON, or in the `form`; following pages have the form of the first, and
        its size if it is given again. With a form, all pages show one state.

        Errors: `InvalidArgument`, `InvalidContinuationToken`, `QueryInvalid`, `QueryTimeout`,
        `LimitExceeded`, `HistoryNotKept`, `Unsupported`.
        """
        asked = text, parameters or {}, continuation_token, page_size, as_of, form
        if self._instruments is None:
            return await self._run_page(*asked)
        watch = QueryWatch(text or "")
        with note_run(self._instruments, watch) as note:
            page = await self._run_page(*asked, watch)
            note(len(page.rows), page.charge)
        return page

    async def prepare_in(
        self,
        text: str,
        parameters: Mapping[str, JsonValue],
        page_size: int | None,
        form: RowForm | None,
        latest: float,
        watch: QueryWatch | None = None,
    ) -> Callable[[GraphSession, Callable[[QueryPage], None]], QueryPage]:
        """Return a function that runs a query in a session of the caller, in its state.

        It ends at `latest` of `time.monotonic`, if its own time does not end before.
        It returns the first page, or passes it to its second argument and then writes the rows
        after it to a file, for `run` with the token. Errors: those of `run`, also of the function.
        """
        signer = await self._context.read_signer()
        text, clause = split_as_of(text, parameters, self._plans.options)
        if clause is not None:
            raise InvalidArgument(
                "A transaction shows one state of the graph. Run a query AS OF another outside."
            )
        position, size = self._start(signer, text, parameters, None, page_size)
        timeout = self._context.settings.query.timeout

        def run(session: GraphSession, publish: Callable[[QueryPage], None]) -> QueryPage:
            request = self._build_request(position, size, watch, form)

            def pass_on(answer: Answer) -> None:
                publish(_build_page(answer, signer, size))

            limits = request.limits
            limits.deadline = min(latest, time.monotonic() + timeout)
            with session.snapshot(limits.deadline):
                return _build_page(self._take(session, request, None, pass_on), signer, size)

        return run

    @contextmanager
    def note_in(self, text: str) -> Iterator[tuple[QueryWatch, Callable[[int, float], None]]]:
        """Note the run of a query that `prepare_in` prepares, in the body, for instruments."""
        watch = QueryWatch(text)
        with note_run(self._instruments, watch) as note:
            yield watch, note

    def _note(self, watch: QueryWatch, page: QueryPage) -> None:
        found = self._instruments
        if found is not None and watch.read_seconds() >= found.least_query:
            found.note_query(watch.build_run(len(page.rows), page.charge))

    def read_levels(self) -> Mapping[Level, float]:
        """Return the size of stored results, of all workers that share the directory."""
        size, files = self._spool.measure()
        return {Level.RESULTS_BYTES: size, Level.RESULTS_FILES: files}

    async def _run_page(
        self,
        text: str | None,
        parameters: Mapping[str, JsonValue],
        continuation_token: str | None,
        page_size: int | None,
        as_of: Asked | None,
        form: PageForm | None,
        watch: QueryWatch | None = None,
    ) -> QueryPage:
        signer = await self._context.read_signer()
        clause = None
        if text is not None:
            text, clause = split_as_of(text, parameters, self._plans.options)
        position, size = self._start(signer, text, parameters, continuation_token, page_size)
        if clause is not None or as_of is not None:
            await self._find_state(position, clause, as_of, continuation_token)
        if watch is not None:
            watch.text = position.text
        if position.result is None:
            answer = await self._run(position, size, watch, form)
        else:
            most = self._choose_bytes(form)
            answer = await self._read_kept(position, *position.result, size, most)
        return _build_page(answer, signer, size)

    def _start(
        self,
        signer: TokenSigner,
        text: str | None,
        parameters: Mapping[str, JsonValue],
        token: str | None,
        page_size: int | None,
    ) -> tuple[Position, int]:
        if token is None:
            if text is None:
                raise InvalidArgument("A query needs its text, or the continuation token of one.")
            return Position(text, parameters), self._sizes.build(page_size)
        carried = signer.parse(OPERATION, None, token)
        position = parse_position(carried.state)
        if (text is not None and text != position.text) or (
            parameters and parameters != position.parameters
        ):
            raise InvalidContinuationToken(
                "The continuation token belongs to another query. Send it with the query and the "
                "parameters of its first page, or alone."
            )
        return position, self._sizes.build(page_size, carried.size)

    async def _find_state(
        self, position: Position, clause: AsOf | None, as_of: Asked | None, token: str | None
    ) -> None:
        """Set the state of a first page; raise an error if a later one is of another state."""
        if clause is not None and as_of is not None:
            raise InvalidArgument(
                "The query begins with AS OF, and asOf is sent with it. Send one of them."
            )
        asked = str(as_of) if clause is None else clause.text
        if token is None:
            named = as_of if clause is None else _evaluate(clause, position.values)
            found = await self._history.find_position(check_asked(named))
            position.state = State(found, asked)
        elif position.state is None or position.state.asked != asked:
            raise InvalidContinuationToken(
                "The continuation token belongs to a query of another state. Send it with the asOf "
                "of its first page, or alone."
            )

    # --- pages of a result that is kept -------------------------------------------------------

    async def _read_kept(
        self, position: Position, name: str, offset: int, size: int, most: int
    ) -> Answer:
        """Return a page of a result that was, or still is being, written to a file."""
        deadline = time.monotonic() + self._context.settings.query.timeout
        read = partial(self._spool.read, name, offset, size, most)
        while (page := await asyncio.to_thread(read)) is None:
            if time.monotonic() > deadline:
                raise QueryTimeout("The next rows of the result did not come in time.")
            await asyncio.sleep(_PAUSE)
        following = None
        if page.following is not None:
            following = replace(position, result=(name, page.following))
        return Answer(page.rows, following, measure_rows(page.rows))

    # --- running ------------------------------------------------------------------------------

    async def _run(
        self,
        position: Position,
        size: int,
        watch: QueryWatch | None,
        form: PageForm | None,
    ) -> Answer:
        timeout = self._context.settings.query.timeout
        text, values = position.text, position.values
        request = self._build_request(position, size, watch, form)
        state = position.state
        if state is not None:
            answer = self._run_short_past(request, state)
            if answer is not None:
                return answer

            def take_past(session: GraphSession, publish: _Publish) -> Answer:
                read = partial(self._take, request=request, found=None, publish=publish)
                return self._history.show(state.position, read)(session)

            return await self._context.runner.scan_early(take_past, timeout)
        found = self._plans.find(text, values) if is_small(text, values) else None
        if found is not None and found.plan.is_short and self._tries_short:
            request.values = found.values
            answer = self._run_short(request, found.plan)
            if answer is not None:
                return answer

        def take(session: GraphSession, publish: _Publish) -> Answer:
            return self._take(session, request, found, publish)

        # PERF: beside long queries the clock ends runs on the loop; behind those of 24 clients, a
        # point read then waited for 22 s.
        quick = found is not None and found.plan.pace.was_short
        return await self._context.runner.scan_early(take, timeout, quick=quick)

    def _choose_bytes(self, form: PageForm | None) -> int:
        if form is None or form is OneState.JSON:
            return self._sizes.bytes
        return min(self._sizes.bytes, form.page_bytes)

    def _build_request(
        self, position: Position, size: int, watch: QueryWatch | None, form: PageForm | None
    ) -> PageRequest:
        settings, memory = self._context.settings.query, self._context.memory
        deadline = time.monotonic() + settings.timeout
        limits = Limits(
            settings.max_rows, deadline, settings.max_hops, Meter(), settings.max_bytes, memory
        )
        values, most = position.values, self._choose_bytes(form)
        return PageRequest(position, values, size, most, limits, self._plans, watch, form)

    # --- on the event loop, when it is short --------------------------------------------------

    def _run_short_past(self, request: PageRequest, state: State) -> Answer | None:
        """Return the page at once if there is a copy of the state, as `_run_short` does."""
        text, values = request.position.text, request.values
        found = self._state_plans.find(text, values) if is_small(text, values) else None
        if found is None or not found.plan.is_short or not self._tries_short:
            return None
        plan, request.plans = found.plan, self._state_plans
        given = replace(request, values=found.values)

        def take(session: GraphSession) -> Answer | None:
            assert isinstance(session, PastSession)  # noqa: S101  # `show` gives one
            with self._states.open_short(session, SHORT_STEPS, SHORT_SECONDS) as copy:
                return LATER if copy is None else take_short(copy, given, plan)

        return self._run_short(request, plan, self._history.show(state.position, take))

    def _run_short(
        self,
        request: PageRequest,
        plan: Plan,
        take: Callable[[GraphSession], Answer | None] | None = None,
    ) -> Answer | None:
        """Return the page at once, if this run of a recently short plan is short too, else None.

        PERF: switching to a thread and back takes longer than most short queries.
        """
        clock = time.thread_time if plan.pace.is_suspect else time.perf_counter
        start = clock()
        if request.watch is not None:
            request.watch.begin_run(plan)
        answer = self._context.runner.read_short(
            take or (lambda session: take_short(session, request, plan)),
            SHORT_STEPS,
            SHORT_SECONDS,
        )
        if answer is LATER:
            return None
        if answer is None:
            plan.pace.add_ended()
        else:
            plan.pace.add_short(clock() - start)
        return answer

    # --- in a thread --------------------------------------------------------------------------

    def _take(
        self, session: GraphSession, request: PageRequest, found: Found | None, publish: _Publish
    ) -> Answer:
        """Return the page by the engine's plan, or on `CannotRun` by the evaluator's."""
        if not isinstance(session, PastSession):
            return self._take_by(session, session, request, found, publish)
        if session.is_present:  # which engines can read; its snapshot is open
            return self._take_by(session.present, session, request, None, publish)
        # NOTE: questions that take as long as a copy, or fail, may have been too much without one.
        self._states.make(session, _OVERDUE)
        with self._states.open_long(session, request.limits.deadline) as copy:
            if copy is not None:
                request.plans = self._state_plans
                return self._take_by(copy, session, request, None, publish)
        start = time.thread_time()
        request.plans = self._past_plans
        try:
            answer = self._take_by(session, session, request, None, publish)
        finally:
            self._states.note(session, time.thread_time() - start)
        publish(answer)
        self._states.make(session)
        return answer

    def _take_by(
        self,
        session: GraphSession,
        asked: GraphSession,
        request: PageRequest,
        found: Found | None,
        publish: _Publish,
    ) -> Answer:
        """Return the page of a run on `session`, which shows the state of `asked`."""
        position, watch, plans = request.position, request.watch, request.plans
        session.watch_memory(self._context.memory.look)
        if self._series is not None:
            session.past = QueryPast(self._context, self._series, asked)
        if watch is not None:
            watch.begin_compile()
        # PERF: asking for the version of the models first would take a trip.
        is_guess = found is not None and session.learns_version
        if found is None or not is_guess:
            found = plans.open(session, position.text, position.values, found)
        plan, request.values = found
        if watch is not None:
            watch.begin_run(plan)
        start = time.thread_time()
        try:
            answer = self._take_page(session, request, plan, publish, is_guess=is_guess)
        except (TwinframeError, _OutdatedError) as error:
            if is_guess and not session.has_schema(plan.key.schema_version):
                return self._take_by(session, asked, request, None, publish)
            if not isinstance(error, CannotRun):
                raise
            plan = plans.give_up(plan, position.text, position.values)
            request.values = position.values
            if watch is not None:
                watch.begin_run(plan)
            return self._take_page(session, request, plan, publish)
        seconds = time.thread_time() - start
        plan.pace.add_threaded(seconds, session.read_steps(), plan.execution.short_seconds)
        return answer

    def _take_page(
        self,
        session: GraphSession,
        request: PageRequest,
        plan: Plan,
        publish: _Publish,
        *,
        is_guess: bool = False,
    ) -> Answer:
        """Return a page. A plan that `is_guess` may be of other models (`_OutdatedError`)."""
        size, has_keys = request.size, is_keyed(request, plan)
        # PERF: all rows of a longer result are read for writing; only one page is fetched here.
        found = run_plan(session, request, plan, size + 1 if has_keys else None)
        rows, count = take_rows(found, request)
        if is_guess and not session.has_schema(plan.key.schema_version):
            raise _OutdatedError
        answer = build_answer(session, request, plan, rows, count)
        if len(rows) <= count or answer.following is not None:
            return answer
        answer, writer = self._open_result(request, answer)
        publish(answer)
        rest = chain(rows[count:], found)
        self._write_down(session, request, plan, writer, RowDigest(answer.rows), rest)
        return answer

    def _open_result(self, request: PageRequest, answer: Answer) -> tuple[Answer, SpoolWriter]:
        """Return the page with the position where the rows after it will be."""
        writer = self._spool.open_writer()
        following = replace(request.position, result=(writer.name, 0))
        if request.form is not None:
            following.parameters = {}  # its token need not repeat them, and they may be no JSON
        return replace(answer, following=following), writer

    def _write_down(
        self,
        session: GraphSession,
        request: PageRequest,
        plan: Plan,
        writer: SpoolWriter,
        digest: RowDigest,
        rows: Iterator[JsonRow],
    ) -> None:
        """Write all rows after a page, whose `digest` this is, to a file.

        Errors are raised by the page that reaches them.
        """
        try:
            with writer:
                try:
                    self._write_rows(writer, digest.add(rows))
                except CannotRun:
                    # NOTE: most often a row is an error, which the engine leaves to the evaluator.
                    text, values = request.position.text, request.position.values
                    plan, request.values = request.plans.give_up(plan, text, values), values
                    again = run_plan(session, request, plan, None)
                    self._write_rows(writer, digest.skip(again), is_last=True)
        except OSError as error:
            _log.warning("A result could not be kept for its next pages: %s", error)

    def _write_rows(
        self, writer: SpoolWriter, rows: Iterator[bytes], *, is_last: bool = False
    ) -> None:
        """Write rows and the end of the result; raise `CannotRun` unless it `is_last`."""
        try:
            writer.write(rows)
        except TwinframeError as error:
            if isinstance(error, CannotRun) and not is_last:
                raise
            writer.finish(error)
        else:
            writer.finish()


def _build_page(answer: Answer, signer: TokenSigner, size: int) -> QueryPage:
    token = None
    if answer.following is not None:
        token = render_token(signer, answer.following, size)
    charge = round(1 + answer.cost, 2)
    return QueryPage(answer.rows, token, charge, answer.warnings, answer.columns)


def _build_values(parameters: Mapping[str, JsonValue]) -> Mapping[str, Value]:
    # Every JSON value is a query value; only the type of lists does not express that.
    return cast("Mapping[str, Value]", parameters)


def _evaluate(clause: AsOf, values: Mapping[str, Value]) -> Value:
    """Return the moment of a clause AS OF."""
    try:
        return evaluate_briefly(clause.moment, values)
    except QueryInvalid as error:
        raise clause.source.locate(error) from error
    except LookupError as error:
        raise InvalidArgument("The moment of AS OF cannot be read from the graph.") from error
