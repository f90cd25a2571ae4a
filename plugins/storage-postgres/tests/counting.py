"""Counts in one twin under its etag, and prints each number once it is acknowledged.

Run by `test_postgres_faults.py` as `python counting.py URL SCHEMA ROUNDS`. No tests.
"""

from __future__ import annotations

import sys
import tempfile

import orjson

from twinframe.errors import PreconditionFailed, StorageBusy
from twinframe.storage.base import GraphTransaction
from twinframe.testing.contracts.base import run
from twinframe.testing.factories import build_twin_record
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore


def _count(store: PostgresGraphStore) -> int:
    """Read the twin, then replace it if it still has that etag."""
    read = store.session().read_twin("counter")
    assert read is not None
    number: int = orjson.loads(read.body)["number"] + 1

    def replace(transaction: GraphTransaction) -> None:
        stored = transaction.read_twin("counter")
        if stored is None or stored.etag != read.etag:
            raise PreconditionFailed("another etag")
        transaction.put_twin(build_twin_record("counter", number=number))

    run(store, replace)
    return number


def main() -> None:
    """Count until as many rounds were acknowledged."""
    url, schema, rounds = sys.argv[1:]
    settings = PostgresSettings(url=url, schema_=schema, directory=tempfile.gettempdir())
    store = PostgresGraphStore(settings, "graph")
    store.open()
    done = 0
    while done < int(rounds):
        try:
            print(_count(store), flush=True)
            done += 1
        except (PreconditionFailed, StorageBusy):
            continue
    store.close()


main()
