"""The plans of queries: parses, checks names, splits between engines, and caches."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from twinframe.graph.context.model_cache import ModelCache
from twinframe.graph.queries.explaining import ExplainExecution, ProfileExecution
from twinframe.graph.queries.names import NameCache, NameCheck, QueryWarning
from twinframe.graph.queries.short_runs import Pace
from twinframe.graph.queries.temporal_members import TypingCache
from twinframe.graph.queries.watch import build_digest, render_engine
from twinframe.model.values import Value
from twinframe.query.engine import QueryEngine
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.language import Language, ParsedQuery, parse_query
from twinframe.query.options import FrontEndOptions
from twinframe.query.plan.execution import Execution
from twinframe.query.plan.lifting import (
    Form,
    Pieces,
    lift_literals,
    restore_literals,
    split_text,
)
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.plan_cache import PlanCache, PlanKey, build_plan_key
from twinframe.query.plan.profile import Profiler, unshare
from twinframe.query.plan.split import split
from twinframe.query.render import render_query
from twinframe.query.writing.procedures import NO_PROCEDURES, Procedures
from twinframe.query.writing.reading import StatementExecution
from twinframe.settings import QuerySettings
from twinframe.storage.base import GraphSession

_LONG: Final = 2_000
_LONG_TURN: Final = threading.Lock()
_PAUSE: Final = 0.05
_SHARED: Final = "shared"
_UNSHARED: Final = Form((), frozenset())
_WIDEST: Final = 4
"""The most bytes of a character."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query runs, the warnings about its names, and how members are read for it.

    `key` is its cache key; `pace` is what was measured of its runs. `form` is that of the texts
    that share it, and `lifted` are the values with which the first of them ran.
    """

    key: PlanKey
    execution: Execution
    warnings: tuple[QueryWarning, ...] = ()
    typing: MemberTyping | None = None
    form: Form | None = None
    lifted: Mapping[str, Value] = field(default_factory=dict)
    pace: Pace = field(default_factory=Pace)

    @property
    def engine(self) -> str:
        """The engine that runs it, for instruments."""
        return render_engine(self.execution)

    def fingerprint(self) -> str:
        """A digest of the plan: equal for texts with the same algebra."""
        if isinstance(self.execution, StatementExecution):
            return build_digest(self.key.text)
        query = self.execution.query
        if self.form is not None:
            query = restore_literals(query, self.lifted)
        return build_digest(render_query(query))

    @property
    def is_short(self) -> bool:
        """Whether the next run may be tried on the event loop, where only a store is bounded."""
        return self.execution.is_whole and self.pace.is_short


class Found(NamedTuple):
    """A plan, and the values with which it runs a text: its parameters and lifted literals."""

    plan: Plan
    values: Mapping[str, Value]


class QueryPlans:
    """The plans of one graph, by text, types of the parameters and models. Thread-safe.

    Texts that differ only in literals share a plan where the store runs all of it.
    """

    def __init__(
        self,
        settings: QuerySettings,
        models: ModelCache,
        engine: QueryEngine | None,
        procedures: Procedures = NO_PROCEDURES,
    ) -> None:
        self._engine = engine
        self._procedures = procedures
        self.options = replace(build_options(settings), calls=bool(procedures))
        # NOTE: the options are no part of its keys: all plans here have the same.
        # NOTE: a form is kept by the skeleton of its texts, unless a plan with it is.
        self._kept: PlanCache[Plan | Form] = PlanCache(settings.plan_cache)
        self._names = NameCheck(NameCache(), settings.strict)
        self._typings = TypingCache(models) if settings.temporal_properties else None
        self._version: int | None = None
        self._shares = engine is not None and engine.shares_plans

    def find(self, text: str, values: Mapping[str, Value]) -> Found | None:
        """Return the cached plan under the models that were seen last; the run compares these."""
        return None if self._version is None else self._find(text, values, self._version)

    def _find(self, text: str, values: Mapping[str, Value], version: int) -> Found | None:
        key = build_plan_key(text, values, version)
        plan = self._kept.find(key)
        if isinstance(plan, Plan):
            return Found(plan, values)
        pieces = self._split(text)
        if pieces is None:
            return None
        plan = self._kept.find(_build_shared_key(pieces.skeleton, key))
        if isinstance(plan, Form) and plan.given:
            plan = self._kept.find(_build_shared_key(plan.build_template(pieces), key))
        if not isinstance(plan, Plan) or plan.form is None:
            return None
        return Found(plan, plan.form.build_values(pieces, values))

    def _split(self, text: str) -> Pieces | None:
        # NOTE: the longest text is a limit of each text, not of those that share a plan.
        if not self._shares or len(text) * _WIDEST > self.options.max_text_bytes:
            return None
        return split_text(text)

    def open(
        self,
        session: GraphSession,
        text: str,
        values: Mapping[str, Value],
        found: Found | None = None,
    ) -> Found:
        """Return the plan under the models that `session` sees, building it if it is not cached.

        PERF: `found` is the result of `find` for the same; it is looked up once only.
        """
        self._version = version = session.read_schema_version()
        if found is not None and found.plan.key.schema_version == version:
            return found
        if len(text) <= _LONG:
            return self._find_or_build(session, text, values, version)
        # PERF: tokens, trees and plans of one long text are enough to start the garbage collector,
        # which stops all threads while it visits them.
        while not _LONG_TURN.acquire(timeout=_PAUSE):
            session.check_deadline()
        try:
            return self._find_or_build(session, text, values, version)
        finally:
            _LONG_TURN.release()

    def give_up(self, plan: Plan, text: str, values: Mapping[str, Value]) -> Plan:
        """Return the plan of a text without the engine, since a run of `plan` met what that cannot
        do.
        """
        # NOTE: cached, so that a client whose pages cannot continue gets all of them from the
        # start.
        parsed = self._parse(text, values)
        execution = _build_execution(parsed, values, None, plan.typing)
        key = build_plan_key(text, values, plan.key.schema_version)
        plan = Plan(key, execution, plan.warnings, plan.typing, pace=plan.pace)
        self._kept.keep(key, plan)
        return plan

    def _find_or_build(
        self, session: GraphSession, text: str, values: Mapping[str, Value], version: int
    ) -> Found:
        """NOTE: two threads may build the same plan at once; a lock held while building would let
        one slow plan block all others.
        """
        found = self._find(text, values, version)
        if found is None:
            found = self._build(session, build_plan_key(text, values, version), values)
            self._kept.keep(found.plan.key, found.plan)
        return found

    def _build(self, session: GraphSession, key: PlanKey, values: Mapping[str, Value]) -> Found:
        parsed, version = self._parse(key.text, values), key.schema_version
        root = parsed.query.root
        warnings = self._names.check(session, version, key.text, parsed.language, root)
        typing = None
        if self._typings is not None and parsed.language is Language.CYPHER:
            typing = self._typings.open(session, version)
        # NOTE: a warning names a place in the text.
        shared = not (warnings or parsed.prefix) and self._build_shared(parsed, key, values, typing)
        if shared:
            return shared
        execution = _build_execution(parsed, values, self._engine, typing)
        return Found(Plan(key, execution, warnings, typing), values)

    def _build_shared(
        self,
        parsed: ParsedQuery,
        key: PlanKey,
        values: Mapping[str, Value],
        typing: MemberTyping | None,
    ) -> Found | None:
        """Return a plan that texts with other literals can use; None where they cannot."""
        pieces = self._split(key.text)
        if pieces is None or parsed.statement is not None:
            return None
        by_skeleton = _build_shared_key(pieces.skeleton, key)
        before = self._kept.find(by_skeleton)
        if isinstance(before, Form) and not before.given:
            return None
        lifted = lift_literals(parsed.query, pieces)
        if lifted is not None:
            query, form = lifted
            given = form.build_values(pieces, values)
            execution = _build_execution(replace(parsed, query=query), given, self._engine, typing)
            if not execution.points_into_text:
                key = _build_shared_key(form.build_template(pieces), key)
                if key != by_skeleton:
                    self._kept.keep(by_skeleton, form)
                return Found(Plan(key, execution, (), typing, form, given), given)
        self._kept.keep(by_skeleton, _UNSHARED)
        return None

    def _parse(self, text: str, values: Mapping[str, Value]) -> ParsedQuery:
        parsed = parse_query(
            text, parameters=values, options=self.options, procedures=self._procedures
        )
        if parsed.as_of is not None:  # whoever runs it has taken one off already
            raise parsed.as_of.refuse("AS OF may stand before a query once")
        return parsed


def _build_shared_key(template: str, key: PlanKey) -> PlanKey:
    """Return the key of what texts share, from that of one of them."""
    return PlanKey(template, key.signature, key.schema_version, _SHARED)


def _build_execution(
    parsed: ParsedQuery,
    values: Mapping[str, Value],
    engine: QueryEngine | None,
    typing: MemberTyping | None,
) -> Execution:
    if parsed.statement is not None:
        return StatementExecution(parsed.query, parsed.statement, engine, typing)
    query = optimize(parsed.query)
    if parsed.prefix == "PROFILE":
        execution = split(unshare(query), engine, values, typing)
        return ProfileExecution(execution, Profiler(engine, typing))
    execution = split(query, engine, values, typing)
    return ExplainExecution(execution) if parsed.prefix else execution


def build_options(settings: QuerySettings) -> FrontEndOptions:
    """Return the limits of query texts."""
    return FrontEndOptions(
        max_text_bytes=settings.max_text_bytes,
        max_words=settings.max_words,
        max_depth=settings.max_depth,
        max_hops=settings.max_hops,
        vendor_hops_exclusive=settings.vendor_hops_exclusive,
        vendor_extensions=settings.vendor_extensions,
    )
