"""ladybug and DuckDB with the campus, each in its own best schema, filled in bulk.

ladybug has a node table for each kind of twin and a relationship table for each name; the type of a
device is a property there, since most questions are about all devices. DuckDB has the tables by
hand: integer keys, and a column for what a twin is part of.
"""

from __future__ import annotations

import csv
import importlib
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.many.campus import Campus, Contents
from benchmarks.many.question import TIMES, Bindings, Question
from tests.reliability.tools import install_tool

_DEVICE = {
    "kind": "VARCHAR",
    "name": "VARCHAR",
    "vendor": "VARCHAR",
    "batch": "VARCHAR",
    "serial": "VARCHAR",
    "grade": "VARCHAR",
    "temperature": "DOUBLE",
    "power": "DOUBLE",
    "running": "BOOLEAN",
    "cycles": "BIGINT",
    "installed": "TIMESTAMP",
    "controller_firmware": "VARCHAR",
    "controller_uptime": "BIGINT",
    "controller_charge": "DOUBLE",
    "tags_zone": "VARCHAR",
    "tags_team": "VARCHAR",
    "speed": "BIGINT",
    "total": "BIGINT",
    "unit": "VARCHAR",
    "accuracy": "DOUBLE",
    "position": "DOUBLE",
}
_NODES: Mapping[str, Mapping[str, str]] = {
    "Site": {"name": "VARCHAR"},
    "Building": {"name": "VARCHAR", "year": "BIGINT"},
    "Floor": {"name": "VARCHAR", "level": "BIGINT"},
    "Room": {
        "name": "VARCHAR",
        "area": "DOUBLE",
        "capacity": "BIGINT",
        "usage": "VARCHAR",
        "occupied": "BOOLEAN",
    },
    "Device": _DEVICE,
}
_WHOLES = {"Building": "Site", "Floor": "Building", "Room": "Floor", "Device": "Room"}
_LINKS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "feeds": ("feeds", "Device", {"rating": "BIGINT", "backup": "BOOLEAN"}),
    "adjacentTo": ("adjacent", "Room", {"door": "BOOLEAN", "width": "DOUBLE"}),
}
"""Of each relationship beside the tree: its table in DuckDB, the kind of its ends, properties."""


def load_vendor(name: str) -> ModuleType:
    """The module of an engine, from the package index if need be; `NotRun` if it cannot be had."""
    place = install_tool(name).parent
    version = sys.version_info
    folder = str(place / "lib" / f"python{version.major}.{version.minor}" / "site-packages")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


class DuckDb:
    """DuckDB over a file that is made once."""

    name = "DuckDB"

    def __init__(self, folder: Path, campus: Campus) -> None:
        module = load_vendor("duckdb")
        self.path = folder / "duckdb"
        if not self.path.exists():
            draft = folder / "duckdb-draft"
            draft.unlink(missing_ok=True)
            connection = module.connect(str(draft))
            _fill_duckdb(connection, folder, campus)
            connection.close()
            draft.rename(self.path)
        self._connection = module.connect(str(self.path), read_only=True)

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()

    def write_parquet(self, query: str, path: Path) -> None:
        """Write the result of a query to a file."""
        self._connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")

    async def ask(self, question: Question, bindings: Bindings) -> tuple[float, list[list[Any]]]:
        """Seconds until all rows are fetched, and the rows."""
        typed = _build_typed(bindings)
        start = time.perf_counter()
        rows = self._connection.execute(question.sql, typed).fetchall()
        return time.perf_counter() - start, _read_rows(rows)


class Ladybug:
    """ladybug over a file that is made once; each text is prepared."""

    name = "ladybug"

    def __init__(self, folder: Path, campus: Campus) -> None:
        module = load_vendor("ladybug")
        self.path = folder / "ladybug"
        if not self.path.exists():
            # NOTE: what DuckDB has goes over in Parquet, where null and types are no question.
            _fill_ladybug(module, folder, campus)
        self._database = module.Database(str(self.path), read_only=True)
        self._connection = module.Connection(self._database)
        self._prepared: dict[str, Any] = {}

    def close(self) -> None:
        """Give the file back."""
        self._prepared.clear()
        self._connection.close()
        self._database.close()

    async def ask(self, question: Question, bindings: Bindings) -> tuple[float, list[list[Any]]]:
        """Seconds until all rows are fetched, and the rows."""
        prepared = self._prepared.get(question.name)
        if prepared is None:
            with warnings.catch_warnings():
                # NOTE: it advises against preparing; without, it would parse each text anew.
                warnings.simplefilter("ignore", DeprecationWarning)
                prepared = self._connection.prepare(question.typed)
            self._prepared[question.name] = prepared
        typed = _build_typed(bindings)
        start = time.perf_counter()
        rows = self._connection.execute(prepared, typed).get_all()
        return time.perf_counter() - start, _read_rows(rows)


def _build_typed(bindings: Bindings) -> Bindings:
    return {
        name: datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ") if name in TIMES else value  # noqa: DTZ007  (timestamps have no zone there)
        for name, value in bindings.items()
    }


def _read_rows(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [[_read_value(value) for value in row] for row in rows]


def _read_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value.replace(tzinfo=UTC):%Y-%m-%dT%H:%M:%SZ}"
    return value


# --- filling --------------------------------------------------------------------------------------


def _fill_duckdb(connection: Any, folder: Path, campus: Campus) -> None:
    wholes: dict[str, dict[int, int]] = {label: {} for label in _NODES}
    for part, at, _, whole in campus.list_parts():
        wholes[part][at] = whole
    for label, columns in _NODES.items():
        types = {"key": "INTEGER", "id": "VARCHAR", **columns}
        if label in _WHOLES:
            types[_WHOLES[label].lower()] = "INTEGER"
        rows = _list_rows(campus, label, columns, wholes[label])
        _copy(connection, folder, label.lower(), types, rows)
        connection.execute(f"CREATE UNIQUE INDEX {label.lower()}_id ON {label.lower()}(id)")
    for name, links in (("feeds", campus.list_feeds()), ("adjacentTo", campus.list_neighbours())):
        table, _, columns = _LINKS[name]
        types = {"source": "INTEGER", "target": "INTEGER", **columns}
        _copy(connection, folder, table, types, _list_links(links, columns))
    connection.execute("ANALYZE")
    connection.execute("CHECKPOINT")


def _list_rows(
    campus: Campus, label: str, columns: Mapping[str, str], wholes: Mapping[int, int]
) -> Iterator[list[Any]]:
    for at in range(campus.count(label)):
        kind, contents = campus.build(label, at)
        flat = {"kind": kind, **contents}
        for name in ("controller", "tags"):
            flat |= {f"{name}_{key}": value for key, value in contents.get(name, {}).items()}
        own = [wholes[at]] if label in _WHOLES else []
        yield [at, f"{label.lower()}-{at}", *(flat.get(name) for name in columns), *own]


def _list_links(
    links: Iterable[tuple[int, int, Contents]], columns: Mapping[str, str]
) -> Iterator[list[Any]]:
    for source, target, contents in links:
        yield [source, target, *(contents[name] for name in columns)]


def _copy(
    connection: Any,
    folder: Path,
    table: str,
    types: Mapping[str, str],
    rows: Iterable[Sequence[Any]],
) -> None:
    """Make a table and fill it from a file; None is null."""
    path = folder / "duckdb-copy.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
    connection.execute(f"CREATE TABLE {table}({columns})")
    connection.execute(f"COPY {table} FROM '{path}' (FORMAT csv, HEADER false)")
    path.unlink()


def _fill_ladybug(module: ModuleType, folder: Path, campus: Campus) -> None:
    source = DuckDb(folder, campus)
    draft = folder / "ladybug-draft"
    draft.unlink(missing_ok=True)
    database = module.Database(str(draft))
    connection = module.Connection(database)
    for label, columns in _NODES.items():
        types = ", ".join(f"{name} {_name_type(kind)}" for name, kind in columns.items())
        connection.execute(f"CREATE NODE TABLE {label}(id STRING PRIMARY KEY, {types})")
        names = ", ".join(("id", *columns))
        _hand_over(source, connection, folder, f"SELECT {names} FROM {label.lower()}", label)
    ends = ", ".join(f"FROM {part} TO {whole}" for part, whole in _WHOLES.items())
    connection.execute(f"CREATE REL TABLE isPartOf({ends}, MANY_ONE)")
    for part, whole in _WHOLES.items():
        text = (
            f"SELECT p.id, w.id FROM {part.lower()} p JOIN {whole.lower()} w "
            f"ON w.key = p.{whole.lower()} ORDER BY p.key"
        )
        _hand_over(source, connection, folder, text, "isPartOf", f"(from='{part}', to='{whole}')")
    for name, (table, label, columns) in _LINKS.items():
        types = ", ".join(f"{key} {_name_type(kind)}" for key, kind in columns.items())
        connection.execute(f"CREATE REL TABLE {name}(FROM {label} TO {label}, {types})")
        own = ", ".join(f"x.{key}" for key in columns)
        text = (
            f"SELECT s.id, t.id, {own} FROM {table} x JOIN {label.lower()} s ON s.key = x.source "
            f"JOIN {label.lower()} t ON t.key = x.target ORDER BY x.source, x.target"
        )
        _hand_over(source, connection, folder, text, name)
    connection.execute("CHECKPOINT")
    connection.close()
    database.close()
    source.close()
    draft.rename(folder / "ladybug")


def _name_type(kind: str) -> str:
    return {"VARCHAR": "STRING", "BIGINT": "INT64", "BOOLEAN": "BOOL"}.get(kind, kind)


def _hand_over(
    source: DuckDb, connection: Any, folder: Path, text: str, table: str, options: str = ""
) -> None:
    path = folder / "ladybug-copy.parquet"
    source.write_parquet(text, path)
    connection.execute(f"COPY {table} FROM '{path}' {options}")
    path.unlink()


def measure_disk(path: Path) -> int:
    """Bytes that a file takes, or all files in a folder."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_blocks * 512 for each in files)
