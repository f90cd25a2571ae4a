"""Creates and extends the tables of the control records, one table per declared kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import apsw

from twinframe.errors import ConfigurationError
from twinframe.storage.control import RecordKind
from twinframe.storage.control_kinds import OWN_KEYS

_COLUMNS: Final = "SELECT name FROM pragma_table_info(?)"
_INDEXES: Final = "SELECT name FROM pragma_index_list(?) WHERE origin = 'c'"


@dataclass(frozen=True, slots=True)
class TableIndex:
    """An index of a kind's table; its name encodes its definition."""

    name: str
    keys: tuple[str, ...]
    unique: bool

    def render(self, table: str) -> str:
        """Render the statement that creates it."""
        # PERF: `id` after the keys gives the order of a listing, and whole pages from the index.
        keys = self.keys if self.unique or self.keys[-1] == "version" else (*self.keys, "id")
        columns = ", ".join(render_column(key) for key in keys)
        kind = "UNIQUE INDEX" if self.unique else "INDEX"
        return f'CREATE {kind} "{self.name}" ON {table} ({columns})'


def render_table(kind: str) -> str:
    """Render the table of a kind, quoted.

    SEC: names of kinds and keys are checked when declared.
    """
    return f'"record_{kind}"'


def render_column(key: str) -> str:
    """The column of a key, quoted where it is not one of every record."""
    return key if key in OWN_KEYS else f'"key_{key}"'


def holds_tables(connection: apsw.Connection, kinds: Sequence[RecordKind]) -> bool:
    """Whether every kind has its table with all columns and just its indexes."""
    return not any(_list_changes(connection, kind) for kind in kinds)


def write_tables(connection: apsw.Connection, kinds: Sequence[RecordKind]) -> None:
    """Create missing tables and drop undeclared indexes, inside a transaction.

    Raises `ConfigurationError` when stored records do not fit the declaration.
    """
    for kind in kinds:
        for statement in _list_changes(connection, kind):
            try:
                connection.execute(statement).fetchall()
            except apsw.ConstraintError as error:
                raise ConfigurationError(
                    f"Records of {kind.name} in {connection.filename} share keys that shall be "
                    f"unique ({statement})."
                ) from error


def list_indexes(kind: RecordKind) -> Iterator[TableIndex]:
    """List the indexes of a kind: one for each key, declared and unique index, and the version."""
    groups = [("version",), *((key,) for key in kind.keys), *map(_strip_id, kind.indexes)]
    for keys in dict.fromkeys(groups):
        if keys:  # otherwise the primary key serves
            yield TableIndex(f"{kind.name}|by|{'|'.join(keys)}", keys, unique=False)
    for keys in dict.fromkeys(kind.unique):
        yield TableIndex(f"{kind.name}|one|{'|'.join(keys)}", keys, unique=True)


def _strip_id(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Remove the id at the end, which every index has there."""
    return keys[:-1] if keys[-1] == "id" else keys


def _list_changes(connection: apsw.Connection, kind: RecordKind) -> list[str]:
    table = render_table(kind.name)
    there = [name for (name,) in connection.execute(_COLUMNS, (table.strip('"'),))]
    made = [name for (name,) in connection.execute(_INDEXES, (table.strip('"'),))]
    wanted = {index.name: index for index in list_indexes(kind)}
    _check_lost(connection, kind, there, [name for name in made if name not in wanted])
    changes = [] if there else [_render_create(table)]
    changes += [
        f"ALTER TABLE {table} ADD COLUMN {render_column(key)} ANY"
        for key in kind.keys
        if f"key_{key}" not in there
    ]
    changes += [f'DROP INDEX "{name}"' for name in made if name not in wanted]
    changes += [index.render(table) for name, index in wanted.items() if name not in made]
    return changes


def _check_lost(
    connection: apsw.Connection, kind: RecordKind, columns: list[str], indexes: list[str]
) -> None:
    lost = [name[4:] for name in columns if name.startswith("key_") and name[4:] not in kind.keys]
    unique = f"{kind.name}|one|"
    lost += [
        " + ".join(name.removeprefix(unique).split("|"))
        for name in indexes
        if name.startswith(unique)
    ]
    if lost:
        raise ConfigurationError(
            f"The records of {kind.name} in {connection.filename} were stored with "
            f"{', '.join(lost)}, which this release does not know. Install the newer release."
        )


def _render_create(table: str) -> str:
    # The body is text, kept byte by byte; a key keeps its type: ANY converts nothing.
    return (
        f"CREATE TABLE {table} (id TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, "
        "body BLOB NOT NULL) STRICT"
    )
