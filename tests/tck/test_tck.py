"""The openCypher TCK in the test suite: all of it on two engines, samples of the rest.

All of it over triples: `make tck ENGINE=rdf`.
"""

from __future__ import annotations

import os

import pytest

from tests.tck.crossing import find_differences, find_graphs, find_questions, only_reads
from tests.tck.engines import ENGINES, PAST, PAST_EVALUATOR, POSTGRES, SPREAD, open_engine
from tests.tck.known import load_known_failures
from tests.tck.report import Standing, run_scenarios
from tests.tck.scenarios import Scenario, find_features, read_scenarios

_EVERY = 8
_SHARES = {"rdf": 3, "columns": 3, POSTGRES: 16, SPREAD: 48, PAST: 12, PAST_EVALUATOR: 16}
"""Of so many scenarios one is run on an engine that takes long for them."""


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return list(read_scenarios(find_features()))


@pytest.mark.parametrize("engine", [*ENGINES, POSTGRES, SPREAD, PAST, PAST_EVALUATOR])
def test_the_kit_passes_but_for_the_listed_scenarios(
    scenarios: list[Scenario], engine: str
) -> None:
    if engine in (PAST, PAST_EVALUATOR):  # an earlier state is only read
        scenarios = [one for one in scenarios if _only_reads(one)]
    assert _find_unexpected(scenarios[:: _SHARES.get(engine, 1)], engine) == []


def test_a_sample_of_the_kit_passes_without_rewrites(scenarios: list[Scenario]) -> None:
    assert _find_unexpected(scenarios[::_EVERY], "evaluator", optimized=False) == []


def test_no_engine_and_no_rewrite_makes_a_difference_over_other_graphs(
    scenarios: list[Scenario],
) -> None:
    questions, graphs = find_questions(scenarios), find_graphs(scenarios)
    assert list(find_differences(questions[:: _EVERY // 2], graphs[::_EVERY])) == []


@pytest.mark.skipif("TWINFRAME_TCK" in os.environ, reason="the list is about the public kit")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_listed_scenario_is_one_of_the_kit(scenarios: list[Scenario], engine: str) -> None:
    names = frozenset(scenario.name for scenario in scenarios)
    assert load_known_failures(engine).find_strangers(names) == []


def _only_reads(scenario: Scenario) -> bool:
    texts = (step.document for step in scenario.steps if step.text.startswith("executing "))
    return all(only_reads(text or "") for text in texts)


def _find_unexpected(
    scenarios: list[Scenario], engine: str, *, optimized: bool = True
) -> list[tuple[str, str, str]]:
    known = load_known_failures(engine)
    with open_engine(engine, optimized=optimized) as opened:
        return [
            (finding.scenario.name, finding.standing.value, finding.outcome.reason)
            for finding in run_scenarios(scenarios, opened, find_features(), known)
            if finding.standing in {Standing.FAILED, Standing.UNEXPECTED_PASS}
        ]
