"""Measures the operators of one run of the evaluator, for PROFILE."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from twinframe.query.algebra import Operator
from twinframe.query.evaluate.operators import Probe
from twinframe.query.evaluate.run import Row, Run, Stream
from twinframe.query.measures import Measure, Measures


def build_probe(root: Operator, measures: Measures) -> Probe:
    """Return what counts the rows of each operator of a plan, and the seconds until they came."""
    found = measures.open(root)

    def probe(operator: Operator, stream: Stream) -> Stream:
        # NOTE: plans within expressions are none of the plan's operators.
        measure = found.get(id(operator))
        return stream if measure is None else _measure(stream, measure)

    return probe


def _measure(stream: Stream, measure: Measure) -> Stream:
    def run_measured(run: Run, argument: Row) -> Iterator[Row]:
        begun = perf_counter()
        rows = stream(run, argument)  # NOTE: some operators work here already
        while (row := next(rows, None)) is not None:
            measure.seconds += perf_counter() - begun
            measure.rows += 1
            yield row
            begun = perf_counter()
        measure.seconds += perf_counter() - begun

    return run_measured
