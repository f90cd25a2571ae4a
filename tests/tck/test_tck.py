"""The openCypher TCK in the test suite: all of it on both engines, a sample without rewrites."""

from __future__ import annotations

import pytest

from tests.tck.crossing import find_differences, find_graphs, find_questions
from tests.tck.engines import ENGINES, open_engine
from tests.tck.known import load_known_failures
from tests.tck.report import Standing, run_scenarios
from tests.tck.scenarios import Scenario, find_features, read_scenarios

_EVERY = 8


@pytest.mark.parametrize("engine", ENGINES)
def test_the_kit_passes_but_for_the_listed_scenarios(engine: str) -> None:
    features = find_features()
    scenarios = list(read_scenarios(features))
    assert _find_unexpected(scenarios, engine) == []


def test_a_sample_of_the_kit_passes_without_rewrites() -> None:
    features = find_features()
    sample = list(read_scenarios(features))[::_EVERY]
    assert _find_unexpected(sample, "evaluator", optimized=False) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_every_listed_scenario_is_one_of_the_kit(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TWINFRAME_TCK", raising=False)  # the list is about the public kit
    names = frozenset(scenario.name for scenario in read_scenarios(find_features()))
    assert load_known_failures(engine).find_strangers(names) == []


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


def test_no_engine_and_no_rewrite_makes_a_difference_over_other_graphs() -> None:
    scenarios = list(read_scenarios(find_features()))
    questions, graphs = find_questions(scenarios), find_graphs(scenarios)
    assert list(find_differences(questions[:: _EVERY // 2], graphs[::_EVERY])) == []
