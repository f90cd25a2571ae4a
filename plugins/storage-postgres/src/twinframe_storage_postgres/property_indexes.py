"""Indexes on properties of twins: made without a pause for writers, once for all nodes.

A property has two: one of its values, for equality, and one of its numbers in their order. Both are
on the expression that the compiler writes for a member, or PostgreSQL would not use them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from psycopg import errors as pg

from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import find_nearest
from twinframe.storage.indexes import IndexOrigin, IndexReport, check_property
from twinframe_storage_postgres.connections import Connection
from twinframe_storage_postgres.opening import build_index

_PREFIX: Final = "property_"
_MEMBER: Final = re.compile(r"members -> '([A-Za-z][A-Za-z0-9_]*)'::text")
_LIST: Final = (
    "SELECT c.relname, pg_get_indexdef(c.oid), pg_relation_size(c.oid), coalesce(s.idx_scan, 0) "
    "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "LEFT JOIN pg_stat_all_indexes s ON s.indexrelid = c.oid "
    "WHERE i.indrelid = %s::regclass AND starts_with(c.relname, %s) AND {}"
)
_FORMS: Final = {
    # NOTE: a text of any length fits; an entry of a btree has at most 2,704 bytes.
    "equal": "USING hash ((members -> '{0}'))",
    "number": "((members -> '{0}')) WHERE jsonb_typeof(members -> '{0}') = 'number'",
}


def list_indexes(connection: Connection, schema: str) -> list[str]:
    """The properties that have all their indexes, in alphabetical order."""
    found = _read(connection, schema, "i.indisvalid")
    return sorted(name for name, indexes in found.items() if len(indexes) == len(_FORMS))


def report_indexes(
    connection: Connection, schema: str, declared: Iterable[str]
) -> list[IndexReport]:
    """Report the indexes of each property, of which the server counts the scans."""
    return [
        IndexReport(
            name,
            "twins",
            IndexOrigin.DECLARED if name in {*declared} else IndexOrigin.COMMAND,
            used=sum(scans for _, _, scans in indexes),
            size=sum(size for _, size, _ in indexes),
            hindrance="" if len(indexes) == len(_FORMS) else "it is not complete: create it again",
        )
        for name, indexes in sorted(_read(connection, schema, "i.indisvalid").items())
    ]


def create_index(connection: Connection, schema: str, name: str) -> bool:
    """Index a property; return False if it was before. Other nodes may do so at once.

    Raises `InvalidArgument` for what is no name of a property.
    """
    check_property(name)
    if name in list_indexes(connection, schema):
        return False
    for form, rest in _FORMS.items():
        index = f'"{_build_name(name, form)}"'
        text = f'CREATE INDEX CONCURRENTLY {index} ON "{schema}".twin {rest.format(name)}'
        build_index(connection, f'"{schema}".{index}', f'"{schema}".twin', text)
    # NOTE: the planner has no idea of the values of an expression before. Of a deadlock, the other
    # one is building an index, and will do so, too.
    with suppress(pg.DeadlockDetected):
        connection.execute(f'ANALYZE "{schema}".twin')
    return True


def drop_index(connection: Connection, schema: str, name: str) -> None:
    """Drop the indexes of a property. Raises `InvalidArgument` when there is none."""
    found = _read(connection, schema, "TRUE")
    if name not in found:
        near = find_nearest(name, found)
        hint = f" Did you mean {near!r}?" if near else ""
        raise InvalidArgument(f"The property {name!r} has no index.{hint}")
    for index, _, _ in found[name]:
        connection.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{schema}"."{index}"')


def find_property(index: str, condition: str) -> str | None:
    """Return the property of an index that a plan has with this condition."""
    found = _MEMBER.search(condition) if index.startswith(_PREFIX) else None
    return None if found is None else found[1]


def _build_name(name: str, form: str) -> str:
    # NOTE: a name of PostgreSQL has at most 63 bytes, that of a property 512.
    return f"{_PREFIX}{hashlib.sha256(name.encode()).hexdigest()[:24]}_{form}"


def _read(
    connection: Connection, schema: str, condition: str
) -> dict[str, list[tuple[str, int, int]]]:
    """Return the indexes by property, each with its bytes and scans."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    rows = connection.execute(_LIST.format(condition), (f'"{schema}".twin', _PREFIX))
    for index, definition, size, scans in rows.fetchall():
        member = _MEMBER.search(definition)
        if member is not None:
            found.setdefault(member[1], []).append((index, size, scans))
    return found
