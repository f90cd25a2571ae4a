"""Statements of many rows: each row once and in order, whatever their number; sizes of events."""

from __future__ import annotations

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.storage.base import GraphTransaction, OutboxEvent
from twinframe.testing.contracts.base import run
from twinframe_storage_sqlite.statements import RowsStatement
from twinframe_storage_sqlite.store import SqliteGraphStore
from twinframe_storage_sqlite.transaction import SqliteTransaction

PUT = RowsStatement(
    "INSERT INTO x (a, b) VALUES ", 2, " ON CONFLICT (a) DO UPDATE SET b = excluded.b"
)


@settings(deadline=None)
@given(st.lists(st.integers(0, 300), max_size=430))
def test_rows_are_put_in_their_order_and_counted(keys: list[int]) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE x (a INTEGER PRIMARY KEY, b INTEGER)").fetchall()
    rows = [(key, at) for at, key in enumerate(keys)]
    assert PUT.run(connection.cursor(), rows) == len(rows)
    assert connection.execute("SELECT a, b FROM x").fetchall() == sorted(dict(rows).items())
    connection.close()


def test_events_have_the_same_totals_however_many_come_together(store: SqliteGraphStore) -> None:
    groups = (1, 7, 0, 120, 2, 5, 4)
    bodies = [b"x" * (at * 97 % 9000) for at in range(sum(groups))]
    left = [OutboxEvent(f"s{at}", body) for at, body in enumerate(bodies)]
    for count in groups:
        events, left = left[:count], left[count:]
        run(store, lambda t, events=events: t.append_events(events))

    def look(transaction: GraphTransaction) -> list[tuple[int, int, bytes]]:
        assert isinstance(transaction, SqliteTransaction)
        return transaction.read_all("SELECT position, total, body FROM event ORDER BY position")

    rows = run(store, look)
    assert [body for _, _, body in rows] == bodies
    assert [position for position, _, _ in rows] == list(range(1, len(bodies) + 1))
    page = 4096
    total = 0
    for (_, found, body), at in zip(rows, range(len(rows)), strict=True):
        size = len(body) + len(f"s{at}") + 32
        total += size if size < page else -(-size // page) * page
        assert found == total
