"""The query engine of the SQLite store: compiles a plan once to one statement that runs many times.

Callers cache the compiled plans; the connection caches the statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, cast

from twinframe.errors import InvalidContinuationToken, StorageError
from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.engine import (
    CannotRun,
    CompiledQuery,
    Explanation,
    JoinEstimate,
    JsonRow,
    QueryEngine,
)
from twinframe.query.reader import GraphReader
from twinframe.query.sql import (
    Bindings,
    Column,
    Page,
    Select,
    SqlValue,
    build_columns,
    compile_plan,
)
from twinframe_storage_sqlite.compiler.choice import JoinChoice
from twinframe_storage_sqlite.compiler.dialect import DIALECT
from twinframe_storage_sqlite.compiler.extensions import SqliteExtensions
from twinframe_storage_sqlite.compiler.guards import find_trap
from twinframe_storage_sqlite.compiler.output import render_body
from twinframe_storage_sqlite.compiler.paging import build_labelled_scan, find_page_key
from twinframe_storage_sqlite.compiler.paths import IdRanges
from twinframe_storage_sqlite.index_notes import IndexNotes
from twinframe_storage_sqlite.indexing.indexes import list_used
from twinframe_storage_sqlite.indexing.targets import find_targets, is_lookup
from twinframe_storage_sqlite.scans import GraphScans

_PAGE = Page(":page_skip", ":page_limit")
_EXTENSIONS = SqliteExtensions(DIALECT)


class SqliteQuery(CompiledQuery):
    """A plan as SQL: `text` for JSON rows, and the same rows as values. Immutable.

    At run time SQL may turn out not to support a value: iterating then raises `CannotRun`, and the
    caller must discard the rows read so far.
    """

    def __init__(self, query: Query, select: Select) -> None:
        body = render_body(query, select)
        self._columns = build_columns(query, select, _EXTENSIONS)
        self._bindings: Bindings = select.statement.bindings
        self._page = select.page or Page()
        self._is_unpaged = select.page is None
        cells = [cell for column in self._columns for cell in column.sql]
        self._rows_text = select.render(cells or ["1"])
        key = find_page_key(query, select)
        self.resumable = key is not None
        self._first: int | str = 0  # NOTE: row ids are positive, and no id of a twin is empty
        if key is not None:
            self._first = key.first
            select.add_condition(f"{key.column} > :page_after")
            select.order_by = [key.order]
        select.page = _PAGE
        cells = [body, key.column if key else "NULL"]
        self._text = select.render(cells)
        self._scan = build_labelled_scan(select, key, cells)
        self._ranges = IdRanges(select.statement.ranges)
        self._joins = JoinChoice(select.statement.joins)
        self.text = self._ranges.strip(self._joins.strip(self._text))
        self._is_fixed = self._scan is None and not select.statement.joins
        self._is_fixed = self._is_fixed and not select.statement.ranges
        self._is_noted = bool(find_targets(self.text))
        self._is_lookup = is_lookup(self.text)

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Result rows as JSON bytes; those of a resumable query carry their row id as key."""
        scans, bindings = _read_scans(session), self._bindings.build(parameters)
        if self._is_unpaged and limit is not None:
            bindings["page_skip"], bindings["page_limit"] = skip, limit
        else:
            self._bind_page(bindings, skip, limit)
        if self.resumable:
            bindings["page_after"] = self._first if after is None else self._read_key(after)
        text = self._text if self._is_fixed else self._choose(scans, bindings)
        notes = scans.notes if self._is_noted else None
        if limit is None:
            return cast("Iterator[JsonRow]", _run(scans, text, bindings, notes))
        # PERF: no Python frame between SQLite and most rows of a page. Rows are not fetched all at
        # once: each may have a mebibyte, and a page ends when it is large enough. Rows of a short
        # snapshot are small and few.
        if scans.is_short:
            return cast("Iterator[JsonRow]", iter(_run_all(scans, text, bindings, notes)))
        pages = _run_page(scans, text, bindings, notes)
        return cast("Iterator[JsonRow]", chain.from_iterable(pages))

    def count_answered(self, session: GraphReader) -> None:
        """Count a run that looked up a value: with an index it takes as long at any size."""
        notes = _read_scans(session).notes
        if self._is_lookup and notes is not None:
            notes.count_answered(self.text)

    def list_indexes(self, session: GraphReader, parameters: Mapping[str, Value]) -> Sequence[str]:
        """The indexes that SQLite would use for a page of 1,000 rows of the present graph."""
        scans, bindings = _read_scans(session), self._bindings.build(parameters)
        self._bind_page(bindings, 0, 1000)
        bindings["page_after"] = self._first
        return list_used(scans.connection, self._choose(scans, bindings), bindings)

    def explain(self, session: GraphReader, parameters: Mapping[str, Value]) -> Explanation:
        """The statement, indexes and joins of a page of 1,000 rows of the present graph."""
        indexes = self.list_indexes(session, parameters)
        scans, bindings = _read_scans(session), self._bindings.build(parameters)
        self._bind_page(bindings, 0, 1000)
        bindings["page_after"] = self._first
        text = self._choose(scans, bindings)
        return Explanation(indexes, joins=self._joins.list_estimates(), statement=text)

    def count_joins(
        self, session: GraphReader, parameters: Mapping[str, Value], joins: Sequence[JoinEstimate]
    ) -> Iterator[int | None]:
        """The rows after each join, each counted by a statement that has no further ones."""
        scans, bindings = _read_scans(session), self._bindings.build(parameters)
        self._bind_page(bindings, 0, None)
        for join in joins:
            if join.counting is None:
                yield None
                continue
            text = self._ranges.choose(join.counting, scans, bindings)
            ((count,),) = _run_all(scans, text, bindings, None)
            yield count

    def _choose(self, scans: GraphScans, bindings: Mapping[str, SqlValue]) -> str:
        """Return the statement that reads least for these values."""
        text = self._text if self._scan is None else self._scan.choose(scans, bindings)
        return self._arrange(text, scans, bindings)

    def _arrange(self, text: str, scans: GraphScans, bindings: Mapping[str, SqlValue]) -> str:
        text = self._joins.choose(text, scans, bindings)
        return self._ranges.choose(text, scans, bindings)

    def _read_key(self, after: int | str) -> int | str:
        if type(after) is not type(self._first):
            raise InvalidContinuationToken(
                "The continuation token is of an earlier version, which ordered these rows by "
                "another key. Run the query again."
            )
        return after

    def _bind_page(self, bindings: dict[str, SqlValue], skip: int, limit: int | None) -> None:
        """Bind the requested page within the query's own SKIP and LIMIT."""
        if self._is_unpaged:
            bindings["page_skip"], bindings["page_limit"] = skip, -1 if limit is None else limit
            return
        own_skip = _read_count(bindings, self._page.skip) or 0
        own_limit = _read_count(bindings, self._page.limit)
        if own_limit is not None:
            rest = max(own_limit - skip, 0)
            limit = rest if limit is None else min(limit, rest)
        bindings["page_skip"] = min(own_skip + skip, 2**63 - 1)
        bindings["page_limit"] = -1 if limit is None else limit

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Result rows as values."""
        scans, bindings = _read_scans(session), self._bindings.build(parameters)
        # NOTE: what counts the twins of a range reads the bounds of a page, here of all rows.
        self._bind_page(bindings, 0, None)
        bindings["page_after"] = self._first
        labels = scans.read_label_sets()
        columns: tuple[Column, ...] = self._columns
        text = self._arrange(self._rows_text, scans, bindings)
        for row in _run(scans, text, bindings, scans.notes if self._is_noted else None):
            cells = iter(row)
            yield tuple(
                column.decode(tuple(islice(cells, len(column.sql))), labels) for column in columns
            )


def _read_count(bindings: Mapping[str, SqlValue], placeholder: str | None) -> int | None:
    count = None if placeholder is None else bindings[placeholder.removeprefix(":")]
    return count if isinstance(count, int) else None


def _run_all(
    scans: GraphScans, sql: str, bindings: Mapping[str, SqlValue], notes: IndexNotes | None
) -> list[tuple[Any, ...]]:
    before = 0 if notes is None else scans.read_steps()
    try:
        return scans.read_all(sql, bindings)
    except StorageError as error:
        _raise_trap(error)
        raise
    finally:
        if notes is not None:
            notes.count(sql, scans.read_steps() - before)


def _run_page(
    scans: GraphScans, sql: str, bindings: Mapping[str, SqlValue], notes: IndexNotes | None
) -> Iterator[list[tuple[Any, ...]]]:
    before = scans.read_steps()
    try:
        yield from scans.iterate_some(sql, bindings)
    except StorageError as error:
        _raise_trap(error)
        raise
    finally:
        if notes is not None:
            notes.count(sql, scans.read_steps() - before)


def _run(
    scans: GraphScans, sql: str, bindings: Mapping[str, SqlValue], notes: IndexNotes | None
) -> Iterator[tuple[Any, ...]]:
    before = scans.read_steps()
    try:
        yield from scans.iterate(sql, bindings)
    except StorageError as error:
        _raise_trap(error)
        raise
    finally:
        if notes is not None:
            notes.count(sql, scans.read_steps() - before)


def _raise_trap(error: StorageError) -> None:
    trap = find_trap(error)
    if trap is not None:
        raise trap from error


def _read_scans(session: GraphReader) -> GraphScans:
    if not isinstance(session, GraphScans):
        raise CannotRun("A session of another store.")
    return session


class SqliteQueryEngine(QueryEngine):
    """Compiles plans to SQL, in the same way for all graphs."""

    name = "sqlite"
    shares_plans = True

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """The compiled plan, or `CannotRun` naming what SQL cannot say exactly."""
        return SqliteQuery(query, compile_plan(query, parameters, _EXTENSIONS))
