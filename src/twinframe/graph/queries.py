"""Use case of queries: parse, plan, run, page. The languages and engines are other modules' matter.

Paging: a plan whose rows come in the order of a key goes on behind the last key, so that writes
between pages neither repeat nor hide rows. The result of any other query that is longer than a page
is written down once, while its first page is on its way; all pages show the one snapshot.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeAlias, cast

from twinframe.cypher.language import Language, ParsedQuery, parse_query
from twinframe.cypher.options import FrontEndOptions
from twinframe.errors import (
    InvalidArgument,
    InvalidContinuationToken,
    QueryTimeout,
    TwinframeError,
)
from twinframe.evaluator.limits import Limits, Meter
from twinframe.evaluator.member_typing import MemberTyping
from twinframe.graph.context import GraphContext
from twinframe.graph.explain import ExplainExecution
from twinframe.graph.paging import PageSizes
from twinframe.graph.query_names import NameCache, NameCheck, QueryWarning
from twinframe.graph.spool import ResultSpool, SpoolLimits, SpoolWriter
from twinframe.graph.temporal_members import TypingCache
from twinframe.graph.tokens import Continuation, TokenSigner
from twinframe.model.values import JsonValue, Value
from twinframe.planner.execution import Execution
from twinframe.planner.optimize import optimize
from twinframe.planner.plan_cache import PlanCache, PlanKey, build_plan_key
from twinframe.planner.split import split
from twinframe.settings import QuerySettings
from twinframe.storage.base import CannotRun, GraphSession, JsonRow, QueryEngine

_OPERATION: Final = "query"
_ROWS_A_UNIT: Final = 100
_BYTES_A_UNIT: Final = 64 * 1024
_STORE_STEPS_A_UNIT: Final = 50_000
_EVALUATOR_STEPS_A_UNIT: Final = 500
_PAUSE: Final = 0.01

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueryPage:
    """Rows as JSON texts, the token of the next page (None on the last), the cost in query units.

    The cost is 1, and what was done for the page: 1 for each 100 rows given, each 64 KiB of them,
    each 50,000 steps of the store's engine and each 500 of the evaluator, which all take about a
    millisecond. It serves to compare queries and is no price. The first page has the warnings.
    """

    rows: tuple[bytes, ...]
    continuation_token: str | None
    charge: float
    warnings: tuple[QueryWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class _Position:
    """A query and where its next page starts.

    Behind the key `after`, or in the kept `result` (name and offset), else at its first row.
    """

    text: str
    parameters: Mapping[str, JsonValue]
    after: int | str | None = None
    result: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """Rows of a page, where the next one starts (None: nowhere), and the work it took in units."""

    rows: tuple[bytes, ...]
    following: _Position | None
    work: float = 0.0
    warnings: tuple[QueryWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a query runs, what is to be said about its names, and how members are read for it."""

    execution: Execution
    warnings: tuple[QueryWarning, ...] = ()
    typing: MemberTyping | None = None


_Publish: TypeAlias = Callable[[_Answer], None]


@dataclass(frozen=True, slots=True)
class _Request:
    """What a thread needs to answer a page."""

    position: _Position
    size: int
    limits: Limits
    publish: _Publish

    @property
    def values(self) -> Mapping[str, Value]:
        """The parameters as values of the query."""
        return _build_values(self.position.parameters)


class Queries:
    """Running queries of both languages."""

    def __init__(
        self, context: GraphContext, engine: QueryEngine | None, scratch: Path | None = None
    ) -> None:
        """Results longer than a page are kept in `scratch`, else among the temporary files."""
        settings = context.settings.query
        self._context = context
        self._engine = engine
        self._options = _build_options(settings)
        self._sizes = PageSizes(settings.page_size, settings.max_page_size)
        self._plans: PlanCache[_Plan] = PlanCache(settings.plan_cache)
        self._names = NameCheck(NameCache(), settings.strict)
        self._typings = TypingCache(context.models) if settings.temporal_properties else None
        self._spool = ResultSpool(
            scratch,
            SpoolLimits(
                settings.max_result_bytes, settings.results_bytes, settings.result_lifetime
            ),
        )

    async def run(
        self,
        text: str | None,
        parameters: Mapping[str, JsonValue] | None = None,
        continuation_token: str | None = None,
        page_size: int | None = None,
    ) -> QueryPage:
        """One page of rows. A token alone is enough to go on; a text beside it must be the same.

        Errors: `InvalidArgument`, `InvalidContinuationToken`, `QueryInvalid`, `QueryTimeout`,
        `LimitExceeded`.
        """
        signer = await self._context.read_signer()
        position, size = self._start(signer, text, parameters or {}, continuation_token, page_size)
        if position.result is None:
            answer = await self._run(position, size)
        else:
            answer = await self._read_kept(position, *position.result, size)
        token = None
        if answer.following is not None:
            token = _render_token(signer, answer.following, size)
        return QueryPage(answer.rows, token, _build_charge(answer), answer.warnings)

    def _start(
        self,
        signer: TokenSigner,
        text: str | None,
        parameters: Mapping[str, JsonValue],
        token: str | None,
        page_size: int | None,
    ) -> tuple[_Position, int]:
        if token is None:
            if text is None:
                raise InvalidArgument("A query needs its text, or the continuation token of one.")
            return _Position(text, parameters), self._sizes.build(page_size)
        carried = signer.parse(_OPERATION, None, token)
        position = _parse_position(carried.state)
        if (text is not None and text != position.text) or (
            parameters and parameters != position.parameters
        ):
            raise InvalidContinuationToken(
                "The continuation token belongs to another query. Send it with the query and the "
                "parameters of its first page, or alone."
            )
        return position, self._sizes.build(page_size, carried.size)

    # --- pages of a result that is kept -------------------------------------------------------

    async def _read_kept(self, position: _Position, name: str, offset: int, size: int) -> _Answer:
        """A page of a result that was, or still is being, written down."""
        deadline = time.monotonic() + self._context.settings.query.timeout
        while (page := await asyncio.to_thread(self._spool.read, name, offset, size)) is None:
            if time.monotonic() > deadline:
                raise QueryTimeout("The next rows of the result did not come in time.")
            await asyncio.sleep(_PAUSE)
        if page.following is None:
            return _Answer(page.rows, None)
        return _Answer(page.rows, replace(position, result=(name, page.following)))

    # --- running ------------------------------------------------------------------------------

    async def _run(self, position: _Position, size: int) -> _Answer:
        settings = self._context.settings.query
        deadline = time.monotonic() + settings.timeout
        limits = Limits(settings.max_rows, deadline, settings.max_hops, Meter())

        def take(session: GraphSession, publish: _Publish) -> _Answer:
            return self._take(session, _Request(position, size, limits, publish))

        return await self._context.runner.scan_early(take, settings.timeout)

    def _take(self, session: GraphSession, request: _Request) -> _Answer:
        """The page, by the engine's plan or, when that gives up, by the evaluator's."""
        version = session.read_schema_version()
        key = build_plan_key(request.position.text, request.values, version, self._options)
        plan = self._plans.find_or_build(
            key, lambda: self._plan(session, version, request, self._engine)
        )
        try:
            answer = self._take_page(session, request, plan, key)
        except CannotRun:
            plan = self._give_up(request, key, plan)
            answer = self._take_page(session, request, plan, key)
        return answer

    def _give_up(self, request: _Request, key: PlanKey, plan: _Plan) -> _Plan:
        # NOTE: kept, so that a client whose pages cannot go on gets all of them from the start.
        parsed = self._parse(request)
        execution = self._build_execution(parsed, request, None, plan.typing)
        plan = replace(plan, execution=execution)
        self._plans.keep(key, plan)
        return plan

    def _take_page(
        self, session: GraphSession, request: _Request, plan: _Plan, key: PlanKey
    ) -> _Answer:
        position, size, limits = request.position, request.size, request.limits
        is_keyed = plan.execution.resumable
        if position.after is not None and not is_keyed:
            raise InvalidContinuationToken(
                "The rows of this query have no key to go on behind. Run the query again."
            )
        # PERF: the rows of a longer result go on to be written down; one page alone is fetched.
        most = size + 1 if is_keyed else None
        found = plan.execution.run_json(
            session, request.values, limits, after=position.after, limit=most
        )
        rows = tuple(islice(found, size + 1))
        given = tuple(row.body for row in rows[:size])
        work = _build_work(session, limits)
        answer = _Answer(given, None, work, plan.warnings if position.after is None else ())
        if len(rows) <= size:
            return answer
        if is_keyed:
            return replace(answer, following=replace(position, after=rows[size - 1].key))
        return self._write_down(request, answer, chain(rows[size:], found), (key, plan))

    def _write_down(
        self,
        request: _Request,
        answer: _Answer,
        rows: Iterator[JsonRow],
        planned: tuple[PlanKey, _Plan],
    ) -> _Answer:
        """Give the page, then write all rows behind it down. Errors are for who comes so far."""
        writer = self._spool.open_writer()
        answer = replace(answer, following=replace(request.position, result=(writer.name, 0)))
        request.publish(answer)
        try:
            with writer:
                self._write_rows(writer, rows)
        except CannotRun:
            self._give_up(request, *planned)
        except OSError as error:
            _log.warning("A result could not be kept for its next pages: %s", error)
        return answer

    def _write_rows(self, writer: SpoolWriter, rows: Iterator[JsonRow]) -> None:
        try:
            writer.write(row.body for row in rows)
        except TwinframeError as error:
            writer.finish(error)
            if isinstance(error, CannotRun):
                raise
        else:
            writer.finish()

    def _plan(
        self, session: GraphSession, version: int, request: _Request, engine: QueryEngine | None
    ) -> _Plan:
        parsed = self._parse(request)
        text = request.position.text
        warnings = self._names.check(session, version, text, parsed.language, parsed.query.root)
        typing = None
        if self._typings is not None and parsed.language is Language.CYPHER:
            typing = self._typings.open(session, version)
        return _Plan(self._build_execution(parsed, request, engine, typing), warnings, typing)

    def _parse(self, request: _Request) -> ParsedQuery:
        return parse_query(request.position.text, parameters=request.values, options=self._options)

    def _build_execution(
        self,
        parsed: ParsedQuery,
        request: _Request,
        engine: QueryEngine | None,
        typing: MemberTyping | None,
    ) -> Execution:
        execution = split(optimize(parsed.query), engine, request.values, typing)
        return ExplainExecution(execution) if parsed.explain else execution


def _build_options(settings: QuerySettings) -> FrontEndOptions:
    return FrontEndOptions(
        max_text_bytes=settings.max_text_bytes,
        max_depth=settings.max_depth,
        max_hops=settings.max_hops,
        vendor_hops_exclusive=settings.vendor_hops_exclusive,
        vendor_extensions=settings.vendor_extensions,
    )


def _build_values(parameters: Mapping[str, JsonValue]) -> Mapping[str, Value]:
    # Every JSON value is a query value; only the type of lists does not say so.
    return cast("Mapping[str, Value]", parameters)


def _render_token(signer: TokenSigner, position: _Position, size: int) -> str:
    result: JsonValue = None if position.result is None else [*position.result]
    state: JsonValue = [position.text, dict(position.parameters), position.after, result]
    return signer.render(_OPERATION, None, Continuation(state, size))


def _parse_position(state: JsonValue) -> _Position:
    # Only what was signed here comes this far.
    text, parameters, after, result = cast(
        "tuple[str, dict[str, JsonValue], int | str | None, tuple[str, int] | None]", state
    )
    return _Position(text, parameters, after, result and (result[0], result[1]))


def _build_work(session: GraphSession, limits: Limits) -> float:
    evaluated = 0 if limits.meter is None else limits.meter.steps
    return session.read_steps() / _STORE_STEPS_A_UNIT + evaluated / _EVALUATOR_STEPS_A_UNIT


def _build_charge(answer: _Answer) -> float:
    size = sum(map(len, answer.rows))
    return round(1 + len(answer.rows) / _ROWS_A_UNIT + size / _BYTES_A_UNIT + answer.work, 2)
