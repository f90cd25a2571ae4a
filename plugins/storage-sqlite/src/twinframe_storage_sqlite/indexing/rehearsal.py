"""Asks SQLite which indexes a statement would use if they existed, in a copy of the schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import apsw

from twinframe_storage_sqlite.aggregate_functions import add_aggregate_functions
from twinframe_storage_sqlite.indexing.statistics import (
    load_statistics,
    put_statistics,
    render_models,
)
from twinframe_storage_sqlite.indexing.targets import Target, parse_index
from twinframe_storage_sqlite.scalar_functions import add_scalar_functions

_SCHEMA: Final = (
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN ('table', 'index') "
    "AND tbl_name NOT LIKE 'sqlite_%' ORDER BY type DESC"
)
_STATISTICS: Final = "SELECT tbl, idx, stat FROM sqlite_stat1 WHERE idx IS NOT NULL"
_HAS_STATISTICS: Final = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'"
_EQUAL: Final = re.compile(r"(?:<expr>|name|relationship_id)=\?")
_PLACEHOLDER: Final = re.compile(r":(\w+)")
_START: Final = re.compile(r"(?:SEARCH|SCAN) ([nr]\d+)\b")
_USED: Final = re.compile(r" USING (?:COVERING )?INDEX (\S+)(?: \((.*)\))?")


class Rehearsal:
    """A copy of the schema without rows, with the statistics that the graph has or would have."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._copy = copy = apsw.Connection(":memory:")
        # NOTE: as all connections have it, see `open_reader`.
        copy.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        add_aggregate_functions(copy)
        add_scalar_functions(copy)
        for (sql,) in connection.execute(_SCHEMA).fetchall():
            copy.execute(str(sql))
        if connection.execute(_HAS_STATISTICS).get is not None:
            for table, index, numbers in connection.execute(_STATISTICS).fetchall():
                put_statistics(copy, str(table), str(index), str(numbers))
        put_statistics(copy, "twin", "twin_model", render_models(connection))

    def add(self, target: Target, numbers: str) -> None:
        """Add the index of a target with its statistics."""
        self._copy.execute(target.render_index())
        put_statistics(self._copy, target.table, target.index, numbers)

    def load(self) -> None:
        """Plan with what was added, from now on."""
        load_statistics(self._copy)

    def find_used(self, text: str) -> Mapping[Target, str]:
        """Return the targets whose automatic indexes a statement would use, and what for."""
        return find_used(self._copy, text)

    def find_start(self, text: str) -> str:
        """Return the alias of the table with which a statement would begin."""
        return find_start(self._copy, text)

    def close(self) -> None:
        """Forget the copy."""
        self._copy.close()


def find_used(connection: apsw.Connection, text: str) -> Mapping[Target, str]:
    """Return the targets whose automatic indexes a statement uses, and what for."""
    found = {}
    for detail in _explain(connection, text):
        match = _USED.search(detail)
        target = parse_index(match[1]) if match else None
        if match and target is not None:
            found[target] = _name_use(match[2] or "")
    return found


def find_start(connection: apsw.Connection, text: str) -> str:
    """Return the alias of the entities with which a statement begins; empty if there are none."""
    starts = (_START.match(detail) for detail in _explain(connection, text))
    return next((match[1] for match in starts if match), "")


def _explain(connection: apsw.Connection, text: str) -> list[str]:
    bindings = dict.fromkeys(_PLACEHOLDER.findall(text))
    # NOTE: a cached explanation would be that of an old schema.
    plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", bindings, can_cache=False).fetchall()
    return [str(row[3]) for row in plan]


def _name_use(terms: str) -> str:
    if not terms:
        return "order"
    return "equality" if _EQUAL.search(terms) else "range"
