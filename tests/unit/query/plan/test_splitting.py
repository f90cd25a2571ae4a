"""What goes to a store's engine and what to the evaluator, and that rows stay the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.query.evaluate.graphs import MemoryReader, build_building
from tests.unit.query.evaluate.terms import call, lit, node, op, pattern, prop, rel, var
from twinframe.errors import InvalidContinuationToken
from twinframe.model.rendering import render_row
from twinframe.model.values import Value
from twinframe.query.algebra import (
    Aggregate,
    AggregateCall,
    AggregateKind,
    Binary,
    Distinct,
    Filter,
    Limit,
    Match,
    Operator,
    Parameter,
    Project,
    Query,
    ResultShape,
    Sort,
    SortKey,
    Union,
    Unit,
)
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow, QueryEngine
from twinframe.query.evaluate.analysis import find_conjuncts, walk_sources
from twinframe.query.evaluate.engine import run
from twinframe.query.evaluate.limits import Limits
from twinframe.query.plan.execution import EvaluatedExecution, WholeExecution
from twinframe.query.plan.plan_cache import PlanCache, build_plan_key
from twinframe.query.plan.split import split
from twinframe.storage.base import GraphSession


class Session(MemoryReader, GraphSession):
    """The building behind the whole reading seam, of which the planner uses the port alone."""


Session.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]  # the rest is never called


def open_session() -> Session:
    building = build_building()
    return Session(building._nodes.values(), building._relationships)


class PickyCompiled(CompiledQuery):
    """Runs its query by the evaluator, as a store would by its own means."""

    resumable = True

    def __init__(self, query: Query) -> None:
        self.query = query
        self.text = repr(query.root)

    def run_json(
        self,
        session: GraphSession,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        found = list(self.run_rows(session, parameters))[skip:]
        for position, row in enumerate(found[:limit]):
            yield render_row(self.query.columns, row), position

    def run_rows(
        self, session: GraphSession, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        return run(self.query, session, parameters)


class PickyEngine(QueryEngine):
    """Takes plans of the named operators only."""

    name = "picky"

    def __init__(self, *takes: type) -> None:
        self.takes = (Unit, *takes)
        self.asked: list[Query] = []

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        self.asked.append(query)
        for operator in walk_sources(query.root):
            if not isinstance(operator, self.takes):
                raise CannotRun(f"no {type(operator).__name__}")
        return PickyCompiled(query)


FOUND = Match(
    Unit(),
    pattern(node("a", "Room"), node("b"), node(" c"), rel("r", "a", "b"), rel(" s", " c", "a")),
    op(prop("a", "area"), ">", Parameter("least")),
)
NAMED = Project(FOUND, (("n", prop("a", "name")), ("b", prop("b", "$dtId"))))
PARAMETERS: dict[str, Value] = {"least": 10}


def list_rows(query: Query, engine: QueryEngine | None) -> list[tuple[Any, ...]]:
    execution = split(query, engine, PARAMETERS)
    return sorted(execution.run_rows(open_session(), PARAMETERS, Limits()), key=repr)


def test_without_an_engine_the_evaluator_runs_all() -> None:
    execution = split(Query(NAMED, ("n", "b")), None, PARAMETERS)
    assert isinstance(execution, EvaluatedExecution)
    assert (execution.parts, execution.resumable) == ((), False)


def test_an_engine_that_takes_the_whole_query_gets_it() -> None:
    execution = split(Query(NAMED, ("n", "b")), PickyEngine(Match, Project), PARAMETERS)
    assert isinstance(execution, WholeExecution)
    assert execution.resumable
    assert [part.operator for part in execution.parts] == [NAMED]


def test_the_largest_part_at_the_bottom_goes_to_the_engine_with_what_is_needed_above() -> None:
    query = Query(Sort(NAMED, (SortKey(var("n")),)), ("n", "b"))
    for takes, operator, columns in (
        ((Match, Project), NAMED, ("n", "b")),
        ((Match,), FOUND, ("a", "b")),
    ):
        execution = split(query, PickyEngine(*takes), PARAMETERS)
        assert isinstance(execution, EvaluatedExecution)
        [part] = execution.parts
        assert part.operator is operator
        assert part.columns == columns
        assert execution.declined == "no Sort"


def test_an_engine_that_takes_nothing_leaves_all_to_the_evaluator() -> None:
    execution = split(Query(NAMED, ("n", "b")), PickyEngine(), PARAMETERS)
    assert execution.parts == ()


def test_rows_that_are_only_counted_still_carry_a_column() -> None:
    counted = Aggregate(FOUND, (), (("n", AggregateCall(AggregateKind.COUNT_ROWS)),))
    execution = split(Query(counted, ("n",)), PickyEngine(Match), PARAMETERS)
    [part] = execution.parts
    assert part.columns == ("a",)
    assert list(execution.run_rows(open_session(), PARAMETERS, Limits())) == [(13,)]


def test_what_compares_whole_rows_gets_whole_rows() -> None:
    plan = Project(Distinct(FOUND), (("b", prop("b", "$dtId")),))
    execution = split(Query(plan, ("b",)), PickyEngine(Match), PARAMETERS)
    assert set(execution.parts[0].columns) == {"a", "b", " c", "r", " s"}


def test_both_sides_of_a_union_are_pushed() -> None:
    union = Union(NAMED, Project(FOUND, (("b", lit(1)), ("n", prop("b", "name")))), all=True)
    execution = split(Query(union, ("n", "b")), PickyEngine(Match, Project), PARAMETERS)
    assert len(execution.parts) == 2


PLANS = st.sampled_from(
    [
        NAMED,
        Distinct(Project(NAMED, (("b", lit(None)), ("n", var("n"))))),
        Limit(Sort(NAMED, (SortKey(var("b"), True), SortKey(var("n")))), lit(3)),
        Filter(NAMED, op(var("n"), "STARTS WITH", "L")),
        Union(NAMED, NAMED, all=False),
        Aggregate(
            FOUND,
            (("n", call("type", var("r"))),),
            (("b", AggregateCall(AggregateKind.COUNT, (var("b"),), True)),),
        ),
        Match(NAMED, pattern(node("d", name=var("n")))),
        Project(
            Match(FOUND, pattern(node("b"), node("d"), rel("t", "b", "d")), None, True),
            (("n", prop("d", "$dtId")), ("b", prop("b", "name"))),
        ),
    ]
)
TAKEN = st.sets(
    st.sampled_from([Match, Project, Filter, Distinct, Sort, Limit, Union, Aggregate])
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(PLANS, TAKEN)
def test_rows_are_equal_however_a_query_is_split(root: Operator, taken: set[type]) -> None:
    query = Query(root, ("n", "b"))
    assert list_rows(query, PickyEngine(*taken)) == list_rows(query, None)


# --- rows for the wire ------------------------------------------------------------------------


def read_bodies(query: Query, engine: QueryEngine | None = None, **page: Any) -> list[bytes]:
    execution = split(query, engine, PARAMETERS)
    found = execution.run_json(open_session(), PARAMETERS, Limits(), **page)
    return [body for body, _ in found]


ORDERED = Sort(Match(Unit(), pattern(node("a", "Sensor"))), (SortKey(prop("a", "$dtId")),))


def test_a_row_is_an_object_by_column_or_the_document_itself() -> None:
    values = Project(ORDERED, (("v", prop("a", "value")), ("none", prop("a", "none"))))
    assert read_bodies(Query(values, ("none", "v"))) == [
        b'{"none":null,"v":21.5}',
        b'{"none":null,"v":true}',
    ]
    assert read_bodies(Query(values, ("none", "v"), omit_null=True))[0] == b'{"v":21.5}'
    [first, _] = read_bodies(Query(ORDERED, ("a",), ResultShape.DOCUMENT))
    assert first == b'{"$dtId":"s1","value":21.5,"$metadata":{"$model":"dtmi:t:Sensor;1"}}'


def test_a_page_skips_and_limits_and_cannot_go_on_behind_a_key() -> None:
    query = Query(Project(ORDERED, (("v", prop("a", "value")),)), ("v",))
    assert read_bodies(query, skip=1) == [b'{"v":true}']
    assert read_bodies(query, limit=1) == [b'{"v":21.5}']
    assert read_bodies(query, skip=1, limit=1) == [b'{"v":true}']
    with pytest.raises(InvalidContinuationToken):
        read_bodies(query, after=7)


def test_a_whole_query_gives_the_rows_of_the_engine() -> None:
    query = Query(Project(ORDERED, (("v", prop("a", "value")),)), ("v",))
    engine = PickyEngine(Match, Project, Sort)
    assert read_bodies(query, engine, skip=1, limit=5) == [b'{"v":true}']


# --- the cache --------------------------------------------------------------------------------


def test_a_plan_is_built_once_for_a_text_types_and_schema() -> None:
    cache, built = PlanCache(2), []

    def ask(text: str, value: Value, schema: int = 1, options: str = "") -> object:
        key = build_plan_key(text, {"p": value}, schema, options)
        if cache.find(key) is None:
            built.append(key)
            cache.keep(key, split(Query(FOUND, ()), None, {}))
        return cache.find(key)

    first = ask("q", 1)
    assert ask("q", 2) is first
    assert ask("q", "a") is not first
    assert len(built) == 2
    ask("q", 1, schema=2)
    assert ask("q", 1) is not first
    assert len(built) == 4


def test_long_texts_take_the_place_of_several_plans() -> None:
    cache: PlanCache[str] = PlanCache(8)
    short, long, longer = (build_plan_key("q" * size, {}, 1) for size in (10, 5_000, 9_000))
    cache.keep(short, "short")
    cache.keep(long, "long")
    assert cache.find(short) == "short"
    cache.keep(build_plan_key("r" * 4_000, {}, 1), "another")  # 4 beside 1 and 5
    assert cache.find(long) is None
    assert cache.find(short) == "short"
    cache.keep(longer, "longer")  # more than there is: it is not kept
    assert cache.find(longer) is None
    assert cache.find(short) == "short"


class PlainEngine(PickyEngine):
    """Takes matches whose conditions are comparisons by `>` and `=` only."""

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        for operator in walk_sources(query.root):
            for test in find_conjuncts(operator.predicate) if isinstance(operator, Match) else ():
                if not isinstance(test, Binary) or test.operator.value not in {">", "="}:
                    raise CannotRun("a condition")
        return super().compile(query, parameters)


def test_a_condition_that_the_engine_declines_leaves_its_match_to_it() -> None:
    odd = op(prop("a", "name"), "=~", ".*o.*")
    least = op(prop("a", "area"), ">", Parameter("least"))
    query = Query(
        Project(Match(Unit(), FOUND.pattern, op(odd, "AND", least)), NAMED.items), ("n", "b")
    )
    execution = split(query, PlainEngine(Match), PARAMETERS)
    (part,) = execution.parts
    assert part.operator == Match(Unit(), FOUND.pattern, least)
    assert list_rows(query, PlainEngine(Match)) == list_rows(query, None) != []


def test_conditions_of_an_optional_match_stay_in_it() -> None:
    odd = op(prop("b", "name"), "=~", "nothing")
    step = pattern(node("a"), node("b"), rel("r", "a", "b"))
    optional = Match(Match(Unit(), pattern(node("a"))), step, odd, optional=True)
    query = Query(Project(optional, NAMED.items), ("n", "b"))
    execution = split(query, PlainEngine(Match), PARAMETERS)
    assert [part.operator for part in execution.parts] == [optional.source]
    assert list_rows(query, PlainEngine(Match)) == list_rows(query, None) != []
