"""Reports the indexes on properties: why they are there, how often used, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from twinframe.storage.indexes import IndexOrigin, IndexReport
from twinframe_storage_sqlite.indexing.indexes import read_permanent
from twinframe_storage_sqlite.indexing.tallies import Tally, read_tallies
from twinframe_storage_sqlite.indexing.targets import Target, list_automatic
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.settings import SqliteSettings

_SIZE: Final = "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = ? AND aggregate = TRUE"
_ENTITIES: Final = {"twin": "twins", "relationship": "relationships"}


def report_indexes(session: SqliteSession, settings: SqliteSettings) -> list[IndexReport]:
    """Report those that exist, then those that queries asked for."""
    return [*_report_permanent(session, settings), *_report_counted(session)]


def _report_permanent(session: SqliteSession, settings: SqliteSettings) -> Iterator[IndexReport]:
    for index, name in sorted(read_permanent(session.connection).items(), key=lambda item: item[1]):
        declared = name in settings.indexes
        origin = IndexOrigin.DECLARED if declared else IndexOrigin.COMMAND
        yield IndexReport(name, "twins", origin, size=_measure(session, index))


def _report_counted(session: SqliteSession) -> Iterator[IndexReport]:
    tallies = dict(read_tallies(session))
    made = list_automatic(session.connection)
    for target in made:
        size = _measure(session, target.index)
        yield _build(target, tallies.pop(target, Tally()), IndexOrigin.AUTOMATIC, size)
    for target, tally in sorted(tallies.items(), key=lambda item: -item[1].asked):
        yield _build(target, tally, IndexOrigin.WANTED, 0)


def _build(target: Target, tally: Tally, origin: IndexOrigin, size: int) -> IndexReport:
    return IndexReport(
        target.name,
        _ENTITIES[target.table],
        origin,
        tally.used,
        tally.asked,
        tuple(tally.uses),
        datetime.fromtimestamp(tally.at, UTC) if tally.at else None,
        size,
        tally.seconds if tally.made else None,
        tally.hindrance,
    )


def _measure(session: SqliteSession, index: str) -> int:
    size: int = session.read_one(_SIZE, (index,))
    return size
