"""One of several processes that race with conditional writes to one graph of a SPARQL server.

Run by `test_races.py` as `python racing.py SETTINGS GRAPH ROUNDS NAME`. No tests.
"""

from __future__ import annotations

import json
import sys

from twinframe.errors import PreconditionFailed, StorageBusy
from twinframe.storage.base import GraphTransaction, OutboxEvent
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.factories import build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.settings import RdfSettings

PAIR = ("left", "right")
"""Twins that each write replaces together: they are always of one number."""


def race(settings: str, graph: str, rounds: int, name: str) -> dict[str, object]:
    """What this process was told of its writes: the numbers it won, how many it lost."""
    store = build_store(RdfSettings(**json.loads(settings)), graph)
    store.open()
    won: list[int] = []
    lost = busy = torn = 0
    with reading(store) as session:
        instance = session.read_instance().id
        for _ in range(rounds):
            stored = session.read_twin("left")
            number = 0 if stored is None else json.loads(stored.body)["n"]
            etag = None if stored is None else stored.etag

            def apply(
                transaction: GraphTransaction, etag: str | None = etag, number: int = number
            ) -> None:
                now = transaction.read_twin("left")
                if (None if now is None else now.etag) != etag:
                    raise PreconditionFailed("another etag")
                for twin_id in PAIR:
                    transaction.put_twin(build_twin_record(twin_id, n=number + 1, by=name))
                transaction.append_events([OutboxEvent(f"{number + 1}", name.encode())])

            try:
                run(store, apply)
                won.append(number + 1)
            except PreconditionFailed:
                lost += 1
            except StorageBusy:
                busy += 1
            with session.snapshot():
                pair = [session.read_twin(twin_id) for twin_id in PAIR]
                numbers = {json.loads(twin.body)["n"] for twin in pair if twin is not None}
                torn += len(numbers) != 1 or None in pair
    store.close()
    return {"instance": instance, "won": won, "lost": lost, "busy": busy, "torn": torn}


if __name__ == "__main__":
    _settings, _graph, _rounds, _name = sys.argv[1:]
    print(json.dumps(race(_settings, _graph, int(_rounds), _name)))
