"""Verifies a whole file in depth: a graph, or control records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from time import monotonic
from typing import Final

import apsw

from twinframe.storage.control import RecordKind
from twinframe_storage_sqlite.control_tables import holds_tables, render_table

_LARGEST_REPORT: Final = 100
_STEPS: Final = 10_000

_CLOSURE: Final = """
WITH RECURSIVE above (descendant, ancestor) AS (
  SELECT id, id FROM interface
  UNION
  SELECT a.descendant, f.referenced FROM above a
  JOIN interface_reference f ON f.referrer = a.ancestor AND f.kind = 0)
SELECT 'missing', ancestor, descendant FROM (
  SELECT ancestor, descendant FROM above
  EXCEPT SELECT ancestor, descendant FROM interface_closure)
UNION ALL
SELECT 'too much', ancestor, descendant FROM (
  SELECT ancestor, descendant FROM interface_closure
  EXCEPT SELECT ancestor, descendant FROM above)"""
_INTERFACES: Final = """
SELECT dtmi FROM interface
WHERE (position IS NULL) <> (document IS NULL) OR position > (
  SELECT value FROM meta WHERE key = 'last_position')"""
# 8 is the strict check of the binary form.
_TWINS: Final = "SELECT dt_id FROM twin WHERE NOT json_valid(document, 8)"
_RELATIONSHIPS: Final = """
SELECT s.dt_id || ' / ' || r.relationship_id FROM relationship r LEFT JOIN twin s ON s.id = r.source
WHERE NOT json_valid(r.document, 8)"""
_MODELS: Final = """
SELECT dtmi FROM interface WHERE position IS NOT NULL AND NOT (json_valid(document, 8)
  AND json_valid(display_name, 8) AND json_valid(description, 8))"""
_COUNTS: Final = """
SELECT 'twins of ' || coalesce((SELECT dtmi FROM interface i WHERE i.id = c.model), c.model)
FROM (SELECT * FROM twin_count UNION ALL SELECT model, -count(*) FROM twin GROUP BY model) c
GROUP BY c.model HAVING sum(c.twins) <> 0
UNION ALL
SELECT DISTINCT 'relationships ' || c.name FROM (
  SELECT name, sum(relationships) AS number
  FROM (SELECT * FROM relationship_count
    UNION ALL SELECT r.name, s.model, t.model, -count(*) FROM relationship r
    JOIN twin s ON s.id = r.source JOIN twin t ON t.id = r.target GROUP BY 1, 2, 3)
  GROUP BY name, source_model, target_model) c
WHERE c.number <> 0"""
_FACTS: Final = """
SELECT 'meta lacks ' || k.value
FROM json_each('["instance", "secret", "created", "model_version", "last_position"]') k
LEFT JOIN meta m ON m.key = k.value WHERE m.value IS NULL"""
_VERSION: Final = "SELECT value FROM meta WHERE key = 'version'"


def verify_graph(connection: apsw.Connection) -> list[str]:
    """List faults of a graph's file as `list_faults` does."""
    return list_faults(connection, _find(connection))


def list_faults(connection: apsw.Connection, found: Iterator[str]) -> list[str]:
    """List faults of the file and those `found`, at most 100; empty when the file is sound."""
    findings: list[str] = []
    connection.execute("BEGIN")  # one state for all checks, while others go on writing
    try:
        for finding in chain(_find_structural(connection), found):
            if len(findings) == _LARGEST_REPORT:
                findings.append("and more")
                break
            findings.append(finding)
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        findings.append(f"the check itself ended early: {error}")
    finally:
        if connection.in_transaction:  # such an error may have ended it
            connection.execute("ROLLBACK")
    return findings


def find_broken_page(connection: apsw.Connection, seconds: float) -> tuple[str, bool]:
    """Return the first fault in the structure of the file, or nothing; and whether all was checked.

    It ends after this many seconds. The contents of pages are not compared: `verify_graph` does
    that.
    """
    end = monotonic() + seconds
    connection.set_progress_handler(lambda: monotonic() > end, _STEPS)
    try:
        for (line,) in connection.execute("PRAGMA quick_check(1)"):
            if line != "ok":
                return str(line).replace("\n", " "), True
    except apsw.InterruptError:
        return "", False
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        return str(error), True
    finally:
        connection.set_progress_handler(None)
    return "", True


def _find_structural(connection: apsw.Connection) -> Iterator[str]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({_LARGEST_REPORT})"):
        if line != "ok":
            yield str(line)


def _find(connection: apsw.Connection) -> Iterator[str]:
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} points to no row of {parent}"
    for fault, ancestor, descendant in connection.execute(_CLOSURE):
        yield f"interface closure: {fault}: {ancestor} above {descendant}"
    for sql, kind in (
        (_INTERFACES, "interface with contradicting state"),
        (_MODELS, "model with damaged document"),
        (_TWINS, "twin with damaged document"),
        (_RELATIONSHIPS, "relationship with damaged document"),
        (_COUNTS, "wrong count"),
    ):
        for (name,) in connection.execute(sql):
            yield f"{kind}: {name}"
    for (finding,) in connection.execute(_FACTS):
        yield str(finding)


def verify_records(connection: apsw.Connection, kinds: Sequence[RecordKind]) -> list[str]:
    """List faults of the file and its records as `list_faults` does."""
    return list_faults(connection, _find_in_records(connection, kinds))


def _find_in_records(connection: apsw.Connection, kinds: Sequence[RecordKind]) -> Iterator[str]:
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
