"""Verifies all control records of a file in depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import apsw

from twinframe.storage.control import RecordKind
from twinframe_storage_sqlite.control_tables import holds_tables, render_table
from twinframe_storage_sqlite.verify import list_faults

_VERSION: Final = "SELECT value FROM meta WHERE key = 'version'"


def verify_records(connection: apsw.Connection, kinds: Sequence[RecordKind]) -> list[str]:
    """List faults of the file and its records as `list_faults` does."""
    return list_faults(connection, _find(connection, kinds))


def _find(connection: apsw.Connection, kinds: Sequence[RecordKind]) -> Iterator[str]:
    if not holds_tables(connection, kinds):
        yield "the tables are not as the kinds of record declare them"
        return
    newest = connection.execute(_VERSION).get
    seen: dict[int, str] = {}
    for kind in kinds:
        rows = connection.execute(
            "SELECT id, version, json_valid(CAST(body AS TEXT)) "  # noqa: S608  (checked names)
            f"FROM {render_table(kind.name)}"
        )
        for record_id, version, is_json in rows:
            name = f"{kind.name} {record_id!r}"
            if not is_json:
                yield f"{name} has a damaged body"
            if not isinstance(newest, int) or not 0 < version <= newest:
                yield f"{name} has the version {version}, but the last one given is {newest}"
            if version in seen:
                yield f"{name} and {seen[version]} have one version: {version}"
            seen[version] = name
