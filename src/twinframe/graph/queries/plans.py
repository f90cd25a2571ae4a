"""The plans of queries: parses, checks names, splits between engines, and caches."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from twinframe.graph.context.model_cache import ModelCache
from twinframe.graph.queries.explaining import ExplainExecution, ProfileExecution
from twinframe.graph.queries.names import NameCache, NameCheck, QueryWarning
from twinframe.graph.queries.short_runs import Pace
from twinframe.graph.queries.temporal_members import TypingCache
from twinframe.graph.queries.watch import build_digest
from twinframe.model.values import Value
from twinframe.query.engine import QueryEngine
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.language import Language, ParsedQuery, parse_query
from twinframe.query.options import FrontEndOptions
from twinframe.query.plan.execution import Execution
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.plan_cache import PlanCache, PlanKey, build_plan_key
from twinframe.query.plan.profile import Profiler, unshare
from twinframe.query.plan.split import split
from twinframe.query.render import render_query
from twinframe.settings import QuerySettings
from twinframe.storage.base import GraphSession

_LONG: Final = 2_000
_LONG_TURN: Final = threading.Lock()
_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query runs, the warnings about its names, and how members are read for it.

    `key` is its cache key; `pace` is what was measured of its runs.
    """

    key: PlanKey
    execution: Execution
    warnings: tuple[QueryWarning, ...] = ()
    typing: MemberTyping | None = None
    pace: Pace = field(default_factory=Pace)

    def fingerprint(self) -> str:
        """A digest of the plan: equal for texts with the same algebra."""
        return build_digest(render_query(self.execution.query))

    @property
    def is_short(self) -> bool:
        """Whether the next run may be tried on the event loop, where only a store is bounded."""
        return self.execution.is_whole and self.pace.is_short


class QueryPlans:
    """The plans of one graph, by text, types of the parameters and models. Thread-safe."""

    def __init__(
        self, settings: QuerySettings, models: ModelCache, engine: QueryEngine | None
    ) -> None:
        self._engine = engine
        self._options = _build_options(settings)
        # NOTE: the options are no part of its keys: all plans here have the same.
        self._kept: PlanCache[Plan] = PlanCache(settings.plan_cache)
        self._names = NameCheck(NameCache(), settings.strict)
        self._typings = TypingCache(models) if settings.temporal_properties else None
        self._version: int | None = None

    def find(self, text: str, values: Mapping[str, Value]) -> Plan | None:
        """Return the cached plan under the models that were seen last; the run compares these."""
        if self._version is None:
            return None
        return self._kept.find(build_plan_key(text, values, self._version))

    def open(
        self,
        session: GraphSession,
        text: str,
        values: Mapping[str, Value],
        found: Plan | None = None,
    ) -> Plan:
        """Return the plan under the models that `session` sees, building it if it is not cached.

        PERF: `found` is the result of `find` for the same; it is looked up once only.
        """
        self._version = version = session.read_schema_version()
        if found is not None and found.key.schema_version == version:
            return found
        key = build_plan_key(text, values, version)
        if len(text) <= _LONG:
            return self._kept.find_or_build(key, lambda: self._build(session, key, values))
        # PERF: tokens, trees and plans of one long text are enough to start the garbage collector,
        # which stops all threads while it visits them.
        while not _LONG_TURN.acquire(timeout=_PAUSE):
            session.check_deadline()
        try:
            return self._kept.find_or_build(key, lambda: self._build(session, key, values))
        finally:
            _LONG_TURN.release()

    def give_up(self, plan: Plan, values: Mapping[str, Value]) -> Plan:
        """Return the plan without the engine, since a run of `plan` met what that cannot do."""
        # NOTE: cached, so that a client whose pages cannot continue gets all of them from the
        # start.
        parsed = self._parse(plan.key, values)
        execution = _build_execution(parsed, values, None, plan.typing)
        plan = replace(plan, execution=execution)
        self._kept.keep(plan.key, plan)
        return plan

    def _build(self, session: GraphSession, key: PlanKey, values: Mapping[str, Value]) -> Plan:
        parsed, version = self._parse(key, values), key.schema_version
        root = parsed.query.root
        warnings = self._names.check(session, version, key.text, parsed.language, root)
        typing = None
        if self._typings is not None and parsed.language is Language.CYPHER:
            typing = self._typings.open(session, version)
        execution = _build_execution(parsed, values, self._engine, typing)
        return Plan(key, execution, warnings, typing)

    def _parse(self, key: PlanKey, values: Mapping[str, Value]) -> ParsedQuery:
        return parse_query(key.text, parameters=values, options=self._options)


def _build_execution(
    parsed: ParsedQuery,
    values: Mapping[str, Value],
    engine: QueryEngine | None,
    typing: MemberTyping | None,
) -> Execution:
    query = optimize(parsed.query)
    if parsed.prefix == "PROFILE":
        execution = split(unshare(query), engine, values, typing)
        return ProfileExecution(execution, Profiler(engine, typing))
    execution = split(query, engine, values, typing)
    return ExplainExecution(execution) if parsed.prefix else execution


def _build_options(settings: QuerySettings) -> FrontEndOptions:
    return FrontEndOptions(
        max_text_bytes=settings.max_text_bytes,
        max_words=settings.max_words,
        max_depth=settings.max_depth,
        max_hops=settings.max_hops,
        vendor_hops_exclusive=settings.vendor_hops_exclusive,
        vendor_extensions=settings.vendor_extensions,
    )
