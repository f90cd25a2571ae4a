"""Pages of plain scans: their keys, and the choice between two statements for those of a label."""
# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from twinframe.query.algebra import Query
from twinframe.query.sql import Select, SqlValue, find_key
from twinframe_storage_sqlite.compiler.paths import (
    find_bounded,
    is_identified,
    mark_order,
    read_enough,
)
from twinframe_storage_sqlite.statements import StatementRunner


class PageKey(NamedTuple):
    """The key of a plain scan: its column, the order of a page, and a value before all keys.

    `is_identified` says that a condition gives the ids of the twins.
    """

    column: str
    order: str
    first: int | str = 0
    is_identified: bool = False


def find_page_key(query: Query, select: Select) -> PageKey | None:
    """Return the key of a plain scan; None for other plans.

    It is the row id, except for a range of ids: by its index the rows come in the order of the ids.
    """
    row = find_key(query, select)
    if row is None:
        return None
    alias = row.removesuffix(".id")
    if alias.startswith("r"):
        return PageKey(row, mark_order(row, select.conditions, select.statement.ranges))
    if is_identified(select.conditions, alias):
        # NOTE: the `+` hides the order of row ids, for which SQLite would read all twins.
        return PageKey(row, f"+{row}", is_identified=True)
    if any(find_bounded(each) == alias for each in select.conditions):
        return PageKey(f"{alias}.dt_id", f"{alias}.dt_id", first="")
    return PageKey(row, row)


@dataclass(frozen=True, slots=True)
class LabelledScan:
    """Two ways to page through the twins of a label: by its `index`, or by `walk` over all twins.

    It walks where the label has `enough` twins (`read_enough`); `count` reads how many it has from
    the stored counts. `filtered` says that there are further conditions.
    """

    index: str
    walk: str
    count: str
    filtered: bool

    def choose(self, runner: StatementRunner, bindings: Mapping[str, SqlValue]) -> str:
        """Return the faster of the two for a page of this many rows."""
        limit = bindings["page_limit"]
        if not isinstance(limit, int) or limit < 0:
            return self.walk
        enough = read_enough(runner, bindings, filtered=self.filtered)
        found: int = runner.read_one(self.count, bindings)
        return self.walk if found >= enough else self.index


def build_labelled_scan(
    select: Select, key: PageKey | None, cells: Sequence[str]
) -> LabelledScan | None:
    """Build a labelled scan of twins with the row id as key; None for other plans.

    Changes `select`.
    """
    if key is None or key.is_identified or key.first == "":
        return None
    alias = key.column.removesuffix(".id")
    start = f"{alias}.model IN ("
    labels = [each for each in select.conditions if each.startswith(start)]
    if not labels:
        return None
    count = (
        f"SELECT coalesce(sum(twins), 0) FROM twin_count AS {alias} WHERE {' AND '.join(labels)}"
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
    select.order_by = [key.order]
    select.sources[0] = select.sources[0].removesuffix(" INDEXED BY twin_model")
    # NOTE: SQLite uses no index for a column behind a `+`.
    select.conditions = [
        f"+{each}" if each.startswith(start) else each for each in select.conditions
    ]
    return LabelledScan(index, select.render(cells), count, filtered)
