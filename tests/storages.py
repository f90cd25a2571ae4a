"""The storages that tests of a whole service or of all use cases run over. It starts nothing.

`TWINFRAME_STORAGES=sqlite,rdflib` runs them over others than the usual ones. Those that take long
run over triples in `make test-rdf`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.postgres.pooler import share_pool
from tests.postgres.server import HOW_TO_GET_IT, build_prefix, share_server

_CHOSEN: Final = os.environ.get("TWINFRAME_STORAGES")


def build_sqlite_environment(folder: Path) -> Mapping[str, str]:
    """Graphs in files of SQLite."""
    return {"Storage__Sqlite__Directory": str(folder / "data")}


def build_oxigraph_environment(folder: Path) -> Mapping[str, str]:
    """Graphs as triples on disk, each in its store process."""
    return {
        "Storage__Provider": "rdf",
        "Storage__Rdf__Directory": str(folder / "rdf"),
        "Storage__Rdf__IdleSeconds": "1",
    }


def build_rdflib_environment(folder: Path) -> Mapping[str, str]:
    """One graph as triples in the memory of one worker."""
    del folder
    return {"Storage__Provider": "rdf", "Storage__Rdf__Engine": "rdflib"}


def build_postgres_environment(folder: Path) -> Mapping[str, str]:
    """Graphs in schemas of a PostgreSQL server of this process."""
    return {
        "Storage__Provider": "postgres",
        "Storage__Postgres__Url": share_server(),
        "Storage__Postgres__Schema": build_prefix(folder),
        "Storage__Postgres__Directory": str(folder / "postgres"),
    }


def build_pooled_environment(folder: Path) -> Mapping[str, str]:
    """The same, through PgBouncer in transaction mode."""
    pooled = {"Storage__Postgres__Url": share_pool(), "Storage__Postgres__Pooler": "true"}
    return {**build_postgres_environment(folder), **pooled}


SERVED: Final[Mapping[str, Callable[[Path], Mapping[str, str]]]] = {
    "sqlite": build_sqlite_environment,
    "oxigraph": build_oxigraph_environment,
    "rdflib": build_rdflib_environment,
    "postgres": build_postgres_environment,
    "pgbouncer": build_pooled_environment,
}
"""The environment of a service that has its data below a folder, by storage."""

ONE_WORKER: Final = frozenset({"rdflib"})
"""Those that a single worker can serve."""


def choose(*usual: str) -> list[str]:
    """The storages to run over: the usual ones, or those of them and of all that are asked for."""
    return _CHOSEN.split(",") if _CHOSEN else list(usual)


def require(storage: str) -> None:
    """Skip the test when the storage is not installed."""
    if storage in ("postgres", "pgbouncer") and find_spec("twinframe_storage_postgres") is None:
        pytest.skip(HOW_TO_GET_IT)
    needed = {"oxigraph": "pyoxigraph", "rdflib": "rdflib"}.get(storage)
    if needed and (find_spec("twinframe_storage_rdf") is None or find_spec(needed) is None):
        pytest.skip("needs the RDF storage: pip install twinframe-storage-rdf")
