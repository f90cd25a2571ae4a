"""Tests that random queries over random graphs are answered as the evaluator answers them."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import hypothesis.strategies as st
import orjson
from hypothesis import HealthCheck, given, settings

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.execution import Execution, WholeExecution
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.storage.base import GraphSession
from twinframe.testing.null_corpora import FRAMES, JOINED, SOURCES, TESTS, build_null_query
from twinframe.testing.query_corpora import PARAMETERS
from twinframe.testing.query_law import QueryLaw, freeze
from twinframe.testing.query_writers import (
    CLAUSE_PARAMETERS,
    ClauseWriter,
    ExpressionWriter,
    PatternWriter,
)
from twinframe.testing.typed_writer import TypedWriter

_TIMES: Final = int(os.environ.get("TWINFRAME_LAW_TIMES", "0"))
"""How many times as many examples a campaign tries, others each time."""

LIMITS = Limits(10_000, None, 20)
CHANCES = st.randoms(use_true_random=False)
ROOM = "dtmi:ex:Room;1"

NULL_CONDITIONS = st.recursive(
    st.sampled_from(TESTS),
    lambda inner: st.builds(
        lambda form, a, b: form.replace("<a>", a).replace("<b>", b),
        st.sampled_from(JOINED),
        inner,
        inner,
    ),
    max_leaves=4,
)
GROUP_SOURCES = (
    "MATCH (t)",
    "MATCH (t:Room)",
    "MATCH (t) WHERE t.s = t.s",
    "MATCH (u)-[r]->(t)",
    "MATCH (t)-[r]-(u)",
    "MATCH (t)-[*1..2]->(u)",
    "MATCH (t) OPTIONAL MATCH (t)-[r]->(u)",
    "MATCH (t) WITH t ORDER BY t.$dtId LIMIT 7",
    "MATCH (t) WITH t.m AS t",
)
KEYS = (
    *("t.s", "t.flag", "t.m.k", "t.$dtId", "t.x = 1", "size(t.$dtId)", "t.m.deep.er", "t.missing"),
    *("t.m", "t.list", "[t.s, t.flag]", "t {.m, .flag}"),
)
AGGREGATES = (
    *("count(*)", "count(t.s)", "count(DISTINCT t.flag)", "min(t.s)", "max(t.$dtId)", "count(t)"),
    *("sum(size(t.$dtId))", "avg(size(t.$dtId))", "sum(DISTINCT t.m.k)", "stDevP(t.m.k)"),
    *("count(DISTINCT t.list)", "count(DISTINCT [t.m, t.x])", "count(DISTINCT t {.x, .s})"),
    *("stDev(size(t.$dtId))", "percentileCont(t.x, 0.3)", "percentileDisc(size(t.s), 0.6)"),
)
MEMBERS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from((0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))),
    st.sampled_from((0.0, -0.0, 1.0, 0.1, 1e308, -1.5, float(2**53), -(2.0**63), 2.0**63)),
    st.sampled_from(("", "1", "a", "true", "0.0", "é\uffff")),
    st.text(alphabet="a1é\0\\\"'😀\uffff", max_size=2),
)
STORED = st.one_of(
    MEMBERS, st.lists(MEMBERS, max_size=2), st.sampled_from(({}, {"k": 1}, {"k": None}))
)
MEMBERSHIPS = (
    "MATCH (a) WHERE a.x IN $l RETURN a",
    "MATCH (a) WHERE a.x IN $l AND a.y IN $l RETURN a.x AS x, a.$dtId AS i",
    "MATCH (a)-[r]->(b) WHERE r.w IN $l AND b.x IN $l RETURN a, r, b",
    "MATCH (a) WHERE a.x IN $l RETURN count(*) AS n",
    "MATCH (a)-->(b) WITH a, count(b) AS n WHERE a.x IN $l RETURN a.$dtId AS i, n",
    "MATCH (a) WHERE NOT a.x IN $l RETURN a",
    "MATCH (a) WHERE (a.x IN $l) IS NULL RETURN a",
    "MATCH (a) RETURN a.$dtId AS i, a.x IN $l AS v",
    "MATCH (a) WHERE a.x.k IN $l OR a.y IN $l RETURN a",
    "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) WHERE b.x IN $l RETURN a, b",
    "MATCH (a) WHERE EXISTS { MATCH (a)-->(b) WHERE b.x IN $l } RETURN a",
)


def generated(examples: int) -> settings:
    """The settings of a law: engines inherit it, so it runs for several classes.

    The examples are the same in each run, so that none fails by chance, unless
    `TWINFRAME_LAW_TIMES` asks for more of them.
    """
    return settings(
        max_examples=examples * max(_TIMES, 1),
        derandomize=_TIMES == 0,
        deadline=None,
        suppress_health_check=[HealthCheck.differing_executors],
    )


class GeneratedQueries:
    """What an engine answers to random queries."""

    answered: ClassVar[int] = 150
    """How many of 200 random patterns the engine runs at least."""

    @generated(850)
    @given(chance=CHANCES)
    def test_generated_expressions_have_equal_values(
        self, query_law: QueryLaw, chance: random.Random
    ) -> None:
        """Expressions of all kinds, over twins with ill-typed properties."""
        writer = ExpressionWriter(chance)
        with query_law.open(*writer.build_graph()) as graph:
            query_law.check(writer.write(), graph, writer.build_parameters(), lenient=True)

    @generated(60)
    @given(chance=CHANCES)
    def test_generated_clauses_have_equal_rows(
        self, query_law: QueryLaw, chance: random.Random
    ) -> None:
        """Typed expressions in all clauses, over odd texts, numbers and ids."""
        writer = TypedWriter(chance)
        with query_law.open(*writer.build_graph()) as graph:
            for _ in range(3):
                given_values = writer.build_parameters()
                query_law.check(writer.write(), graph, given_values, lenient=True, composed=True)

    @generated(400)
    @given(chance=CHANCES)
    def test_generated_patterns_have_equal_rows(
        self, query_law: QueryLaw, chance: random.Random
    ) -> None:
        """Parts, clauses, directions, lengths, WITH and OPTIONAL MATCH."""
        query_law.check(PatternWriter(chance).write(), query_law.small, {"i": 1}, lenient=True)

    def test_many_of_the_generated_patterns_are_run(self, query_law: QueryLaw) -> None:
        """Else the law above says little."""
        texts = [PatternWriter(random.Random(seed)).write() for seed in range(200)]
        found = [query_law.check(t, query_law.small, {"i": 1}, lenient=True) for t in texts]
        assert sum(answer.declined is None for answer in found) >= self.answered
        assert sum(bool(answer.rows) for answer in found) >= self.answered * 2 // 5

    @generated(300)
    @given(
        source=st.sampled_from(SOURCES), condition=NULL_CONDITIONS, place=st.sampled_from(FRAMES)
    )
    def test_generated_conditions_on_nulls_are_answered_alike(
        self, query_law: QueryLaw, source: str, condition: str, place: str
    ) -> None:
        """A null is not false, however the query asks for it."""
        text = build_null_query(source, condition, place)
        query_law.check(text, None, PARAMETERS, lenient=True)

    @generated(150)
    @given(
        source=st.sampled_from(GROUP_SOURCES),
        keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True),
        aggregates=st.lists(st.sampled_from(AGGREGATES), max_size=2, unique=True),
        end=st.sampled_from(("", " ORDER BY c0", " LIMIT 100")),
    )
    def test_groups_are_those_of_the_evaluator(
        self, query_law: QueryLaw, source: str, keys: list[str], aggregates: list[str], end: str
    ) -> None:
        """Grouped by members of documents, with and without aggregates."""
        columns = ", ".join(f"{text} AS c{i}" for i, text in enumerate(keys + aggregates))
        word = "" if aggregates else "DISTINCT "
        query_law.check(f"{source} RETURN {word}{columns}{end}", lenient=True)

    @generated(150)
    @given(
        stored=st.tuples(STORED, STORED, STORED),
        weights=st.tuples(MEMBERS, MEMBERS),
        items=st.lists(st.one_of(MEMBERS, st.lists(MEMBERS, max_size=2)), max_size=6),
        item=st.sampled_from(("t.x", "t.$dtId", "t.x[0]", "t.nope", "r.$sourceId", "1", "null")),
        test=st.sampled_from(("{}", "NOT {}", "({}) IS NULL", "NOT ({} OR t.nope)")),
        texts=st.lists(st.sampled_from(MEMBERSHIPS), min_size=4, max_size=4, unique=True),
    )
    def test_membership_is_typed_and_three_valued(
        self,
        query_law: QueryLaw,
        stored: Sequence[Any],
        weights: Sequence[Any],
        items: list[Any],
        item: str,
        test: str,
        texts: Sequence[str],
    ) -> None:
        """Whatever is in the list and in the graph."""
        twins = [(i, ROOM, {"x": x, "y": x}) for i, x in zip(("a", "1", "é"), stored, strict=True)]
        edges = [("a", "has", "1", {"w": weights[0]}), ("1", "has", "é", {"w": weights[1]})]
        pattern = "(t)-[r]->()" if item.startswith("r") else "(t)"
        with query_law.open(twins, edges) as graph:
            for members in (_render(items), "$l"):
                condition = test.format(f"{item} IN {members}")
                for text in (
                    f"MATCH {pattern} WHERE {condition} RETURN t.$dtId AS i",
                    f"MATCH {pattern} RETURN {condition} AS v, t",
                ):
                    query_law.check(text, graph, {"l": items})
            for text in texts:
                query_law.check(text, graph, {"l": items})


class SplitQueries:
    """What comes of random queries when a plan is split between the engine and the evaluator.

    The sessions of the store must be those that the evaluator reads.
    """

    run_whole: ClassVar[int] = 90
    """How many of 300 random queries the engine runs as a whole at least."""

    @generated(300)
    @given(chance=CHANCES)
    def test_every_way_to_run_a_generated_text_has_equal_rows(
        self, query_law: QueryLaw, chance: random.Random
    ) -> None:
        """The evaluator with and without the optimizer, and the engine as a service uses it."""
        compare_ways(ClauseWriter(chance).write(), query_law)

    def test_many_of_the_generated_texts_are_run_as_a_whole(self, query_law: QueryLaw) -> None:
        """Else the law above says little."""
        texts = [ClauseWriter(random.Random(seed)).write() for seed in range(300)]
        found = [compare_ways(text, query_law) for text in texts]
        assert found.count("whole") >= self.run_whole
        assert found.count("refused") < 180


def compare_ways(text: str, law: QueryLaw) -> str:
    """Run `text` in every way and assert equal rows; return whole, split, declined or refused."""
    try:
        query = parse_query(text, parameters=CLAUSE_PARAMETERS.keys()).query
    except QueryInvalid:
        return "refused"
    better = optimize(query)
    session = law.small.session
    try:
        expected = _take(split(query, None, CLAUSE_PARAMETERS), law.small.reference)
    except (QueryInvalid, LimitExceeded):
        # An error of one row may stay unseen where another way never looks at that row.
        return "refused"
    assert _take(split(query, None, CLAUSE_PARAMETERS), session) == expected, text
    assert _take(split(better, None, CLAUSE_PARAMETERS), session) == expected, text
    execution = split(better, law.engine, CLAUSE_PARAMETERS)
    try:
        assert _take(execution, session) == expected, text
    except CannotRun:
        return "declined"
    return "whole" if isinstance(execution, WholeExecution) else "split"


def _take(execution: Execution, session: GraphSession) -> list[str]:
    with session.snapshot():
        rows = execution.run_rows(session, CLAUSE_PARAMETERS, LIMITS)
        return sorted(repr([freeze(_merge_numbers(value)) for value in row]) for row in rows)


def _merge_numbers(value: Value) -> Value:
    """Integral floats as integers: 1 and 1.0 are one group, called by either."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_merge_numbers(item) for item in value]
        case dict():
            return {key: _merge_numbers(item) for key, item in value.items()}
        case _:
            return value


def _render(value: Value) -> str:
    """The literal of the query language."""
    match value:
        case str() | None | bool():
            return orjson.dumps(value).decode()
        case list():
            return f"[{', '.join(map(_render, value))}]"
        case _:
            return repr(value)
