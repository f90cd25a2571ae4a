"""A worker that counts up in a graph of triples until it is killed, and says how far it came.

`python counting_worker.py DIRECTORY NAME`: each write counts the twin NAME, its mirror, an entry
and the twin `shared` up by one, and appends an event. A line of output is an acknowledged count.
"""

from __future__ import annotations

import sys

import orjson

from twinframe.storage.base import GraphSession, GraphTransaction, OutboxEvent
from twinframe.testing.contracts.base import run
from twinframe.testing.factories import build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings


def read_count(session: GraphSession, twin_id: str) -> int:
    """The count that a twin holds; 0 when there is none."""
    stored = session.read_twin(twin_id)
    return 0 if stored is None else int(orjson.loads(stored.body)["n"])


def count_up(transaction: GraphTransaction, name: str) -> int:
    """The new count."""
    count = read_count(transaction, name) + 1
    transaction.put_twin(build_twin_record(name, n=count))
    transaction.put_twin(build_twin_record(f"{name}-mirror", n=count))
    transaction.put_twin(build_twin_record("shared", n=read_count(transaction, "shared") + 1))
    transaction.put_entry("count", name, str(count).encode())
    transaction.append_events([OutboxEvent(name, str(count).encode())])
    return count


def main(directory: str, name: str) -> None:
    """Count until the end."""
    store = build_store(RdfSettings(directory=directory, idle_seconds=5), "default")
    store.open()
    while True:
        count = run(store, lambda transaction: count_up(transaction, name))
        sys.stdout.write(f"{count}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
