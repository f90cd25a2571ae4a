"""The query engine of PostgreSQL: compiles a plan once to one statement that runs many times."""

# ruff: noqa: S608  (the text is made of constants and of what the compiler wrote)

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import orjson
import psycopg
from psycopg.types.numeric import Int8

from twinframe.errors import TwinframeError
from twinframe.model.values import Node, Value
from twinframe.query.algebra import Query, ResultShape
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow, QueryEngine
from twinframe.query.reader import GraphReader
from twinframe.query.sql import (
    LabelSets,
    Page,
    Select,
    SqlValue,
    build_columns,
    compile_plan,
    find_key,
    read_column,
    read_trap,
    render_text,
)
from twinframe.query.sql import kinds as k
from twinframe.storage.prefetching import PrefetchingSession
from twinframe_storage_postgres.compiler.abilities import EVERYTHING, Abilities, find_used
from twinframe_storage_postgres.compiler.dialect import DIALECT
from twinframe_storage_postgres.compiler.extensions import PostgresExtensions
from twinframe_storage_postgres.compiler.members import build_source, find_members, find_table
from twinframe_storage_postgres.compiler.output import build_json_column
from twinframe_storage_postgres.property_indexes import find_property
from twinframe_storage_postgres.scans import NO_MODELS, GraphScans
from twinframe_storage_postgres.spelling import has_odd_text, render_members
from twinframe_storage_postgres.statements import Row, Translate

_EXTENSIONS: Final = PostgresExtensions(DIALECT)
_NOTED: Final = 256
_HOLE: Final = re.compile("\0(?:([^\0]+)\0::models|(\\w+)\0::page)")
_PLACEHOLDER: Final = re.compile("\0(\\w+)\0(::jsonb?\\b|::given_(?:number|boolean|text))?")
_GIVEN: Final = ("::given_number", "::given_boolean", "::given_text")
_FEW: Final = 2048
"""Rows that are read at once: more than a page."""
_PAGE: Final = Page("\0page_skip\0::page", "\0page_limit\0::page")
_DECLINED: Final = {
    "2201E": "A logarithm of no positive number",
    "2201F": "A power that is no number",
    "22003": "A number that its type does not hold",
    "22007": "A time of another form",
    "22008": "A time out of range",
    "22012": "A division by zero",
    "22P05": "A text with U+0000",
    "0A000": "A statement that the server does not take",
    "54000": "A value beyond a limit",
    "54001": "A statement of such a size",
    "54011": "A statement of so many columns",
    "54023": "A function of so many arguments",
}
"""Errors of PostgreSQL, by SQLSTATE, at which the evaluator has an answer."""


class _Statement:
    """A statement with psycopg's placeholders.

    The row ids of models, and the counts of a page, are in its text, so that PostgreSQL plans with
    its statistics of them; all other values are sent beside it.
    """

    def __init__(self, marked: str) -> None:
        self._names: dict[str, tuple[str, str]] = {}
        parts = _HOLE.split(marked)
        self._labels, self._counts = parts[1::3], parts[2::3]
        texts = [_PLACEHOLDER.sub(self._name, each.replace("%", "%%")) for each in parts[::3]]
        # NOTE: psycopg reads a statement without values as it is.
        self._texts = texts if self._names else parts[::3]
        self._has_models = any(self._labels)
        self.text = self._fill(lambda label: f"{render_text(label)}::bigint[]", {})

    def _name(self, found: re.Match[str]) -> str:
        name, mark = found[1], found[2] or ""
        key = name
        if mark in _GIVEN:
            key, cast = f"{name}_{mark.rpartition('_')[2]}", "::jsonb"
            self._names[key] = (name, mark)
            return f"%({key})s{cast}"
        if key not in self._names or mark:
            self._names[key] = (name, mark)
        return f"%({key})s{mark}"

    def _fill(self, render: Callable[[str], str], values: Mapping[str, SqlValue]) -> str:
        parts = [self._texts[0]]
        for label, count, text in zip(self._labels, self._counts, self._texts[1:], strict=True):
            if label:
                parts.append(render(label))
            else:
                number = values.get(count, f"%({count})s")
                parts.append("ALL" if number is None else str(number))
            parts.append(text)
        return "".join(parts)

    def run(self, scans: GraphScans, values: Mapping[str, SqlValue], prefix: str = "") -> list[Row]:
        """Return all rows with these values."""
        return [*self._select(scans, values, scans.select, prefix)]

    def stream(self, scans: GraphScans, values: Mapping[str, SqlValue]) -> Iterator[Row]:
        """Yield the rows with these values as they are read, planned anew."""
        return self._select(scans, values, scans.stream)

    def _select(
        self,
        scans: GraphScans,
        values: Mapping[str, SqlValue],
        select: Callable[[str, Mapping[str, Any], Translate], Iterable[Row]],
        prefix: str = "",
    ) -> Iterator[Row]:
        bound = {key: _bind(values[name], form) for key, (name, form) in self._names.items()}
        models = scans.guess_labelled() if self._has_models else NO_MODELS
        while True:
            text = prefix + self._fill(models.render, values)
            rows = iter(select(text, bound, _build_error))
            first = [*islice(rows, 1)]
            if not self._has_models or scans.read_schema_version() == models.version:
                break
            models = scans.read_labelled()
        if scans.has_odd_texts:
            raise CannotRun("A graph with texts that have U+0001.")
        return chain(first, rows)


class _Rows:
    """A statement of any number of rows, of which no more than fit are held at once.

    PERF: the first rows come in one trip, by a plan that is kept. MATERIALIZED has PostgreSQL plan
    for all of them. Only where there are more, the statement is run by a cursor, and next time at
    once.
    """

    def __init__(self, marked: str) -> None:
        text = f"WITH few AS MATERIALIZED ({marked}) SELECT * FROM few LIMIT {_FEW + 1}"
        self._few, self._all = _Statement(text), _Statement(marked)
        self.text = self._few.text
        self._is_long = False

    def run(self, scans: GraphScans, values: Mapping[str, SqlValue]) -> Iterable[Row]:
        """Return the rows with these values."""
        if not self._is_long:
            rows = self._few.run(scans, values)
            if len(rows) <= _FEW:
                return rows
            self._is_long = True
        return self._stream(scans, values)

    def _stream(self, scans: GraphScans, values: Mapping[str, SqlValue]) -> Iterator[Row]:
        count = 0
        for count, row in enumerate(self._all.stream(scans, values), start=1):  # noqa: B007
            yield row
        self._is_long = count > _FEW


def _bind(value: SqlValue, form: str) -> SqlValue:
    match value:
        case None:
            return None
        case int() if form == "::given_boolean":
            return "true" if value else "false"
        case float() if math.isinf(value):
            raise CannotRun("A parameter that is infinite.")
        case int() | float() if form == "::given_number":
            return render_members(orjson.dumps(value).decode())
        case str() if form == "::given_text":
            return orjson.dumps(_bind(value, "")).decode()
        case str() if form:
            if has_odd_text(value):
                raise CannotRun("A parameter with U+0001.")
            return render_members(value)
        case str():
            if "\1" in value:
                raise CannotRun("A parameter with U+0001.")
            return value.replace("\0", "\1")
        case int():
            return Int8(value)  # NOTE: psycopg's type of an integer depends on its value
        case _:
            return value


class PostgresQuery(CompiledQuery):
    """A plan as SQL: `text` for JSON rows, and the same rows as values.

    It changes in what it notes of its results alone.
    """

    def __init__(self, query: Query, select: Select) -> None:
        self._query = query
        self._bindings = select.statement.bindings
        terms = [read_column(select, name) for name in query.columns]
        if query.shape is ResultShape.DOCUMENT and (
            len(terms) != 1 or terms[0].kinds not in (k.NODE, k.RELATIONSHIP)
        ):
            raise CannotRun("A document of something that is no node or relationship.")
        _compute_order_once(select)
        self._columns = build_columns(query, select, _EXTENSIONS)
        self._bodies = tuple(map(build_json_column, terms))
        self._is_one_document = [term.kinds for term in terms] in (
            [k.NODE],
            [k.RELATIONSHIP],
        ) and query.shape is not ResultShape.DOCUMENT
        self._reads_labels = any(column.reads_labels for column in self._bodies)
        self._heads = [orjson.dumps(name) + b":" for name in query.columns]
        self._page = select.page or Page()
        self._rows = _Rows(select.render(_list_cells(self._columns)))
        key = find_key(query, select)
        self.resumable = key is not None
        if key is not None:
            select.add_condition(f"{key} > \0page_after\0::bigint")
            select.order_by = [key]
        cells = [*_list_cells(self._bodies), key or "NULL"]
        self._whole = None if select.page else _Rows(select.render(cells))
        select.page = _PAGE
        self._json = _Statement(select.render(cells))
        self.text = self._json.text

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._query.columns

    def check(self, abilities: Abilities) -> None:
        """Raise `CannotRun` where a statement has a part that the server is not proven to run."""
        for each in (self._rows, self._json, self._whole):
            if each is not None:
                abilities.check_text(each.text)

    @property
    def value_parts(self) -> frozenset[str]:
        """The parts of SQL that the statement for values has."""
        return find_used(self._rows.text)

    @property
    def json_parts(self) -> frozenset[str]:
        """The parts of SQL that the statement for JSON has."""
        return find_used(self._json.text)

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
        self._bind_page(bindings, skip, limit)
        bindings["page_after"] = 0 if after is None else int(after)
        rows = self._run(scans, bindings, is_whole=limit is None and not skip)
        if self._is_one_document:
            # PERF: three times as fast as the parts of a row.
            head, tail = self._heads[0].decode(), "}"
            yield from ((f"{{{head}{row[0]}{tail}".encode(), row[1]) for row in rows)
            return
        if self._query.shape is ResultShape.DOCUMENT:
            yield from ((row[0].encode(), row[1]) for row in rows)
            return
        labels: LabelSets = {}
        for row in rows:
            if self._reads_labels and not labels:
                labels = scans.read_label_sets()  # PERF: a read has told whether they changed
            yield self._render(row, labels), row[-1]

    def _run(
        self, scans: GraphScans, bindings: Mapping[str, SqlValue], *, is_whole: bool
    ) -> Iterable[Row]:
        count = bindings["page_limit"]
        if isinstance(count, int) and count <= _FEW:
            return self._json.run(scans, bindings)
        if is_whole and self._whole is not None:
            return self._whole.run(scans, bindings)
        return self._json.stream(scans, bindings)

    def list_indexes(self, session: GraphReader, parameters: Mapping[str, Value]) -> Sequence[str]:
        """The indexes that the server would use for a page of 1,000 rows of the present graph."""
        scans, bindings = _read_scans(session), self._bindings.build(parameters)
        self._bind_page(bindings, 0, 1000)
        bindings["page_after"] = 0
        ((plan,),) = self._json.run(scans, bindings, "EXPLAIN (FORMAT JSON) ")
        return [*dict.fromkeys(_find_indexes(plan))]

    def _render(self, row: Sequence[Any], labels: LabelSets) -> bytes:
        at, parts = 0, []
        for head, column in zip(self._heads, self._bodies, strict=True):
            end = at + len(column.sql)
            body = column.render(row[at:end], labels)
            at = end
            if body is not None:
                parts.append(head + body)
            elif not self._query.omit_null:
                parts.append(head + b"null")
        return b"{" + b",".join(parts) + b"}"

    def _bind_page(self, bindings: dict[str, SqlValue], skip: int, limit: int | None) -> None:
        """Bind the requested page within the query's own SKIP and LIMIT."""
        own_skip = _read_count(bindings, self._page.skip) or 0
        own_limit = _read_count(bindings, self._page.limit)
        if own_limit is not None:
            rest = max(own_limit - skip, 0)
            limit = rest if limit is None else min(limit, rest)
        bindings["page_skip"] = min(own_skip + skip, 2**63 - 1)
        bindings["page_limit"] = limit

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Result rows as values."""
        scans, bindings = _read_scans(session), self._bindings.build(parameters)
        labels = scans.read_label_sets()
        rows = (self._decode(row, labels) for row in self._rows.run(scans, bindings))
        if not isinstance(session, PrefetchingSession):
            yield from rows
            return
        while batch := [*islice(rows, _NOTED)]:
            session.note(each.id for row in batch for each in row if isinstance(each, Node))
            yield from batch

    def _decode(self, row: Row, labels: LabelSets) -> tuple[Value, ...]:
        cells = iter(row)
        return tuple(
            column.decode(tuple(islice(cells, len(column.sql))), labels) for column in self._columns
        )


def _compute_order_once(select: Select) -> None:
    """Read members that rows of one table are ordered by in a derived table, once for each row.

    PERF: reading a member costs more than all that is done with it, and the keys name it thrice.
    """
    alias = find_table(select.sources)
    members = find_members(" ".join(select.order_by), f"{alias}.")
    if alias is None or not members or select.group_by is not None:
        return
    columns = {member: f"k{at}" for at, member in enumerate(members)}
    for member, name in columns.items():
        select.order_by = [key.replace(member, f"{alias}.{name}") for key in select.order_by]
    sources, conditions = select.dialect.arrange(select.sources, select.conditions, {})
    select.sources = [build_source(alias, columns, sources[0], conditions)]
    select.conditions = []


def _find_indexes(plan: object) -> Iterator[str]:
    match plan:
        case dict():
            if isinstance(name := plan.get("Index Name"), str):
                yield find_property(name, str(plan.get("Index Cond"))) or name
            for each in plan.values():
                yield from _find_indexes(each)
        case list():
            for each in plan:
                yield from _find_indexes(each)
        case _:
            pass


def _list_cells(columns: Sequence[Any]) -> list[str]:
    return [cell for column in columns for cell in column.sql] or ["1"]


def _read_count(bindings: Mapping[str, SqlValue], placeholder: str | None) -> int | None:
    count = None if placeholder is None else bindings[placeholder.strip("\0")]
    return count if isinstance(count, int) else None


def _read_scans(session: GraphReader) -> GraphScans:
    if not isinstance(session, GraphScans):
        raise CannotRun("A session of another store.")
    return session


def _build_error(error: psycopg.Error) -> TwinframeError | None:
    trap = read_trap(error.diag.message_primary or "")
    if trap is not None:
        return trap
    if error.sqlstate in _DECLINED:
        return CannotRun(f"{_DECLINED[error.sqlstate]}.")
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        return CannotRun(f"A parameter that PostgreSQL does not take: {error}.")
    return None


def compile_query(query: Query, parameters: Mapping[str, Value]) -> PostgresQuery:
    """Compile a plan for a server that runs all of SQL as PostgreSQL does.

    Raises `CannotRun` naming what SQL cannot say exactly.
    """
    return PostgresQuery(query, compile_plan(query, parameters, _EXTENSIONS))


class PostgresQueryEngine(QueryEngine):
    """Compiles plans to SQL, in the same way for all graphs of a server with these abilities."""

    name = "postgres"
    shares_plans = True

    def __init__(self, find_abilities: Callable[[], Abilities] = lambda: EVERYTHING) -> None:
        self._find_abilities = find_abilities

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """The compiled plan, or `CannotRun` naming what SQL or the server cannot do exactly."""
        compiled = compile_query(query, parameters)
        compiled.check(self._find_abilities())
        return compiled
