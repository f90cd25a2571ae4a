"""Writes the statistics by which SQLite chooses between indexes, from counts that are kept.

`ANALYZE` would read the whole index, or say of one with few values that each has some thousand
rows.
"""

from __future__ import annotations

from typing import Final

import apsw

_EXISTS: Final = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'"
_TABLES: Final = "SELECT name FROM sqlite_schema WHERE name GLOB 'sqlite_stat[14]'"
_CLEAR: Final = "DELETE FROM sqlite_stat1 WHERE tbl = ?1 AND idx IS ?2"
_PUT: Final = "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)"
_MODELS: Final = (
    "SELECT coalesce(sum(twins), 0), coalesce(sum(twins * twins) / sum(twins), 1) FROM twin_count"
)


def put_statistics(connection: apsw.Connection, table: str, index: str, numbers: str) -> None:
    """Store the numbers of an index; `load_statistics` makes them count."""
    if connection.execute(_EXISTS).get is None:
        # NOTE: nothing else creates the table. It has this index alone, of the smallest table.
        connection.execute("ANALYZE interface_name").fetchall()
        connection.execute("DELETE FROM sqlite_stat1").fetchall()
    connection.execute(_CLEAR, (table, index)).fetchall()
    connection.execute(_PUT, (table, index, numbers)).fetchall()


def put_model_statistics(connection: apsw.Connection) -> None:
    """Store how many twins share a model, as seen from a twin: large models are asked for most."""
    put_statistics(connection, "twin", "twin_model", render_models(connection))


def render_models(connection: apsw.Connection) -> str:
    """Render the numbers of the index on models."""
    twins, per_model = connection.execute(_MODELS).get
    return f"{twins} {max(per_model, 1)}"


def load_statistics(connection: apsw.Connection) -> None:
    """Plan by what is stored. Other connections do so once the schema has changed."""
    connection.execute("ANALYZE sqlite_schema").fetchall()


def drop_statistics(connection: apsw.Connection) -> None:
    """Remove all of them: without an index on a property there is little to choose."""
    for (table,) in connection.execute(_TABLES).fetchall():
        connection.execute(f"DROP TABLE {table}").fetchall()
