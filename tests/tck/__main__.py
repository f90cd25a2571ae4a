"""The openCypher TCK against one engine, all of it: `make tck ENGINE=sqlite`.

The last line is `N passed, N failed, N skipped`. Known failures count as failed, scenarios whose
query is refused (it writes, or calls a procedure) as skipped. The exit code is 0 when nothing else
happened than the list of known failures says.

Queries run with the default settings. A date, datetime, time or duration of a set-up is a property
that the twin's model declares with that DTDL schema, and is read as such.
"""

from __future__ import annotations

import argparse
import re
import sys

import pytest

from tests.tck.crossing import find_differences, find_graphs, find_questions
from tests.tck.engines import ENGINES, PAST, PAST_EVALUATOR, POSTGRES, SPREAD, open_engine
from tests.tck.known import load_known_failures
from tests.tck.report import Report, Standing, run_scenarios
from tests.tck.scenarios import Scenario, find_features, read_scenarios


def main() -> int:
    """Run, print, and say by the exit code whether all went as expected."""
    options = _parse_arguments()
    try:
        features = find_features()
    except pytest.skip.Exception as skipped:
        print(skipped)
        print("0 passed, 0 failed, 0 skipped")
        return 0
    if options.cross:
        return _cross(list(read_scenarios(features)))
    known, report = load_known_failures(options.engine), Report()
    every = list(read_scenarios(features))
    wanted = [one for one in every if re.search(options.only, one.name)]
    with open_engine(options.engine, optimized=not options.unoptimized) as engine:
        for finding in run_scenarios(wanted, engine, features, known):
            report.add(finding)
            bad = finding.standing in {Standing.FAILED, Standing.UNEXPECTED_PASS}
            if bad or options.verbose:
                print(f"{finding.standing.value}: {finding.scenario.name}")
            if bad or (options.verbose and finding.outcome.reason):
                print(f"    {finding.outcome.reason}")
    strangers = known.find_strangers(frozenset(one.name for one in every))
    if strangers:
        print(f"NOTE: {len(strangers)} listed scenarios are not in {features}")
    if options.declined:
        for reason, count in report.declined.most_common():
            print(f"  {count:5} declined by the store's engine: {reason}")
    print("\n".join(report.render()))
    return 1 if report.unexpected else 0


def _cross(scenarios: list[Scenario]) -> int:
    questions, graphs = find_questions(scenarios), find_graphs(scenarios)
    count = 0
    for difference in find_differences(questions, graphs):
        count += 1
        print(
            f"{difference.question.name}\n{difference.question.text}\n-- over\n{difference.graph}"
        )
        for answer in difference.answers:
            print(f"    {answer}")
    print(f"{len(questions)} queries over {len(graphs)} graphs each: {count} differences")
    return 1 if count else 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.tck", description=__doc__)
    parser.add_argument(
        "--engine", choices=[*ENGINES, POSTGRES, SPREAD, PAST, PAST_EVALUATOR], default="evaluator"
    )
    parser.add_argument("--unoptimized", action="store_true", help="leave all rewrites out")
    parser.add_argument("--only", default="", help="a regular expression of scenario names")
    parser.add_argument("--verbose", action="store_true", help="print every scenario")
    parser.add_argument("--declined", action="store_true", help="say what the engine declined")
    parser.add_argument(
        "--cross", action="store_true", help="compare all engines, every query over every graph"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
