"""A query engine over PostgreSQL: compiles plans with the dialect, and runs them by psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, cast

import psycopg
from psycopg.adapt import Loader

from tests.postgres.dialect import DIALECT
from tests.postgres.extensions import PostgresExtensions
from twinframe.errors import TwinframeError
from twinframe.model.ids import build_labels
from twinframe.model.rendering import render_json, render_row
from twinframe.model.values import Value
from twinframe.query.algebra import Query, ResultShape
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow, QueryEngine
from twinframe.query.reader import EmptyReader, GraphReader
from twinframe.query.sql import LabelSets, SqlValue, build_columns, compile_plan, read_trap

_EXTENSIONS = PostgresExtensions(DIALECT)
_LABELS = (
    "SELECT c.descendant, a.dtmi FROM interface_closure AS c JOIN interface AS a"
    " ON a.id = c.ancestor"
)
_DECLINED = {
    "22003": "A number that its type does not hold",
    "22P05": "A document with U+0001",
    "54001": "A statement of such a size",
    "54011": "A statement of so many columns",
    "54023": "A function of so many arguments",
}
"""Errors of PostgreSQL, by SQLSTATE, at which the evaluator has an answer."""


_SWAPPED = {r"\u0000": r"\u0001", r"\u0001": r"\u0000"}
_ESCAPE = re.compile(r"\\(?:u000[01]|.)")


def swap_nul(json: str) -> str:
    """Swap the escapes of U+0000 and U+0001 in JSON text, which is how documents are stored.

    PostgreSQL has no texts with U+0000, and fails at a document that has one. With U+0001 in its
    place texts keep their equality, order and parts; a document with U+0001 itself is declined.
    """
    return _ESCAPE.sub(lambda found: _SWAPPED.get(found[0], found[0]), json)


class _JsonLoader(Loader):
    """Keeps JSON as text, as it was before it was stored."""

    def load(self, data: Any) -> str:
        return swap_nul(bytes(data).decode())


class _TextLoader(Loader):
    """Reads text as it was before it was stored."""

    def load(self, data: Any) -> str:
        return bytes(data).decode().replace("\1", "\0")


class PostgresSession(EmptyReader):
    """A connection to one graph."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.connection = connection
        connection.adapters.register_loader("json", _JsonLoader)
        connection.adapters.register_loader("text", _TextLoader)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Show one state of the graph to all reads inside."""
        with self.connection.transaction():
            yield

    def read_label_sets(self) -> LabelSets:
        """The labels of every interface, by its row id."""
        above: dict[int, set[str]] = {}
        for interface, ancestor in self.connection.execute(_LABELS):
            above.setdefault(interface, set()).add(ancestor)
        return {interface: build_labels(frozenset(found)) for interface, found in above.items()}


class PostgresQuery(CompiledQuery):
    """A plan as SQL of PostgreSQL."""

    resumable = False

    def __init__(self, query: Query, parameters: Mapping[str, Value]) -> None:
        select = compile_plan(query, parameters, _EXTENSIONS)
        self._query = query
        self._columns = build_columns(query, select, _EXTENSIONS)
        self._bindings = select.statement.bindings
        cells = [cell for column in self._columns for cell in column.sql]
        self.text = select.render(cells or ["1"])

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Result rows as JSON, rendered from their values."""
        del after
        stop = None if limit is None else skip + limit
        for row in islice(self.run_rows(session, parameters), skip, stop):
            if self._query.shape is ResultShape.DOCUMENT:
                yield render_json(row[0]), None
            else:
                omit_null = self._query.omit_null
                yield render_row(self._query.columns, row, omit_null=omit_null), None

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Result rows as values."""
        if not isinstance(session, PostgresSession):
            raise CannotRun("A session of another store.")
        labels = session.read_label_sets()
        for row in self._execute(session, parameters):
            cells = iter(row)
            yield tuple(
                column.decode(tuple(islice(cells, len(column.sql))), labels)
                for column in self._columns
            )

    def _execute(
        self, session: PostgresSession, parameters: Mapping[str, Value]
    ) -> list[tuple[Any, ...]]:
        # NOTE: of a failed statement this ends no more than its own part of the snapshot.
        try:
            with session.snapshot():
                text = cast("Any", self.text)
                values = _bind(self._bindings.build(parameters))
                return session.connection.execute(text, values).fetchall()
        except psycopg.Error as error:
            raise _build_error(error) from error


def _bind(values: Mapping[str, SqlValue]) -> dict[str, SqlValue]:
    # NOTE: U+0000 in a text is swapped below; its escape in JSON is not.
    refused = ("\1", r"\u0000", r"\u0001")
    if any(isinstance(one, str) and any(map(one.__contains__, refused)) for one in values.values()):
        raise CannotRun("A parameter with U+0001, or a list with U+0000.")
    return {
        name: each.replace("\0", "\1") if isinstance(each, str) else each
        for name, each in values.items()
    }


def _build_error(error: psycopg.Error) -> TwinframeError | psycopg.Error:
    trap = read_trap(error.diag.message_primary or "")
    if trap is not None:
        return trap
    if error.sqlstate in _DECLINED:
        return CannotRun(f"{_DECLINED[error.sqlstate]}.")
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        return CannotRun(f"A parameter that PostgreSQL does not take: {error}.")
    return error


class PostgresQueryEngine(QueryEngine):
    """Compiles plans to SQL of PostgreSQL."""

    name = "postgres"

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """The compiled plan, or `CannotRun`."""
        return PostgresQuery(query, parameters)
