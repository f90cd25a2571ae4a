"""Verifies a whole graph in depth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from twinframe.errors import TwinframeError
from twinframe_storage_postgres.session import PostgresSession

_LARGEST_REPORT: Final = 100
_CLOSURE: Final = """
WITH RECURSIVE above (descendant, ancestor) AS (
  SELECT id, id FROM @interface
  UNION
  SELECT a.descendant, f.referenced FROM above a
  JOIN @interface_reference f ON f.referrer = a.ancestor AND f.kind = 0)
SELECT 'the closure lacks ' || ancestor || ' above ' || descendant FROM (
  SELECT ancestor, descendant FROM above
  EXCEPT SELECT ancestor, descendant FROM @interface_closure) x
UNION ALL
SELECT 'the closure has too much: ' || ancestor || ' above ' || descendant FROM (
  SELECT ancestor, descendant FROM @interface_closure
  EXCEPT SELECT ancestor, descendant FROM above) x"""
_INTERFACES: Final = """
SELECT 'the interface ' || dtmi || ' is stored in part' FROM @interface
WHERE (position IS NULL) <> (document IS NULL) OR position > (SELECT last_model FROM @graph)"""
_TWINS: Final = """
SELECT 'the twin ' || dt_id || ' has no interface' FROM @twin t
WHERE NOT EXISTS (SELECT 1 FROM @interface i WHERE i.id = t.model)"""
_ENDS: Final = """
SELECT 'the relationship ' || relationship_id || ' of ' || coalesce(s.dt_id, '?')
  || ' lacks an end'
FROM @relationship r LEFT JOIN @twin s ON s.id = r.source LEFT JOIN @twin t ON t.id = r.target
WHERE s.id IS NULL OR t.id IS NULL"""
# NOTE: the server reads no JSON with U+0000; a document that may have it is not compared.
_DOCUMENTS: Final = r"""
SELECT 'the document of the twin ' || dt_id || ' is not what its members are' FROM @twin
WHERE CASE WHEN strpos(document, '\u0000') = 0
  THEN document::json ->> '$dtId' IS DISTINCT FROM members ->> '$dtId'
  OR document::json ->> '$etag' IS DISTINCT FROM etag END
UNION ALL
SELECT 'the document of the relationship ' || relationship_id || ' is not what its members are'
FROM @relationship
WHERE CASE WHEN strpos(document, '\u0000') = 0
  THEN document::json ->> '$relationshipId' IS DISTINCT FROM members ->> '$relationshipId'
  OR document::json ->> '$etag' IS DISTINCT FROM etag END"""
_COUNTS: Final = """
SELECT 'there are ' || n.twins || ' twins of ' || n.content || ' bytes, not ' || g.twins || ' of '
  || g.content
FROM @graph g, (
  SELECT (SELECT count(*) FROM @twin) AS twins,
    (SELECT coalesce(sum(octet_length(document)), 0) FROM @twin)
    + (SELECT coalesce(sum(octet_length(document)), 0) FROM @relationship) AS content) n
WHERE n.twins <> g.twins OR n.content <> g.content"""
_EVENTS: Final = """
SELECT 'the event ' || position || ' is behind the last position' FROM @event
WHERE position > (SELECT last_position FROM @graph)"""
_ALL: Final = (_CLOSURE, _INTERFACES, _TWINS, _ENDS, _DOCUMENTS, _COUNTS, _EVENTS)


def verify_graph(session: PostgresSession) -> list[str]:
    """List faults of a graph, at most 100, in one state of it; empty when it is sound.

    The server's own files are verified by its own means (`data_checksums`, `pg_amcheck`).
    """
    with session.snapshot():
        findings = [*islice(_find(session), _LARGEST_REPORT + 1)]
    if len(findings) > _LARGEST_REPORT:
        findings[-1] = "and more"
    return findings


def _find(session: PostgresSession) -> Iterator[str]:
    for sql in _ALL:
        try:
            for (finding,) in session.iterate(sql):
                yield finding
        except TwinframeError as error:
            yield f"the check itself ended early: {error.message}"
            return
