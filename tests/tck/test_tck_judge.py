"""The runner of the TCK itself: what it must notice. Its scenarios are its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tck.crossing import Question, find_differences
from tests.tck.engines import ENGINES, Answer, Engine, open_engine
from tests.tck.judge import Verdict, judge
from tests.tck.known import KnownFailure, KnownFailures
from tests.tck.report import Report, Standing, run_scenarios
from tests.tck.scenarios import Scenario, read_scenarios
from twinframe.model.values import Value

TEMPLATE = """Feature: One
  Scenario: [1] the one
    Given an empty graph
    And having executed:
      \"\"\"
      {setup}
      \"\"\"
    When executing query:
      \"\"\"
      {query}
      \"\"\"
    Then {then}
"""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(request.param) as opened:
        yield opened


def read_one(folder: Path, query: str, then: str, setup: str = "CREATE ()") -> Scenario:
    text = TEMPLATE.format(setup=setup, query=query, then=then)
    (folder / "One.feature").write_text(text, encoding="utf-8")
    (scenario,) = read_scenarios(folder)
    return scenario


def table(header: str, *rows: str, order: str = "in any order") -> str:
    lines = "".join(f"\n      | {line} |" for line in (header, *rows))
    return f"the result should be, {order}:{lines}"


def test_outlines_are_expanded_and_every_scenario_has_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "Two.feature").write_text(
        """Feature: Two
  Scenario Outline: [1] many
    When executing query:
      \"\"\"
      RETURN <value>
      \"\"\"
    Then the result should be empty

    Examples:
      | value |
      | 1     |
      | 2     |

  Scenario: [2] one
    Given any graph
"""
    )
    scenarios = list(read_scenarios(tmp_path))
    assert [scenario.name for scenario in scenarios] == [
        "deep/Two.feature [1] many #1",
        "deep/Two.feature [1] many #2",
        "deep/Two.feature [2] one",
    ]
    assert [scenario.steps[0].document for scenario in scenarios[:2]] == ["RETURN 1", "RETURN 2"]


GRAPH = "CREATE (a:A:B {name: 'x', none: null})-[:T {k: [1, 2.0]}]->(:C), (a)<-[:U]-()"


@pytest.mark.parametrize(
    ("query", "then"),
    [
        ("RETURN 1 AS n", table("n", "1")),
        (
            "RETURN [2, 1] AS n",
            "the result should be (ignoring element order for lists):\n| n |\n| [1, 2] |",
        ),
        ("UNWIND [1, 2] AS n RETURN n", table("n", "2", "1")),
        ("UNWIND [1, 2] AS n RETURN n", table("n", "1", "2", order="in order")),
        ("MATCH (n:A) RETURN n", table("n", "(:B:A {name: 'x'})")),
        ("MATCH (n:A) RETURN labels(n) AS n", table("n", "['A', 'B']")),
        ("MATCH (:A)-[r]->() RETURN r", table("r", "[:T {k: [1, 2.0]}]")),
        (
            "MATCH p = (:C)<--(:A)<--() RETURN p",
            table("p", "<(:C)<-[:T {k: [1, 2.0]}]-(:A:B {name: 'x'})<-[:U]-()>"),
        ),
        ("MATCH (n:None) RETURN n", "the result should be empty"),
        ("RETURN x", "a SyntaxError should be raised at compile time: UndefinedVariable"),
        ("RETURN 1 / 0", "an ArithmeticError should be raised at runtime: *"),
        ("RETURN toInteger([1][0]) + 'a' AS n", table("n", "'1a'")),
    ],
)
def test_what_is_as_the_scenario_says_passes(
    engine: Engine, tmp_path: Path, query: str, then: str
) -> None:
    outcome = judge(read_one(tmp_path, query, then, GRAPH), engine, tmp_path)
    assert outcome.verdict is Verdict.PASSED, outcome.reason


@pytest.mark.parametrize(
    ("query", "then"),
    [
        ("RETURN 1.0 AS n", table("n", "1")),
        ("RETURN true AS n", table("n", "1")),
        ("RETURN '1' AS n", table("n", "1")),
        ("RETURN null AS n", table("n", "'null'")),
        ("RETURN 1 AS m", table("n", "1")),
        ("RETURN [2, 1] AS n", table("n", "[1, 2]")),
        (
            "RETURN [1, 1] AS n",
            "the result should be (ignoring element order for lists):\n| n |\n| [1] |",
        ),
        ("UNWIND [1, 2] AS n RETURN n", table("n", "2", "1", order="in order")),
        ("UNWIND [1, 1] AS n RETURN n", table("n", "1")),
        ("MATCH (n:A) RETURN n", table("n", "(:A {name: 'x'})")),
        ("MATCH (n:A) RETURN n", table("n", "(:A:B)")),
        ("MATCH (n:A) RETURN labels(n) AS n", table("n", "['A']")),
        ("MATCH (:A)-[r]->() RETURN r", table("r", "[:T {k: [1, 2]}]")),
        (
            "MATCH p = (:C)<--(:A) RETURN p",
            table("p", "<(:C)-[:T {k: [1, 2.0]}]->(:A:B {name: 'x'})>"),
        ),
        ("MATCH (n) RETURN n", "the result should be empty"),
        ("RETURN x", "a SyntaxError should be raised at compile time: InvalidArgumentType"),
        ("RETURN x", "a TypeError should be raised at compile time: UndefinedVariable"),
        ("RETURN x", "a SyntaxError should be raised at runtime: UndefinedVariable"),
        ("RETURN 1", "a SyntaxError should be raised at compile time: UndefinedVariable"),
        ("RETURN x", "the result should be empty"),
        ("RETURN 1 AS n", table("n", "2")),
    ],
)
def test_what_is_not_as_the_scenario_says_fails(
    engine: Engine, tmp_path: Path, query: str, then: str
) -> None:
    outcome = judge(read_one(tmp_path, query, then, GRAPH), engine, tmp_path)
    assert outcome.verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("query", "effects", "verdict"),
    [
        (
            "CREATE (:A {x: 1})",
            "| +nodes | 1 |\n| +labels | 1 |\n| +properties | 1 |",
            Verdict.PASSED,
        ),
        ("CREATE (:A)", "| +nodes | 2 |\n| +labels | 1 |", Verdict.FAILED),
        ("MATCH (n) DETACH DELETE n", "| -nodes | 2 |", Verdict.FAILED),
    ],
)
def test_side_effects_are_compared(
    engine: Engine, tmp_path: Path, query: str, effects: str, verdict: Verdict
) -> None:
    then = f"the side effects should be:\n{effects}"
    outcome = judge(read_one(tmp_path, query, then), engine, tmp_path)
    assert outcome.verdict is verdict, outcome.reason


def test_a_query_that_only_looks_like_writing_is_run(engine: Engine, tmp_path: Path) -> None:
    query = "WITH {set: 1} AS create_ RETURN create_.set AS `MERGE`"
    outcome = judge(read_one(tmp_path, query, table("MERGE", "1")), engine, tmp_path)
    assert outcome.verdict is Verdict.PASSED, outcome.reason


def test_the_graph_of_one_scenario_is_gone_in_the_next(engine: Engine, tmp_path: Path) -> None:
    count = "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(n) AS n, count(r) AS r"
    for _ in range(2):
        setup = "UNWIND range(1, 3) AS i CREATE ({i: i})-[:T]->()"
        scenario = read_one(tmp_path, count, table("n | r", "6 | 3"), setup)
        outcome = judge(scenario, engine, tmp_path)
        assert outcome.verdict is Verdict.PASSED, outcome.reason


def test_a_set_up_reads_what_it_wrote_before_and_deletes(engine: Engine, tmp_path: Path) -> None:
    setup = """CREATE (a:A {n: 1}), (:B {n: a.n})
      WITH a MATCH (b:B) CREATE (b)-[:T {sum: a.n + b.n}]->(a)-[:U]->(:C);
      MATCH (c:C)<-[r]-() DELETE r, c"""
    query = "MATCH (n) OPTIONAL MATCH (n)-[r]->(m:A) RETURN n, r"
    then = table("n | r", "(:A {n: 1}) | null", "(:B {n: 1}) | [:T {sum: 2}]")
    outcome = judge(read_one(tmp_path, query, then, setup), engine, tmp_path)
    assert outcome.verdict is Verdict.PASSED, outcome.reason


def test_a_value_that_no_twin_can_hold_fails_the_scenario(engine: Engine, tmp_path: Path) -> None:
    scenario = read_one(tmp_path, "RETURN 1 AS n", table("n", "1"), "CREATE ({n: 0.0 / 0.0})")
    outcome = judge(scenario, engine, tmp_path)
    assert outcome.verdict is Verdict.FAILED
    assert "for which JSON has no number" in outcome.reason


def test_temporal_values_of_a_set_up_are_read_as_such_where_dtdl_has_a_schema(
    engine: Engine, tmp_path: Path
) -> None:
    setup = """CREATE (:A {d: date('2015-07-21'), t: time('12:31Z'), l: localtime('12:31'),
      i: datetime('2015-07-21T12:31Z'), p: duration('PT90M'), s: '2015-07-21'})"""
    query = """MATCH (n:A {d: date('2015-07-21')})
      RETURN n.d.year AS d, n.t.offset AS t, n.l = '12:31' AS l, n.i.month AS i,
        n.p.minutes AS p, n.s = '2015-07-21' AS s, n.d AS text"""
    row = "2015 | 'Z' | true | 7 | 90 | true | '2015-07-21'"
    scenario = read_one(tmp_path, query, table("d | t | l | i | p | s | text", row), setup)
    outcome = judge(scenario, engine, tmp_path)
    assert outcome.verdict is Verdict.PASSED, outcome.reason


def test_what_one_set_up_declares_is_undeclared_in_the_next(engine: Engine, tmp_path: Path) -> None:
    # NOTE: the first is the earlier instant, and the greater string.
    for read, kind in (("datetime", "true"), ("", "false")):
        query = "MATCH (n:A) RETURN n.d < n.e AS x"
        first, second = f"{read}('2015-07-21T22:00+01:00')", f"{read}('2015-07-21T21:30Z')"
        setup = f"CREATE (:A {{d: {first}, e: {second}}})"
        outcome = judge(read_one(tmp_path, query, table("x", kind), setup), engine, tmp_path)
        assert outcome.verdict is Verdict.PASSED, outcome.reason
        whole = outcome.answer is not None and outcome.answer.whole
        assert whole is (engine.name in ("sqlite", "rdf", "columns") and kind == "false")


def test_a_listed_failure_that_passes_counts_as_a_failure(engine: Engine, tmp_path: Path) -> None:
    good = read_one(tmp_path, "RETURN 1 AS n", table("n", "1"))
    known = KnownFailures(
        [KnownFailure("never done", (engine.name,), frozenset({good.name}))], engine.name
    )
    report = Report()
    for finding in run_scenarios([good], engine, tmp_path, known):
        report.add(finding)
        assert finding.standing is Standing.UNEXPECTED_PASS
    assert report.unexpected == 1
    assert report.render()[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_listed_failure_counts_as_failed_yet_is_expected(engine: Engine, tmp_path: Path) -> None:
    bad = read_one(tmp_path, "RETURN 1 AS n", table("n", "2"))
    pattern = KnownFailure("a field", (engine.name,), pattern=re.compile("^One"))
    report = Report()
    known = KnownFailures([pattern], engine.name)
    for finding in run_scenarios([bad], engine, tmp_path, known):
        report.add(finding)
    assert report.unexpected == 0
    assert report.render()[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_failure_listed_for_another_engine_is_not_known() -> None:
    failure = KnownFailure("why", ("sqlite",), frozenset({"one"}))
    assert KnownFailures([failure], "evaluator").find_reason("one") is None
    assert KnownFailures([failure], "sqlite").find_reason("one") == "why"


@pytest.mark.parametrize(
    "then", ["something else should be", "the result should be, in any order:\n| n |\n| nul |"]
)
def test_what_the_runner_does_not_understand_fails(
    engine: Engine, tmp_path: Path, then: str
) -> None:
    outcome = judge(read_one(tmp_path, "RETURN 1 AS n", then), engine, tmp_path)
    assert outcome.verdict is Verdict.FAILED
    assert outcome.reason.startswith("this runner cannot judge it")


def test_an_engine_that_loses_a_row_makes_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [
        Question("one", "MATCH (n:A) RETURN n.x AS x", {}),
        Question("two", "RETURN 1", {}),
    ]
    assert list(find_differences(questions, [GRAPH])) == []
    run = Engine.run

    def run_badly(engine: Engine, text: str, parameters: Mapping[str, Value]) -> Answer:
        answer = run(engine, text, parameters)
        return replace(answer, rows=answer.rows[1:]) if engine.name == "sqlite" else answer

    monkeypatch.setattr(Engine, "run", run_badly)
    assert [found.question.name for found in find_differences(questions, [GRAPH])] == ["one", "two"]
