"""Creates and extends the tables of the control records, one table per declared kind.

The declarations are stored beside the records, so a process that has nothing to change only reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import orjson
from psycopg import errors

from twinframe.errors import ConfigurationError
from twinframe.storage.control import Key, RecordKind
from twinframe.storage.control_kinds import OWN_KEYS
from twinframe_storage_postgres.connections import Connection

FORMAT: Final = 1
_LONGEST_NAME: Final = 63
_OFFSET: Final = 2**63


# --- names ----------------------------------------------------------------------------------------


def render_name(name: str) -> str:
    """Render an identifier, quoted. PostgreSQL would cut a longer one: its end becomes a digest."""
    content = name.encode()
    if len(content) > _LONGEST_NAME:
        digest = hashlib.blake2s(content, digest_size=8).hexdigest()
        kept = content[: _LONGEST_NAME - len(digest) - 1].decode(errors="ignore")
        name = f"{kept}-{digest}"
    return '"{}"'.format(name.replace('"', '""'))


def render_column(key: str) -> str:
    """Render the column of a key."""
    return key if key in OWN_KEYS else render_name(f"key_{key}")


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """The names of the tables in one schema."""

    name: str

    @property
    def control(self) -> str:
        """The table of one row: format, newest version, and the ids of the last batches."""
        return f"{render_name(self.name)}.control"

    @property
    def kinds(self) -> str:
        """The table of declarations."""
        return f"{render_name(self.name)}.control_kind"

    def render_table(self, kind: str) -> str:
        """Render the table of a kind."""
        return f"{render_name(self.name)}.{render_name(f'record_{kind}')}"


# --- values ---------------------------------------------------------------------------------------


def encode_key(value: Key) -> bytes | None:
    """Encode a key as bytes in the order of keys.

    PostgreSQL's `text` takes no NUL, and one column has one type.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return b"\x02" + value.encode()
    return b"\x01" + (value + _OFFSET).to_bytes(8, "big")


def decode_key(value: bytes | None) -> Key:
    """Decode what `encode_key` returned."""
    if value is None:
        return None
    if value[0] == 2:
        return value[1:].decode()
    return int.from_bytes(value[1:], "big") - _OFFSET


# --- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableIndex:
    """An index of a kind's table."""

    kind: str
    keys: tuple[str, ...]
    unique: bool

    @property
    def name(self) -> str:
        """The name, which encodes the definition."""
        told = "|".join((self.kind, "one" if self.unique else "by", *self.keys))
        return render_name(told)

    def render(self, schema: RecordSchema) -> str:
        """Render the statement that creates it."""
        # PERF: `id` after the keys gives the order of a listing, and whole pages from the index.
        keys = self.keys if self.unique or self.keys[-1] == "version" else (*self.keys, "id")
        columns = ", ".join(f"{render_column(key)} NULLS FIRST" for key in keys)
        word = "UNIQUE INDEX" if self.unique else "INDEX"
        return f"CREATE {word} {self.name} ON {schema.render_table(self.kind)} ({columns})"


def list_indexes(kind: RecordKind) -> Iterator[TableIndex]:
    """List the indexes of a kind: one for each key, declared and unique index, and the version."""
    groups = [("version",), *((key,) for key in kind.keys), *map(_strip_id, kind.indexes)]
    for keys in dict.fromkeys(groups):
        if keys:  # otherwise the primary key serves
            yield TableIndex(kind.name, keys, unique=False)
    for keys in dict.fromkeys(kind.unique):
        yield TableIndex(kind.name, keys, unique=True)


def create_control(connection: Connection, schema: RecordSchema) -> None:
    """Create the schema and the tables that hold no records, where they are missing.

    Several processes may do so at once.
    """
    # NOTE: `IF NOT EXISTS` asks for the right to create even where nothing is to be created.
    row = connection.execute("SELECT to_regnamespace(%s)", (render_name(schema.name),)).fetchone()
    if row is None or row[0] is None:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {render_name(schema.name)}")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {schema.control} (id integer PRIMARY KEY CHECK (id = 1),"
        " format integer NOT NULL, version bigint NOT NULL, batches bigint[] NOT NULL)"
    )
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {schema.kinds} (name text PRIMARY KEY,"
        " declaration text NOT NULL)"
    )
    connection.execute(
        f"INSERT INTO {schema.control} VALUES (1, %s, 0, '{{}}') ON CONFLICT DO NOTHING", (FORMAT,)
    )


def has_control(connection: Connection, schema: RecordSchema) -> bool:
    """Return whether the tables that hold no records exist.

    Raises `ConfigurationError` for those of a newer release.
    """
    row = connection.execute(
        "SELECT to_regclass(%s), to_regclass(%s)", (schema.control, schema.kinds)
    ).fetchone()
    if row is None or None in row:
        return False
    found = connection.execute(f"SELECT format FROM {schema.control}").fetchone()
    if found is not None and found[0] != FORMAT:
        raise ConfigurationError(
            f"The records in the schema {schema.name} have format {found[0]}, and this release "
            f"knows format {FORMAT}. Install the release that wrote them."
        )
    return found is not None


def holds_tables(connection: Connection, schema: RecordSchema, kinds: Sequence[RecordKind]) -> bool:
    """Return whether every kind is stored as it is declared."""
    stored = _read_stored(connection, schema)
    return all(stored.get(kind.name) == kind for kind in kinds)


def write_tables(connection: Connection, schema: RecordSchema, kinds: Sequence[RecordKind]) -> None:
    """Create missing tables and drop undeclared indexes, inside a transaction of the writer.

    Raises `ConfigurationError` when stored records do not fit the declaration.
    """
    stored = _read_stored(connection, schema)
    for kind in kinds:
        before = stored.get(kind.name)
        if before == kind:
            continue
        if before is not None:
            _check_lost(kind, before)
        for statement in _list_changes(schema, kind, before):
            try:
                connection.execute(statement)
            except errors.UniqueViolation as error:
                raise ConfigurationError(
                    f"Records of {kind.name} in the schema {schema.name} share keys that shall be "
                    f"unique ({statement})."
                ) from error
        connection.execute(
            f"INSERT INTO {schema.kinds} VALUES (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET declaration = excluded.declaration",
            (kind.name, orjson.dumps(asdict(kind)).decode()),
        )


def find_missing(
    connection: Connection, schema: RecordSchema, kinds: Sequence[RecordKind]
) -> list[str]:
    """List what the declarations ask for and the schema does not have."""
    rows = connection.execute(
        "SELECT indexname FROM pg_indexes WHERE schemaname = %s", [schema.name]
    )
    made = {render_name(name) for (name,) in rows}
    missing = []
    for kind in kinds:
        row = connection.execute("SELECT to_regclass(%s)", [schema.render_table(kind.name)])
        if row.fetchone() == (None,):
            missing.append(f"the table of {kind.name}")
            continue
        missing += [f"the index {i.name}" for i in list_indexes(kind) if i.name not in made]
    return missing


def _strip_id(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Remove the id at the end, which every index has there."""
    return keys[:-1] if keys[-1] == "id" else keys


def _read_stored(connection: Connection, schema: RecordSchema) -> Mapping[str, RecordKind]:
    rows = connection.execute(f"SELECT name, declaration FROM {schema.kinds}")
    return {name: _parse_kind(declaration) for name, declaration in rows}


def _parse_kind(declaration: str) -> RecordKind:
    found = orjson.loads(declaration)
    unique, indexes = (tuple(map(tuple, found[name])) for name in ("unique", "indexes"))
    return RecordKind(found["name"], tuple(found["keys"]), unique, indexes)


def _check_lost(kind: RecordKind, stored: RecordKind) -> None:
    lost = [key for key in stored.keys if key not in kind.keys]
    lost += [" + ".join(keys) for keys in stored.unique if keys not in kind.unique]
    if lost:
        raise ConfigurationError(
            f"The records of {kind.name} were stored with {', '.join(lost)}, which this release "
            "does not know. Install the newer release."
        )


def _list_changes(
    schema: RecordSchema, kind: RecordKind, stored: RecordKind | None
) -> Iterator[str]:
    table = schema.render_table(kind.name)
    if stored is None:
        yield (
            f"CREATE TABLE {table} (id bytea PRIMARY KEY, version bigint NOT NULL,"
            " body text NOT NULL)"
        )
    known = () if stored is None else stored.keys
    for key in kind.keys:
        if key not in known:
            yield f"ALTER TABLE {table} ADD COLUMN {render_column(key)} bytea"
    made = {} if stored is None else {index.name: index for index in list_indexes(stored)}
    wanted = {index.name: index for index in list_indexes(kind)}
    for name in made.keys() - wanted.keys():
        yield f"DROP INDEX IF EXISTS {render_name(schema.name)}.{name}"
    for name, index in wanted.items():
        if name not in made:
            yield index.render(schema)
