"""A hosted graph is moved between two databases while two nodes serve it: no caller notices."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.e2e.hosted import build_hosted
from tests.postgres.server import share_server
from tests.postgres.test_nodes import Register, bring_up, build_twin, query, running, wait_until
from tests.waiting import PATIENCE, Threads
from twinframe.control.hosting.catalog import CatalogEntry
from twinframe.control.hosting.catalog_records import RecordCatalog
from twinframe.control.hosting.catalog_view import MOVE
from twinframe.control.hosting.catalogs import build_catalog
from twinframe.control.hosting.databases import GraphDatabases
from twinframe.errors import ConfigurationError, InvalidArgument
from twinframe.hooks.installation import load_installation


def find(catalog: RecordCatalog) -> CatalogEntry:
    """The entry of the graph."""
    entry = catalog.find("r")
    assert entry is not None
    return entry


@pytest.fixture
def other_url() -> Iterator[str]:
    """A second database."""
    name = f"b{secrets.token_hex(6)}"
    with psycopg.connect(share_server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield share_server().replace("dbname=postgres", f"dbname={name}")
    with psycopg.connect(share_server(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_graph_moves_between_databases_while_nodes_write_and_read_it(
    tmp_path: Path, other_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {"Storage__Postgres__Databases__b": other_url}
    with running(tmp_path) as nodes:
        # A new graph goes where there is less: the other database is larger, whatever tests beside
        # this one have put into the first.
        with psycopg.connect(other_url) as connection:
            connection.execute(
                "CREATE TABLE ballast AS "
                "SELECT generate_series(1, 2000000 + pg_database_size('postgres') / 32)"
            )
        nodes.environment |= more
        environment = {**nodes.environment, **more}
        nodes.provisioner = type(nodes.provisioner)(nodes._build_environment("provisioner"))
        one, other = nodes.start("one"), nodes.start("other")
        bring_up(nodes, "r", one, other)
        assert one.call("PUT", "/graphs/r/digitaltwins/n", build_twin("n", "0")).status == 200

        installation = load_installation(environ=nodes._build_environment("command"))
        catalog = build_catalog(installation)
        assert isinstance(catalog, RecordCatalog)
        databases = GraphDatabases(installation, catalog)
        try:
            entry = find(catalog)
            assert [placed.database for placed in databases.list_graphs()] == ["main"]
            with pytest.raises(InvalidArgument, match="in 'main' already"):
                databases.move(entry, "main", print)
            with pytest.raises(InvalidArgument, match="There are: main, b"):
                databases.move(entry, "north", print)

            register = Register([one, other])
            lines: list[str] = []
            with Threads(4) as threads:
                clients = [threads.submit(register.raise_it, seed) for seed in range(4)]
                for target in ("b", "main", "b"):
                    before = register.acknowledged
                    wait_until(lambda before=before: register.acknowledged >= before + 20)
                    assert databases.move(find(catalog), target, lines.append) <= 1.0
                    wait_until(lambda to=target: (find(catalog).database or "main") == to)
                register.ending.set()
            for client in clients:
                client.result()
            assert (register.refused, register.unanswered) == ([], 0)
            for node in (one, other):
                found = node.call("GET", "/graphs/r/digitaltwins/n").json
                assert int(found["of"]) == register.acknowledged
                assert len(query(node, "r", "SELECT * FROM DIGITALTWINS")) == 1

            # A node that starts now finds it, and what is left of the moves goes after a while.
            third = nodes.start("third")
            found = third.call("GET", "/graphs/r/digitaltwins/n").json
            assert int(found["of"]) == register.acknowledged
            assert len(catalog.read(lambda session: session.find(MOVE.name))) == 3
            later = time.time() + 3600
            monkeypatch.setattr("twinframe.control.hosting.databases.time.time", lambda: later)
            databases.tidy()
            assert catalog.read(lambda session: session.find(MOVE.name)) == []
            assert databases.balance() == []  # one graph is nowhere better
        finally:
            catalog.close()

        said = subprocess.run(
            [sys.executable, "-m", "twinframe", "graphs", "list"],
            env={**environment, "Hosting__Directory": str(tmp_path / "command" / "hosting")},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        ).stdout
        assert [line.split()[:2] for line in said.splitlines() if line.split()[:1] == ["r"]] == [
            ["r", "b"]
        ]
        nodes.provisioner.take_down(build_hosted("r", fence=2))
        assert one.call("GET", "/graphs/r/models").status == 404
        with psycopg.connect(other_url) as connection:
            prefix = nodes.environment["Storage__Postgres__Schema"]
            sql = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
            assert connection.execute(sql, [prefix]).fetchall() == []


def test_graphs_of_a_storage_with_one_database_cannot_be_moved(tmp_path: Path) -> None:
    installation = load_installation(
        environ={
            "Hosting__Enabled": "true",
            "Hosting__Directory": str(tmp_path / "hosting"),
            "Storage__Sqlite__Directory": str(tmp_path / "data"),
        }
    )
    with pytest.raises(ConfigurationError, match="Storage__Postgres__Databases__NAME"):
        GraphDatabases(installation, build_catalog(installation))
