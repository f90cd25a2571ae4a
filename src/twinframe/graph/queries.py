"""Use case of queries: parse, plan, run, page. The languages and engines are other modules' matter.

Paging: a plan whose rows come in the order of a key goes on behind the last key, so that writes
between pages neither repeat nor hide rows; any other query runs again and leaves out the rows
already given, each page on the newest state.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, cast

from twinframe.cypher.language import parse_query
from twinframe.cypher.options import FrontEndOptions
from twinframe.errors import InvalidArgument, InvalidContinuationToken
from twinframe.evaluator.limits import Limits
from twinframe.graph.context import GraphContext
from twinframe.graph.explain import ExplainExecution
from twinframe.graph.paging import PageSizes
from twinframe.graph.tokens import Continuation, TokenSigner
from twinframe.model.values import JsonValue, Value
from twinframe.planner.execution import Execution
from twinframe.planner.optimize import optimize
from twinframe.planner.plan_cache import PlanCache, build_plan_key
from twinframe.planner.split import split
from twinframe.settings import QuerySettings
from twinframe.storage.base import CannotRun, GraphSession, JsonRow, QueryEngine

_OPERATION: Final = "query"
_ROWS_A_UNIT: Final = 100
_BYTES_A_UNIT: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class QueryPage:
    """Rows as JSON texts, the token of the next page (None on the last), the cost in query units.

    The cost is 1 and what the rows weigh: 1 for each 100 of them and for each 64 KiB. It serves
    to compare queries and is no price.
    """

    rows: tuple[bytes, ...]
    continuation_token: str | None
    charge: float


@dataclass(frozen=True, slots=True)
class _Position:
    """A query and where its next page starts: behind the key `after`, else after `skip` rows."""

    text: str
    parameters: Mapping[str, JsonValue]
    after: int | str | None = None
    skip: int = 0


class Queries:
    """Running queries of both languages."""

    def __init__(self, context: GraphContext, engine: QueryEngine | None) -> None:
        settings = context.settings.query
        self._context = context
        self._engine = engine
        self._options = _build_options(settings)
        self._sizes = PageSizes(settings.page_size, settings.max_page_size)
        self._plans = PlanCache(settings.plan_cache)

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
        timeout = self._context.settings.query.timeout
        limits = self._build_limits(time.monotonic() + timeout)

        rows, resumable = await self._context.runner.scan(
            lambda session: self._take(session, position, limits, size + 1), timeout
        )
        given = rows[:size]
        following = None
        if len(rows) > size:
            following = _render_token(signer, position, given, size, resumable=resumable)
        return QueryPage(tuple(row.body for row in given), following, _build_charge(given))

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
        position = _Position(*cast("tuple[str, dict[str, JsonValue], str, int]", carried.state))
        if (text is not None and text != position.text) or (
            parameters and parameters != position.parameters
        ):
            raise InvalidContinuationToken(
                "The continuation token belongs to another query. Send it with the query and the "
                "parameters of its first page, or alone."
            )
        return position, self._sizes.build(page_size, carried.size)

    def _take(
        self, session: GraphSession, position: _Position, limits: Limits, count: int
    ) -> tuple[tuple[JsonRow, ...], bool]:
        """At most `count` rows from `position` on, and whether their keys can be gone on behind."""
        version = session.read_schema_version()
        values = _build_values(position.parameters)
        key = build_plan_key(position.text, values, version, self._options)

        def take(execution: Execution) -> tuple[tuple[JsonRow, ...], bool]:
            after, skip = position.after, position.skip
            rows = execution.run_json(session, values, limits, after=after, skip=skip, limit=count)
            return tuple(islice(rows, count)), execution.resumable

        execution = self._plans.find_or_build(key, lambda: self._plan(position, self._engine))
        try:
            return take(execution)
        except CannotRun:
            # NOTE: kept, so that a client whose pages cannot go on gets all of them from the start.
            execution = self._plan(position, None)
            self._plans.keep(key, execution)
            return take(execution)

    def _plan(self, position: _Position, engine: QueryEngine | None) -> Execution:
        values = _build_values(position.parameters)
        parsed = parse_query(position.text, parameters=values.keys(), options=self._options)
        execution = split(optimize(parsed.query), engine, values)
        return ExplainExecution(execution) if parsed.explain else execution

    def _build_limits(self, deadline: float) -> Limits:
        settings = self._context.settings.query
        return Limits(settings.max_rows, deadline, settings.max_hops)


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


def _render_token(
    signer: TokenSigner,
    position: _Position,
    given: tuple[JsonRow, ...],
    size: int,
    *,
    resumable: bool,
) -> str:
    after = given[-1].key if resumable else None
    skip = position.skip + len(given) if after is None else 0
    state: JsonValue = [position.text, dict(position.parameters), after, skip]
    return signer.render(_OPERATION, None, Continuation(state, size))


def _build_charge(rows: tuple[JsonRow, ...]) -> float:
    size = sum(len(row.body) for row in rows)
    return round(1 + len(rows) / _ROWS_A_UNIT + size / _BYTES_A_UNIT, 2)
