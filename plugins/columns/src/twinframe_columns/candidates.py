"""The twins that a node of a pattern may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from twinframe.query.algebra import NodePattern
from twinframe.query.engine import CannotRun
from twinframe_columns.expressions import Condition, Evaluate
from twinframe_columns.frame import Frame, Run
from twinframe_columns.kinds import Bools, Rows
from twinframe_columns.projection import Projection
from twinframe_columns.vectors import Constant, Entities, read_rows

_MANY = 1_000
_GUESSED_PART = 4
"""The part of twins that are expected to satisfy conditions that were not tested."""
_REACHED_PART = 4
"""The part of the twins up to which conditions are tested on those alone that are reached."""


@dataclass(frozen=True, slots=True)
class NodeTest:
    """A condition on one node. `ids` gives the id, or the list of ids, that it asks for."""

    test: Condition
    ids: Evaluate | None = None


class Candidates:
    """The twins of a node: `rows` are in ascending order.

    `labelled` is how many there are by the labels alone. With `is_late` conditions are tested on
    the few twins that are reached, as long as these are few; until then `count` is a guess, and
    `len()` tests all.
    """

    def __init__(
        self, run: Run, node: NodePattern, tests: Sequence[NodeTest], *, is_late: bool = False
    ) -> None:
        projection = run.projection
        self._late: Callable[[Frame], Bools] | None = None
        self._projection = projection
        self._table: Bools | None = None
        self._holds: Bools | None = None
        self._rows = projection.find_rows(projection.select_models(node.labels))
        self.labelled = measure(self._rows)
        for one in tests:
            ids = None if one.ids is None else one.ids(run, Frame(1, {}))
            value = ids.value if isinstance(ids, Constant) else None
            if isinstance(value, str | list):
                self._seek(projection, value)
        self._name = node.variable
        if is_late and tests:
            self._late = lambda frame: _test(run, tests, frame)
            self.count = self.labelled // _GUESSED_PART
            self.is_free = False
            return
        if tests:
            self._test(lambda frame: _test(run, tests, frame))
        else:
            self._measure()

    def _finish(self) -> None:
        """Test the conditions on all twins, if that has waited."""
        if self._late is not None:
            late, self._late, self._table = self._late, None, None
            self._test(late)

    def _count(self) -> int:
        holds = self._holds
        return measure(self._rows) if holds is None else int(np.count_nonzero(holds))

    def _is_everything(self) -> bool:
        rows = self._rows
        everything = slice(0, self._projection.count)
        return self._holds is None and isinstance(rows, slice) and rows == everything

    def _test(self, test: Callable[[Frame], Bools]) -> None:
        holds = test(Frame(measure(self._rows), {self._name: Entities(self._rows)}))
        if not holds.all():
            self._holds = holds
        self._measure()

    def _measure(self) -> None:
        self.count = self._count()
        self.is_free = self._is_everything()

    @property
    def rows(self) -> slice | Rows:
        """The numbers of the twins, in ascending order."""
        self._finish()
        if self._holds is not None:
            if isinstance(self._rows, slice):
                found = np.flatnonzero(self._holds).astype(np.int32)
                self._rows = found + np.int32(self._rows.start) if self._rows.start else found
            else:
                self._rows = self._rows[self._holds]
            self._holds = None
        return self._rows

    def __len__(self) -> int:
        self._finish()
        return self.count

    @property
    def share(self) -> float:
        """The part of the labelled twins that is left."""
        return self.count / max(1, self.labelled)

    def _seek(self, projection: Projection, ids: object) -> None:
        """Keep the twins of these ids. PERF: without looking at all others."""
        names = ids if isinstance(ids, list) else [ids]
        found = [projection.find_row(one) for one in names if isinstance(one, str)]
        rows = np.unique(np.array([row for row in found if row >= 0], np.int32))
        holds = self.hold(rows)
        self._rows = rows if holds is None else rows[holds]
        self._table = None  # it was that of all labelled twins

    def intersect(self, other: Candidates) -> Candidates:
        """Return the candidates that are those of another node too."""
        self._finish()
        other._finish()
        if other.is_free:
            return self
        if self.is_free:
            return other
        found = other.keep(read_rows(self.rows))
        found._name = self._name
        found.labelled = min(self.labelled, other.labelled)
        return found

    def keep(self, rows: Rows) -> Candidates:
        """Return the candidates among these rows, which are in ascending order."""
        found = object.__new__(Candidates)
        found._projection, found._name, found._late = self._projection, self._name, None
        holds = self.hold(rows)
        found._rows = rows if holds is None else rows[holds]
        found._holds = None
        found.count = len(found._rows)
        found.labelled = self.labelled
        found.is_free = False
        found._table = None
        return found

    def hold(self, rows: Rows) -> Bools | None:
        """Return for each of these rows whether it is a candidate; None: all are."""
        if self._late is not None and len(rows) * _REACHED_PART < self.labelled:
            holds = self._hold(rows)
            tested = self._late(Frame(len(rows), {self._name: Entities(rows)}))
            return tested if holds is None else tested & holds
        self._finish()
        return self._hold(rows)

    def _hold(self, rows: Rows) -> Bools | None:
        own = self._rows
        if self._holds is None and isinstance(own, slice):
            if not len(rows) or (int(rows.min()) >= own.start and int(rows.max()) < own.stop):
                return None
            inside: Bools = (rows >= own.start) & (rows < own.stop)
            return inside
        if self._holds is not None or len(rows) > _MANY or self._table is not None:
            return self._find_table()[rows]
        assert not isinstance(own, slice)  # noqa: S101  # see above
        if not len(own):
            return np.zeros(len(rows), np.bool_)
        found: Bools = own[np.minimum(np.searchsorted(own, rows), len(own) - 1)] == rows
        return found

    @property
    def table(self) -> Bools:
        """For each row whether it is a candidate."""
        self._finish()
        return self._find_table()

    def _find_table(self) -> Bools:
        if self._table is None:
            self._table = np.zeros(self._projection.count, np.bool_)
            self._table[self._rows] = True if self._holds is None else self._holds
        return self._table


def _test(run: Run, tests: Sequence[NodeTest], frame: Frame) -> Bools:
    """Apply the conditions, each to all rows if it can be. PERF: that is one pass in order."""
    holds: Bools | None = None
    for one in tests:
        try:
            own = one.test(run, frame).true
            holds = own if holds is None else holds & own
        except CannotRun:
            if holds is None:
                raise
            picked = np.flatnonzero(holds).astype(np.int32)
            holds = holds.copy()
            holds[picked] = one.test(run, frame.take(picked)).true
    return np.ones(frame.count, np.bool_) if holds is None else holds


def measure(rows: slice | Rows) -> int:
    """Return the number of rows."""
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)
