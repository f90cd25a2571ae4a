"""Measures the operators of one run over columns, for PROFILE."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

from twinframe.query.algebra import Operator
from twinframe.query.measures import Measure
from twinframe_columns.frame import Frame, Run
from twinframe_columns.operators import PlanCompiler
from twinframe_columns.subplans import Execute


class MeasuringCompiler(PlanCompiler):
    """Compiles as `PlanCompiler` does, and notes in `measures` what each operator did.

    `measures` are by the `id` of the operators.
    """

    def __init__(self, measures: Mapping[int, Measure], *, is_inner: bool = False) -> None:
        super().__init__(is_inner=is_inner)
        self._measures = measures

    def compile(self, operator: Operator, needed: frozenset[str]) -> Execute:
        """Return the function for the rows of an operator."""
        return self._note(operator, super().compile(operator, needed))

    def _compile_inner(self, plan: Operator, needed: frozenset[str]) -> Execute:
        return MeasuringCompiler(self._measures, is_inner=True).compile(plan, needed)

    def _note(self, operator: Operator, execute: Execute) -> Execute:
        # NOTE: there are none of plans in expressions.
        measure = self._measures.get(id(operator))
        return execute if measure is None else _measure(execute, measure)


def _measure(execute: Execute, measure: Measure) -> Execute:
    def run_measured(run: Run) -> Frame:
        begun = perf_counter()
        frame = execute(run)
        measure.seconds += perf_counter() - begun
        measure.rows += frame.count if frame.weights is None else int(frame.weights.sum())
        return frame

    return run_measured
