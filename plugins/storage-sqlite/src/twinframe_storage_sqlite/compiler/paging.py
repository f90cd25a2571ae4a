"""Pages of the twins of a label: chooses between two statements, by index and by row id."""
# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

from twinframe.query.sql import Select, SqlValue
from twinframe_storage_sqlite.statements import StatementRunner

_LARGEST_ROW = "SELECT max(id) FROM twin"


@dataclass(frozen=True, slots=True)
class _Counted:
    """The twins of a label when the last row id was `twins`: `found` of them, counted up to
    `most`.
    """

    found: int
    most: int
    twins: int

    def knows(self, most: int, twins: int) -> bool:
        """Return whether it still shows that the label has `most` twins, or that it has fewer."""
        # NOTE: a label gains no more twins than the graph does, except by twins that change models.
        return twins - self.twins <= self.most and (self.found < self.most or most <= self.most)


@dataclass(slots=True)
class LabelledScan:
    """Two ways to page through the twins of a label: by its `index`, or by `walk` over all twins.

    PERF: by the index on the model, a page costs 0.4 us for every twin of the label and nothing for
    the rest of the graph; in order of row id, 0.1 us for every twin passed until the page is full.
    Both cost the same where the label has `sqrt(limit * twins / 4)` twins, which `count` looks up.
    With further conditions (`filtered`) it is unknown how many twins fill a page: the first page
    uses the index, unless the label has more than a quarter of all twins, which costs at most a
    pass over all of them; for later pages the rule without conditions keeps that bound. A count
    serves later pages too: all pages of a scan together cost no more than a few passes over all
    twins.
    """

    index: str
    walk: str
    count: str
    filtered: bool
    _counted: _Counted | None = None

    def choose(self, runner: StatementRunner, bindings: Mapping[str, SqlValue]) -> str:
        """Return the faster of the two for a page of this many rows."""
        limit = bindings["page_limit"]
        if not isinstance(limit, int) or limit < 0:
            return self.walk
        is_first = not bindings["page_after"]
        twins: int = runner.read_one(_LARGEST_ROW) or 0
        enough = max(isqrt(limit * twins // 4), 1)
        if self.filtered and is_first:
            enough = max(twins // 4, 1)
        counted = self._counted
        if is_first or counted is None or not counted.knows(enough, twins):
            found: int = runner.read_one(self.count, {**bindings, "page_limit": enough})
            # NOTE: threads may set it at the same time; each sets its own count.
            self._counted = counted = _Counted(found, enough, twins)
        return self.walk if counted.found >= enough else self.index


def build_labelled_scan(
    select: Select, key: str | None, cells: Sequence[str]
) -> LabelledScan | None:
    """Build a labelled scan of twins with the row id `key`; None for other plans.

    Changes `select`.
    """
    if key is None:
        return None
    alias = key.removesuffix(".id")
    start = f"{alias}.model IN ("
    labels = [each for each in select.conditions if each.startswith(start)]
    if not labels:
        return None
    count = (
        f"SELECT count(*) FROM (SELECT 1 FROM twin AS {alias}"
        f" WHERE {' AND '.join(labels)} LIMIT :page_limit)"
    )
    table = f"twin AS {alias}"
    filtered = len(select.conditions) > len(labels) + 1
    if not filtered and select.sources[0] == table:
        # NOTE: with statistics SQLite assumes a label of average size, and walks.
        select.sources[0] = f"{table} INDEXED BY twin_model"
    if filtered:
        # NOTE: the `+` hides the order of row ids, which would tempt SQLite to walk; an index on a
        # property in a condition may serve better still.
        select.order_by = [f"+{each}" for each in select.order_by]
    index = select.render(cells)
    select.order_by = [key]
    select.sources[0] = select.sources[0].removesuffix(" INDEXED BY twin_model")
    # NOTE: SQLite uses no index for a column behind a `+`.
    select.conditions = [
        f"+{each}" if each.startswith(start) else each for each in select.conditions
    ]
    return LabelledScan(index, select.render(cells), count, filtered)
