"""The columnar projection of a graph at one position of its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from twinframe.model.ids import MODEL_LABEL
from twinframe.query.algebra import LabelExpression
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.labels import compile_labels, find_label_names
from twinframe_columns.column import Column
from twinframe_columns.edges import Edges
from twinframe_columns.kinds import Codes, Rows

Path = tuple[str, ...]
"""The names of a member and those within it: `("address", "city")`."""

ID: Path = ("$dtId",)
RELATIONSHIP_ID: Final = "$relationshipId"


_WORN_PART: Final = 50
"""The part of its rows that may come or go before a projection is worn."""
_MANY_CHANGES: Final = 20_000
_CHANGED_PART: Final = 2
_MOST_TIMES: Final = 10
_NONE: Final[Rows] = np.empty(0, np.int32)


@dataclass
class Projection:
    """Twins by row, their columns, and the relationships between them, at one position.

    Entities that `changed` since it was made take memory of this process alone; `proof` and
    `seconds` are those of its making: what tells its history from another (`making.read_proof`),
    and the time it took. `models` are the DTMIs of the model numbers, `labels` what their twins
    match; rows of the file come by model number, `starts` has the first row of each. Rows behind
    `filed` were added since.
    `numbers` has each row's model number, -1 for deleted twins; `rows` the row of each code of
    `$dtId`, -1 if there is none. `members` are the members with a column that twins of a model
    number have. `is_complete` is False when members were left out since there are too many: then a
    member without a column may have values. `left_out` are those that never get a column.
    """

    position: int
    models: list[str]
    labels: list[frozenset[str]]
    starts: Sequence[int]
    count: int
    filed: int
    numbers: Codes
    rows: Rows
    members: dict[int, set[Path]]
    columns: dict[Path, Column]
    edges: dict[str, Edges]
    is_complete: bool = True
    left_out: set[Path] = field(default_factory=set)
    deleted: int = 0
    changed: int = 0
    proof: str = ""
    seconds: float = 0.0
    _selected: dict[LabelExpression, Sequence[int]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def is_worn(self) -> bool:
        """Whether so much changed that a new file would serve better."""
        late = self.count - self.filed + self.deleted
        return (
            late * _WORN_PART > self.filed
            or self.changed + self._count_texts() > self.most_changes
            or any(one.is_worn for one in self.edges.values())
        )

    @property
    def is_worn_out(self) -> bool:
        """Whether so much changed that it must not take more memory, even if no new file comes."""
        return self.changed + self._count_texts() > _MOST_TIMES * self.most_changes

    @property
    def most_changes(self) -> int:
        """The number of changed entities after which a new file serves better."""
        return max(_MANY_CHANGES, self.filed // _CHANGED_PART)

    def _count_texts(self) -> int:
        """Return how many texts were added: each takes as much memory as an entity."""
        held = [self.columns, *(one.columns for one in self.edges.values())]
        return sum(
            column.strings.added
            for columns in held
            for column in columns.values()
            if column.strings is not None
        )

    def find_row(self, twin_id: str) -> int:
        """Return the row of a twin, -1 if there is none."""
        strings = self.columns[ID].strings
        code = -1 if strings is None else strings.find(twin_id)
        return -1 if code < 0 else int(self.rows[code])

    def find_model(self, dtmi: str) -> int:
        """Return the number of a model, -1 for one that came unnoticed."""
        if len(self._numbers) < len(self.models):
            self._numbers.update((one, at) for at, one in enumerate(self.models))
        return self._numbers.get(dtmi, -1)

    def forget_selections(self) -> None:
        """Forget which models satisfy labels, since the models changed."""
        self._selected.clear()

    def find_rows(self, models: Sequence[int] | None) -> slice | Rows:
        """Return the rows of the twins of these model numbers (None: of all) in ascending order.

        PERF: a slice where they are next to each other, which costs nothing however many they are.
        """
        if models is None:
            if not self.deleted:
                return slice(0, self.count)
            return np.flatnonzero(self.numbers[: self.count] >= 0).astype(np.int32)
        ranges = self._join_ranges(models)
        late = self._find_late(models)
        if len(ranges) == 1 and not len(late) and not self._has_deleted(*ranges[0]):
            return slice(*ranges[0])
        rows = np.concatenate(
            (*(np.arange(low, high, dtype=np.int32) for low, high in ranges), late)
        )
        return rows[self.numbers[rows] >= 0] if self.deleted else rows

    def _find_late(self, models: Sequence[int]) -> Rows:
        """Return the rows of the twins of these model numbers behind the filed ones."""
        if self.count == self.filed:
            return _NONE
        late = self.numbers[self.filed : self.count]
        return (np.flatnonzero(np.isin(late, models)) + self.filed).astype(np.int32)

    def select_models(self, labels: LabelExpression | None) -> Sequence[int] | None:
        """Return the numbers of the models whose twins satisfy the labels; None: those of all."""
        if labels is None:
            return None
        found = self._selected.get(labels)
        if found is None:
            if MODEL_LABEL in find_label_names(labels):
                raise CannotRun("The label Model.")
            holds = compile_labels(labels)
            found = [at for at, own in enumerate(self.labels) if holds(own)]
            self._selected[labels] = found
        return found

    def read_column(self, path: Path) -> Column | None:
        """Return the column of a member; None: no twin has it."""
        return self.columns.get(path)

    def _join_ranges(self, wanted: Sequence[int]) -> list[tuple[int, int]]:
        ranges: list[tuple[int, int]] = []
        for at in wanted:
            if at + 1 >= len(self.starts):
                continue  # a model that came since: its twins are behind the filed ones
            low, high = self.starts[at], self.starts[at + 1]
            if low == high:
                continue
            if ranges and ranges[-1][1] == low:
                ranges[-1] = ranges[-1][0], high
            else:
                ranges.append((low, high))
        return ranges

    def _has_deleted(self, low: int, high: int) -> bool:
        return bool(self.deleted) and bool((self.numbers[low:high] < 0).any())
