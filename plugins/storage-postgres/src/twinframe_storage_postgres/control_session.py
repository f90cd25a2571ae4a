"""Reads and changes the control plane's records in PostgreSQL, with one table per kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import psycopg

from twinframe.errors import InvalidArgument, StorageError
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    Key,
    Order,
    Record,
    RecordKind,
)
from twinframe.storage.control_kinds import (
    DeclaredKinds,
    build_changed,
    build_shared,
    build_taken,
    check_value,
)
from twinframe_storage_postgres.connections import Connection, Connections
from twinframe_storage_postgres.control_tables import (
    RecordSchema,
    decode_key,
    encode_key,
    list_indexes,
    render_column,
)
from twinframe_storage_postgres.errors import build_error, is_stale, is_worn

Row: TypeAlias = tuple[Any, ...]

_MOST_INDEXED: Final = 2600
_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(frozen=True, slots=True)
class KindStatements:
    """The statements of one kind; values are bound."""

    kind: RecordKind
    table: str
    select: str
    insert: str
    update: str
    groups: tuple[tuple[str, ...], ...]


def build_statements(schema: RecordSchema, kind: RecordKind) -> KindStatements:
    """Build the statements for a kind whose names were checked."""
    table = schema.render_table(kind.name)
    keys = [render_column(key) for key in kind.keys]
    columns = ", ".join(("id", "version", "body", *keys))
    values = ", ".join(["%s"] * (len(keys) + 3))
    changes = "".join(f", {key} = %s" for key in keys)
    # SEC: only names checked against a pattern, quoted; every value is bound.
    return KindStatements(
        kind=kind,
        table=table,
        select=f"SELECT {columns} FROM {table}",
        # NOTE: an error of a statement would end the transaction, and its function may go on.
        insert=f"INSERT INTO {table} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING",
        update=f"UPDATE {table} SET version = %s, body = %s{changes}"
        " WHERE id = %s AND version = %s",
        groups=tuple(dict.fromkeys(index.keys for index in list_indexes(kind))),
    )


class RecordTables:
    """The declared kinds with their statements, shared by all sessions of a store."""

    def __init__(self, schema: RecordSchema, kinds: Sequence[RecordKind] = ()) -> None:
        self.schema = schema
        self.kinds = DeclaredKinds(kinds)
        self._statements = {kind.name: build_statements(schema, kind) for kind in kinds}

    def find(self, kind: str) -> KindStatements:
        """Return the statements of a kind. Raises `ValueError` for one that was not declared."""
        found = self._statements.get(kind)
        if found is None:
            self.kinds.find(kind)  # raises an error that says what is wrong
            raise StorageError(f"There is no table for {kind!r}.")
        return found


class PostgresControlSession(ControlSession):
    """Reads for one thread; it keeps a connection only for as long as a snapshot lasts."""

    def __init__(self, tables: RecordTables, connections: Connections) -> None:
        self._tables = tables
        self._connections = connections
        self._held: Connection | None = None
        self._depth = 0

    def close(self) -> None:
        """Give the connection back."""
        held, self._held = self._held, None
        if held is not None:
            self._connections.give(held)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read in one transaction."""
        if not self._depth:
            self._held = self._begin()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._end_snapshot()

    def read(self, kind: str, record_id: str) -> Record | None:
        """Return the record, by its primary key."""
        statements = self._tables.find(kind)
        check_value("id", record_id)
        rows = self._run(f"{statements.select} WHERE id = %s", [record_id.encode()])
        return _build_record(statements.kind, rows[0]) if rows else None

    def find(
        self,
        kind: str,
        conditions: Sequence[Condition] = (),
        *,
        order: Order = Order(),  # noqa: B008  (frozen)
        offset: int = 0,
        limit: int | None = None,
    ) -> Sequence[Record]:
        """Run one statement."""
        statements = self._tables.find(kind)
        self._tables.kinds.check_page(kind, order, offset, limit)
        values: list[object] = []
        where = self._render_where(kind, conditions, values)
        sql = f"{statements.select}{where}{_render_order(order)} LIMIT %s OFFSET %s"
        rows = self._run(sql, [*values, limit, offset])
        return [_build_record(statements.kind, row) for row in rows]

    def count(self, kind: str, conditions: Sequence[Condition] = ()) -> int:
        """Count in the database."""
        values: list[object] = []
        where = self._render_where(kind, conditions, values)
        rows = self._run(f"SELECT count(*) FROM {self._tables.find(kind).table}{where}", values)
        counted: int = rows[0][0]
        return counted

    def _run(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        try:
            if self._held is not None:
                return _run(self._held, sql, values)
            return self._connections.run(lambda connection: _run(connection, sql, values))
        except psycopg.Error as error:
            if is_stale(error) and self._held is not None:
                self._held.close()
            raise build_error(error) from error

    def _begin(self) -> Connection:
        while True:
            try:
                connection, is_new = self._connections.take()
            except psycopg.Error as error:
                raise build_error(error) from error
            try:
                connection.execute(_SNAPSHOT)
            except psycopg.Error as error:
                connection.close()
                self._connections.give(connection)
                # NOTE: a server that was restarted has closed all connections.
                if is_new or not is_worn(error):
                    raise build_error(error) from error
            else:
                return connection

    def _end_snapshot(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._connections.end(held)

    def _render_where(
        self, kind: str, conditions: Sequence[Condition], values: list[object]
    ) -> str:
        self._tables.kinds.check_conditions(kind, conditions)
        texts = [_render_condition(condition, values) for condition in conditions]
        return f" WHERE {' AND '.join(texts)}" if texts else ""


class PostgresControlTransaction(PostgresControlSession, ControlTransaction):
    """The write view over the store's writing connection; valid while its write function runs.

    `version` is the last one given.
    """

    def __init__(
        self,
        tables: RecordTables,
        connections: Connections,
        connection: Connection,
        version: int,
    ) -> None:
        super().__init__(tables, connections)
        self._held = connection
        self._depth = 1  # a snapshot inside is the transaction itself
        self.version = version
        self.changes = False
        self.woken: set[str] = set()

    def wake(self, topic: str) -> None:
        """Tell others after the commit."""
        self.woken.add(topic)

    def insert(self, record: Record) -> Record:
        """Store a new record."""
        statements, stored = self._tables.find(record.kind), self._build_next(record)
        values = [stored.id.encode(), stored.version, _decode(stored), *_encode(stored)]
        if not self._change(statements.insert, values):
            if self.read(record.kind, record.id) is not None:
                raise build_taken(record)
            raise self._build_shared(statements.kind, stored)
        return stored

    def update(self, record: Record) -> Record:
        """Replace a record of the same version."""
        statements, stored = self._tables.find(record.kind), self._build_next(record)
        values = [stored.version, _decode(stored), *_encode(stored)]
        values += [stored.id.encode(), record.version]
        sql = statements.update
        for keys in _list_compared(statements.kind, stored):
            sql += f" AND NOT EXISTS ({self._render_shared(statements, keys)})"
            values += [*(encode_key(stored.keys[key]) for key in keys), stored.id.encode()]
        if not self._change(sql, values):
            present = self.read(record.kind, record.id)
            if present is None or present.version != record.version:
                raise build_changed(record.kind, record.id)
            raise self._build_shared(statements.kind, stored)
        return stored

    def delete(self, kind: str, record_id: str, version: int | None = None) -> bool:
        """Delete a record."""
        check_value("id", record_id)
        stored = self.read(kind, record_id)
        if stored is None:
            return False
        if version is not None and stored.version != version:
            raise build_changed(kind, record_id)
        table = self._tables.find(kind).table
        self._change(f"DELETE FROM {table} WHERE id = %s", [record_id.encode()])
        return True

    def _change(self, sql: str, values: Sequence[object]) -> bool:
        """Run the statement; return whether it changed a row."""
        try:
            self.changes = True
            assert self._held is not None  # noqa: S101  # the writing connection
            return self._held.execute(sql, values).rowcount > 0
        except psycopg.Error as error:
            raise build_error(error) from error

    def _build_next(self, record: Record) -> Record:
        keys = self._tables.kinds.build_keys(record)
        stored = replace(record, keys=keys)
        _check_sizes(self._tables.find(record.kind), stored)
        self.version += 1
        return replace(stored, version=self.version)

    def _render_shared(self, statements: KindStatements, keys: Sequence[str]) -> str:
        same = " AND ".join(f"o.{render_column(key)} = %s" for key in keys)
        return f"SELECT 1 FROM {statements.table} o WHERE {same} AND o.id <> %s"

    def _build_shared(self, kind: RecordKind, record: Record) -> Exception:
        """Build the error that names the unique keys another record has."""
        statements = self._tables.find(kind.name)
        for keys in _list_compared(kind, record):
            values = [*(encode_key(record.keys[key]) for key in keys), record.id.encode()]
            if self._run(self._render_shared(statements, keys), values):
                return build_shared(record, keys)
        return StorageError(f"The {kind.name} {record.id!r} was not written.")


def _run(connection: Connection, sql: str, values: Sequence[object]) -> list[Row]:
    cursor = connection.execute(sql, values, binary=True)
    return cursor.fetchall() if cursor.description else []


def _list_compared(kind: RecordKind, record: Record) -> Iterator[tuple[str, ...]]:
    """The unique sets of the kind in which this record has all keys."""
    for keys in kind.unique:
        if all(record.keys[key] is not None for key in keys):
            yield keys


def _check_sizes(statements: KindStatements, record: Record) -> None:
    """Refuse keys that the index of PostgreSQL does not take, before the server does."""
    sizes = {key: len(encode_key(value) or b"") for key, value in record.keys.items()}
    own = len(record.id.encode())
    for group in (("id",), *statements.groups):
        if own + sum(sizes.get(key, 8) for key in group) > _MOST_INDEXED:
            raise InvalidArgument(
                f"The id and {' and '.join(group)} of a {record.kind} have more than "
                f"{_MOST_INDEXED} bytes together, which PostgreSQL does not index."
            )


def _decode(record: Record) -> str:
    try:
        text = record.body.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"The body of {record.kind} {record.id!r} is no UTF-8.") from error
    if "\x00" in text:
        raise InvalidArgument(f"The body of {record.kind} {record.id!r} has a NUL.")
    return text


def _encode(record: Record) -> Iterator[bytes | None]:
    return (encode_key(value) for value in record.keys.values())


def _build_record(kind: RecordKind, row: Row) -> Record:
    record_id, version, body, *values = row
    keys = dict(zip(kind.keys, map(decode_key, values), strict=True))
    return Record(kind.name, record_id.decode(), body.encode(), keys, version)


def _render_order(order: Order) -> str:
    way = " DESC" if order.descending else ""
    if order.key in ("id", "version"):
        return f" ORDER BY {order.key}{way}"
    empty = "LAST" if order.descending else "FIRST"
    return f" ORDER BY {render_column(order.key)}{way} NULLS {empty}, id{way}"


def _render_condition(condition: Condition, values: list[object]) -> str:
    column = render_column(condition.key)
    if isinstance(condition.value, tuple):
        return _render_member(condition.key, condition.value, values)
    if condition.value is None:
        return f"{column} IS NULL" if condition.test is Comparison.EQUAL else "FALSE"
    values.append(_encode_for(condition.key, condition.value))
    return f"{column} {condition.test.value} %s"


def _render_member(key: str, members: tuple[Key, ...], values: list[object]) -> str:
    present = [member for member in members if member is not None]
    values.append([_encode_for(key, member) for member in present])
    column, kind = render_column(key), "bigint" if key == "version" else "bytea"
    text = f"{column} = ANY(%s::{kind}[])"
    return text if len(present) == len(members) else f"({text} OR {column} IS NULL)"


def _encode_for(key: str, value: Key) -> object:
    """Encode a value as the column of this key has it."""
    if key == "id":
        return str(value).encode()
    return value if key == "version" else encode_key(value)
