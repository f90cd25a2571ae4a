"""Computes the values of a derivation, for some of its twins at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import orjson

from twinframe.errors import LimitExceeded, QueryInvalid, QueryTimeout
from twinframe.graph.context.context import GraphContext
from twinframe.graph.derivations.texts import IDS
from twinframe.graph.queries.plans import Found, Plan, QueryPlans
from twinframe.graph.queries.short_runs import SHORT_SECONDS, SHORT_STEPS
from twinframe.model.values import JsonValue, Value
from twinframe.query.engine import CannotRun, QueryEngine
from twinframe.query.evaluate.limits import Limits
from twinframe.storage.base import GraphSession

AT_ONCE: Final = 200
"""Twins whose values are computed, and written, together."""
_FEW: Final = 16
"""Twins whose values may be computed on the event loop."""
_QUICK: Final = 8
"""After less than an eighth of the timeout, twice as many twins are tried."""

_Row = dict[str, Any]


class Computed(NamedTuple):
    """The value of a twin, and the one that is stored; `error` says why it has none."""

    twin_id: str
    value: JsonValue
    stored: JsonValue = None
    error: str = ""


class Attempt(NamedTuple):
    """The values of the first of some twins, those that are `done`; `at_once` of the others are to
    be tried together. `is_late`: it ended by an error that took long, such as a timeout.
    """

    values: list[Computed]
    done: Sequence[str]
    at_once: int
    is_late: bool = False


class Computing:
    """Runs the queries of derivations as `graph.queries` runs those of callers."""

    def __init__(self, context: GraphContext, engine: QueryEngine | None) -> None:
        self._context = context
        self._settings = context.settings.query
        # A name that is no longer known, since its model was deleted, is no error of a value.
        lenient = self._settings.model_copy(update={"strict": False})
        self._plans = QueryPlans(lenient, context.models, engine)

    def check_names(self, session: GraphSession, text: str) -> str | None:
        """Return what is wrong with a name of the query that no model has; None if all are known.

        Raises the errors of a query.
        """
        found = self._plans.open(session, text, _build_values({IDS: []}))
        return found.plan.warnings[0].message if found.plan.warnings else None

    async def compute(self, text: str, ids: Sequence[str], at_once: int) -> Attempt:
        """Compute the values of the twins, of `at_once` together, for not much more than a timeout.

        Left out are twins that do not exist or are of another model. A value whose computation
        fails is null; of several twins, fewer are tried. Raises errors of the store.
        """
        values: list[Computed] = []
        count, is_late, most = 0, False, self._settings.timeout
        start = now = time.monotonic()
        while count < len(ids) and not is_late and now - start < most / 2:
            some = ids[count : count + at_once]
            error, began = None, now
            try:
                rows = await self.run(text, {IDS: [*some]}, may_be_short=len(some) <= _FEW)
                values += [Computed(row["id"], row["value"], row["stored"]) for row in rows]
            except (LimitExceeded, QueryInvalid, QueryTimeout) as failed:
                error = failed
                if len(some) == 1:
                    values.append(Computed(some[0], None, error=failed.message))
            now = time.monotonic()
            if error is None or len(some) == 1:
                count += len(some)
            if error is not None:
                at_once = max(len(some) // 2, 1)
                is_late = isinstance(error, QueryTimeout) or now - start >= most / 2
            elif _QUICK * (now - began) < most:
                at_once = min(2 * at_once, AT_ONCE)
        return Attempt(values, ids[:count], at_once, is_late)

    async def run(
        self, text: str, parameters: Mapping[str, JsonValue], *, may_be_short: bool = False
    ) -> list[_Row]:
        """Return all rows of a query, in one snapshot."""
        values = _build_values(parameters)
        found = self._plans.find(text, values) if may_be_short else None
        if found is not None and found.plan.is_short:
            rows = self._run_short(found)
            if rows is not None:
                return rows
        timeout = self._settings.timeout
        return await self._context.runner.scan(partial(self._take, text, values), timeout)

    def _run_short(self, found: Found) -> list[_Row] | None:
        pace = found.plan.pace
        clock = time.thread_time if pace.is_suspect else time.perf_counter
        start = clock()
        rows = self._context.runner.read_short(
            lambda session: self._take_short(session, found), SHORT_STEPS, SHORT_SECONDS
        )
        if rows is None:
            pace.add_ended()
        else:
            pace.add_short(clock() - start)
        return rows

    def _take_short(self, session: GraphSession, found: Found) -> list[_Row] | None:
        rows = self._read(session, found.plan, found.values)
        return rows if session.has_schema(found.plan.key.schema_version) else None

    def _take(self, text: str, values: Mapping[str, Value], session: GraphSession) -> list[_Row]:
        session.watch_memory(self._context.memory.look)
        plan, given = self._plans.open(session, text, values)
        start = time.thread_time()
        try:
            rows = self._read(session, plan, given)
        except CannotRun:
            plan = self._plans.give_up(plan, text, values)
            return self._read(session, plan, values)
        seconds = time.thread_time() - start
        plan.pace.add_threaded(seconds, session.read_steps(), plan.execution.short_seconds)
        return rows

    def _read(self, session: GraphSession, plan: Plan, values: Mapping[str, Value]) -> list[_Row]:
        settings = self._settings
        deadline = time.monotonic() + settings.timeout
        limits = Limits(
            settings.max_rows,
            deadline,
            settings.max_hops,
            max_bytes=settings.max_bytes,
            memory=self._context.memory,
        )
        return [orjson.loads(body) for body, _ in plan.execution.run_json(session, values, limits)]


def _build_values(parameters: Mapping[str, JsonValue]) -> Mapping[str, Value]:
    return parameters  # type: ignore[return-value]  # every JSON value is one of a query
