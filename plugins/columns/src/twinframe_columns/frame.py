"""The rows of an operator: for each variable a vector of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, cast

import numpy as np

from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.constants import open_constant_run
from twinframe.query.evaluate.run import Run as EvaluatorRun
from twinframe.query.reader import GraphReader
from twinframe_columns.kinds import Bools, Integers, Rows
from twinframe_columns.merging import merge
from twinframe_columns.projection import Projection
from twinframe_columns.schemas import MemberSchemas
from twinframe_columns.vectors import Constant, Vector, take

MOST_ROWS: Final = 8_000_000
"""Rows of a frame; a query that needs more is left to an engine that holds fewer at a time."""

_FEW_ROWS: Final = 100_000
"""The same for rows that a run on the event loop makes, where they take a millisecond."""


@dataclass(frozen=True)
class Run:
    """One run of a query: the state it sees, and the values of its parameters.

    `argument` has the rows for which a plan inside of the query is run.
    """

    projection: Projection
    reader: GraphReader
    parameters: Mapping[str, Value]
    schemas: MemberSchemas | None = None
    """Those of members that are read as temporal values; None: all are read as JSON."""
    argument: Frame | None = None

    @cached_property
    def members(self) -> dict[tuple[object, ...], Vector]:
        """The members of twins next to each other that were read. PERF: conditions on one member
        read it once.
        """
        return {}

    @cached_property
    def constants(self) -> EvaluatorRun:
        """The run of the evaluator that computes what is the same for all rows."""
        return open_constant_run(self.parameters)

    @property
    def most_rows(self) -> int:
        """How many rows it may make of fewer ones."""
        return _FEW_ROWS if self.reader.is_short else MOST_ROWS


@dataclass(frozen=True, slots=True)
class Frame:
    """`count` rows. `weights` says how many equal rows each stands for; None: one."""

    count: int
    variables: Mapping[str, Vector]
    weights: Integers | None = None

    def take(self, picked: Bools | Rows | slice) -> Frame:
        """Return the picked rows."""
        if isinstance(picked, slice):
            count = len(range(*picked.indices(self.count)))
        elif picked.dtype == np.bool_:
            return self.take(np.flatnonzero(picked).astype(np.int32))
        else:
            count = len(picked)
        places = cast("Rows | slice", picked)
        return Frame(
            count,
            {name: take(vector, places) for name, vector in self.variables.items()},
            None if self.weights is None else self.weights[places],
        )


def concatenate(frames: Sequence[Frame]) -> Frame:
    """Join frames with the same variables."""
    if len(frames) == 1:
        return frames[0]
    weights = None
    if any(frame.weights is not None for frame in frames):
        weights = np.concatenate(
            [
                np.ones(frame.count, np.int64) if frame.weights is None else frame.weights
                for frame in frames
            ]
        )
    counts = [frame.count for frame in frames]
    names = frames[0].variables.keys()
    variables = {name: _join([frame.variables[name] for frame in frames], counts) for name in names}
    return Frame(sum(counts), variables, weights)


def _join(vectors: Sequence[Vector], counts: Sequence[int]) -> Vector:
    first = vectors[0]
    if isinstance(first, Constant) and all(one is first for one in vectors):
        return first
    ends = np.cumsum(counts)
    parts = [
        (np.arange(end - count, end), vector)
        for vector, count, end in zip(vectors, counts, ends.tolist(), strict=True)
    ]
    return merge(parts, int(ends[-1]))


def unfold(frame: Frame) -> Frame:
    """Return the frame with each row as often as its weight says."""
    if frame.weights is None:
        return frame
    if frame.count and float(frame.weights.astype(np.float64).sum()) > MOST_ROWS:
        raise CannotRun("More rows than are held at once.")
    picked = np.repeat(np.arange(frame.count, dtype=np.int32), frame.weights)
    return replace(frame.take(picked), weights=None)
