"""The rights that `docs/how-to/run-on-postgresql.md` gives are enough, and no more than that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from benchmarks.graph import Shape, fill
from tests.postgres.server import serve
from twinframe_storage_postgres.findings import list_findings
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "run-on-postgresql.md"


@pytest.fixture(scope="module")
def owner() -> Iterator[str]:
    """The connection string of the role that the page makes, on a server of its own."""
    (script,) = re.findall(r"```text\n(CREATE ROLE.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    first, second = script.split("\\connect twins\n")
    with serve() as server:
        superuser = server.url
        # NOTE: the superuser of this server has the name that the page gives the service.
        first, second = (text.replace("twinframe", "service") for text in (first, second))
        for url, text in ((superuser, first), (make_conninfo(superuser, dbname="twins"), second)):
            with psycopg.connect(url, autocommit=True) as connection:
                for statement in filter(None, map(str.strip, text.split(";"))):
                    connection.execute(statement)
        yield make_conninfo(superuser, dbname="twins", user="service")


def test_the_role_keeps_a_graph_and_the_check_finds_nothing(owner: str, tmp_path: Path) -> None:
    settings = PostgresSettings(url=SecretStr(owner), directory=str(tmp_path))
    store = PostgresGraphStore(settings, "default")
    store.open()
    fill(store, Shape(20))
    assert store.verify() == []
    wrong = [each for each in list_findings(settings) if each.severity == "error"]
    store.remove(5)
    store.close()
    # The server of the tests syncs nothing, which is the one thing that the check has to find.
    assert ["fsync is off" in each.message for each in wrong] == [True]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE DATABASE other",
        "CREATE ROLE other",
        "CREATE TABLE public.other (id int)",
        "ALTER SYSTEM SET fsync = off",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT pg_read_file('postgresql.conf')",
        "CREATE TEMPORARY TABLE other (id int)",
    ],
)
def test_the_role_may_do_nothing_else(owner: str, statement: str) -> None:
    with (
        psycopg.connect(owner, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)
