"""The counts kept beside twins and relationships: right after every change, and after migration."""

from __future__ import annotations

import tempfile
from pathlib import Path

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.errors import TwinframeError
from twinframe.storage.base import GraphTransaction
from twinframe.testing.contracts.base import put, run
from twinframe.testing.factories import (
    build_model_record,
    build_relationship_record,
    build_twin_record,
)
from twinframe_storage_sqlite.connection import open_writer
from twinframe_storage_sqlite.migrations import apply_migrations, load_migrations
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

Step = tuple[str, str, str, bool]

twin_ids = st.sampled_from("abc")
kinds = st.sampled_from("XYZ")
steps = st.lists(
    st.tuples(
        st.sampled_from(("put twin", "delete twin", "relate", "part", "delete models")),
        twin_ids,
        kinds,
        st.booleans(),
    ),
    max_size=25,
)


class GivenUpError(TwinframeError):
    """A work that ends with an error after its change."""


def take(store: SqliteGraphStore, step: Step) -> None:
    """One change, which is undone when the last of the step is true. Refusals are no matter."""
    what, twin_id, kind, undone = step

    def apply(transaction: GraphTransaction) -> None:
        match what:
            case "put twin":
                transaction.put_twin(build_twin_record(twin_id, kind))
            case "delete twin":
                transaction.delete_twin(twin_id)
            case "relate":
                record = build_relationship_record(twin_id, "r", "a", kind)
                transaction.put_relationship(record)
            case "part":
                transaction.delete_relationship(twin_id, "r")
            case _:
                transaction.delete_models([f"dtmi:test:{kind};1"])
        if undone:
            raise GivenUpError("no")

    store.write([apply])


@settings(max_examples=60, deadline=None)
@given(steps)
def test_the_counts_are_right_after_any_changes(changes: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = SqliteGraphStore(SqliteSettings(directory=directory, durability="relaxed"), "graph")
        store.open()
        put(store, *(build_model_record(kind) for kind in "XY"))
        for step in changes:
            take(store, step)
        assert store.verify() == []
        store.close()


def test_verifying_finds_a_wrong_count(store: SqliteGraphStore) -> None:
    put(store, build_model_record("X"), build_twin_record("a", "X"))
    put(store, build_relationship_record("a", "r", "a", "has"))
    assert store.verify() == []

    def spoil(transaction: GraphTransaction) -> None:
        connection = transaction.connection  # type: ignore[attr-defined]  # our own
        connection.execute("UPDATE twin_count SET twins = 7").fetchall()
        connection.execute("DELETE FROM relationship_count").fetchall()

    run(store, spoil)
    assert store.verify() == [
        "wrong count: twins of dtmi:test:X;1",
        "wrong count: relationships has",
    ]


def test_a_file_of_the_first_schema_is_counted_when_it_is_opened(tmp_path: Path) -> None:
    settings_here = SqliteSettings(directory=str(tmp_path))
    connection = open_writer(str(tmp_path / "graph.db"), settings_here, create=True)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    apply_migrations(connection, load_migrations()[:1])
    insert_rows(connection)
    connection.close()
    store = SqliteGraphStore(settings_here, "graph")
    store.open()
    session = store.session()
    found = session.read_all("SELECT * FROM twin_count ORDER BY model")
    assert found == [(1, 2), (2, 1)]
    found = session.read_all("SELECT * FROM relationship_count ORDER BY name")
    assert found == [("feeds", 2, 1, 1), ("has", 1, 1, 1), ("has", 1, 2, 1)]
    session.close()
    assert store.verify() == []
    store.close()


def insert_rows(connection: apsw.Connection) -> None:
    twins = "(1, 'a', 1, 'e', jsonb('{}')), (2, 'b', 2, 'e', jsonb('{}')), (3, 'c', 1, 'e', x'0c')"
    ends = ((1, "p", "has", 2), (1, "q", "has", 3), (2, "p", "feeds", 3))
    for script in (
        "INSERT INTO interface (id, dtmi, name) VALUES (1, 'dtmi:x;1', 'x'), (2, 'dtmi:y;1', 'y')",
        "INSERT INTO interface_closure VALUES (1, 1), (2, 2)",
        f"INSERT INTO twin VALUES {twins}",
    ):
        connection.execute(script).fetchall()
    for end in ends:
        connection.execute(
            "INSERT INTO relationship (source, relationship_id, name, target, etag, document) "
            "VALUES (?, ?, ?, ?, 'e', jsonb('{}'))",
            end,
        ).fetchall()
