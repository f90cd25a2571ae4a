"""Measures what operations cost a PostgreSQL server, and writes `measured.json` beside this file.

`python -m benchmarks.scale.measure "host=... dbname=..."`. The server runs on this machine, so that
the processor time of its processes can be read, and with its own settings for durability. A schema
`scale_default` is made in the database by `storage-postgres` and removed at the end; the statements
are like its own. The service itself is loaded by `wrk`, in the schema `scale_node_default`.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import Connection

from benchmarks.graph import build_edge, build_twin
from benchmarks.scale.node import measure_node
from benchmarks.scale.triples import measure_triples
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

MEASURED: Final = Path(__file__).parent / "measured.json"
_BATCHES: Final = (1, 10, 50, 200)
_KEYS: Final = (1, 10, 100, 1000)
_DEGREE: Final = 10
"""Relationships of a twin."""

_BLOCK: Final = 8192
TRIPLES: Final = 5_000
"""Twins of the graph whose triples are counted."""

_TWINS: Final = "COPY twin (id, dt_id, model, etag, document, members) FROM STDIN"
_RELATIONSHIPS: Final = (
    "COPY relationship (id, source, relationship_id, name, target, etag, document, members) "
    "FROM STDIN"
)
_LOCK: Final = "SELECT last_position FROM graph FOR UPDATE"
_CHANGE: Final = """
UPDATE twin SET etag = n.etag, document = n.document, members = n.document::jsonb
FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS n (id, etag, document) WHERE twin.id = n.id
"""
_RECORD: Final = """
INSERT INTO event (position, subject, body, kind)
SELECT *, 2 FROM unnest(%s::bigint[], %s::text[], %s::bytea[])
"""
_REMEMBER: Final = "UPDATE graph SET last_position = %s"


class Server:
    """The session that is measured: how long it waits, and what its process computes."""

    def __init__(self, url: str) -> None:
        self.connection: Connection[Any] = psycopg.connect(url, autocommit=True)
        self.connection.prepare_threshold = 0
        self._process = Path(f"/proc/{self.connection.info.backend_pid}/schedstat")

    def ask(self, text: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.connection.execute(text, parameters).fetchall()

    def read_time(self) -> float:
        """Seconds that the server's process has computed."""
        return int(self._process.read_text(encoding="ascii").split()[0]) / 1e9

    def time(self, call: Callable[[], object], times: int) -> dict[str, float]:
        """Microseconds of one call: processor time of the server and of this client, and waiting.

        Of waiting the lower quartile: other load of the machine only adds to it.
        """
        for _ in range(max(5, times // 20)):
            call()
        waits = []
        before, own = self.read_time(), time.process_time()
        for _ in range(times):
            start = time.perf_counter()
            call()
            waits.append(time.perf_counter() - start)
        own = (time.process_time() - own) / times
        spent = (self.read_time() - before) / times
        quartile = statistics.quantiles(waits, n=4)[0]
        return {
            "cpu_us": round(spent * 1e6, 1),
            "client_us": round(own * 1e6, 1),
            "wall_us": round(quartile * 1e6, 1),
        }


def fill(server: Server, twins: int) -> None:
    """Write the twins and `_DEGREE` relationships of each, to twins anywhere."""
    dice = random.Random(5)
    cursor = server.connection.cursor()
    with cursor.copy(_TWINS) as copy:
        for at in range(twins):
            name = f"sensor-{at:09}"
            record = build_twin(
                name, "Sensor", name=name, value=dice.random(), unit="degreeCelsius", maker="acme"
            )
            body = record.body.decode()
            copy.write_row((at, name, at % 8, record.etag, body, body))
    with cursor.copy(_RELATIONSHIPS) as copy:
        for at in range(twins * _DEGREE):
            source, target = at // _DEGREE, dice.randrange(twins)
            edge = build_edge(f"sensor-{source:09}", "observes", f"sensor-{target:09}")
            body = edge.body.decode()
            name = f"observes-{at % _DEGREE}"
            copy.write_row((at, source, name, "observes", target, edge.etag, body, body))
    server.connection.execute("VACUUM (ANALYZE) twin, relationship")
    server.connection.execute("CHECKPOINT")


def measure_bytes(server: Server, twins: int) -> dict[str, float]:
    """Bytes on disk of a row with its share of the indexes, and of its indexes alone."""
    rows = {"twin": twins, "relationship": twins * _DEGREE}
    found = {}
    for table, count in rows.items():
        ((total, heap),) = server.ask(
            "SELECT pg_total_relation_size(%s::regclass), pg_relation_size(%s::regclass)",
            [table, table],
        )
        found[table] = round(total / count, 1)
        found[f"{table}_indexes"] = round((total - heap) / count, 1)
    for table in rows:
        ((size,),) = server.ask(f"SELECT avg(octet_length(document::text)) FROM {table}")
        found[f"{table}_document"] = round(float(size), 1)
    return found


def measure_reads(server: Server, twins: int) -> dict[str, Any]:
    """A twin by its id, and the relationships of so many twins in one statement."""
    dice = random.Random(6)
    point = server.time(
        lambda: server.ask(
            "SELECT document FROM twin WHERE dt_id = %s", [f"sensor-{dice.randrange(twins):09}"]
        ),
        20_000,
    )
    text = "SELECT source, target FROM relationship WHERE source = ANY(%s)"
    steps = {}
    for keys in _KEYS:
        drawn = [dice.sample(range(twins), keys) for _ in range(200)]
        steps[str(keys)] = server.time(
            lambda drawn=drawn: server.ask(text, [dice.choice(drawn)]),  # type: ignore[misc]
            max(100, 20_000 // keys),
        )
    ((plan,),) = server.ask(
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT document FROM twin WHERE dt_id = %s",
        [f"sensor-{twins // 2:09}"],
    )
    top = plan[0]["Plan"]
    point["blocks"] = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
    return {"ping": server.time(lambda: server.ask("SELECT 1"), 20_000), "point": point} | {
        "steps": steps
    }


def measure_writes(server: Server, twins: int) -> dict[str, Any]:
    """Batches of patches with their events, each batch durable when it is answered."""
    dice = random.Random(7)
    connection = server.connection

    def write(size: int) -> None:
        ids = sorted(dice.sample(range(twins), size))
        records = [
            build_twin(
                f"sensor-{at:09}", "Sensor", name="n", value=dice.random(), unit="C", maker="a"
            )
            for at in ids
        ]
        with connection.transaction():
            ((position,),) = server.ask(_LOCK)
            positions = [position + 1 + each for each in range(size)]
            documents = [each.body.decode() for each in records]
            with connection.pipeline():
                connection.execute(_CHANGE, [ids, [each.etag for each in records], documents])
                subjects = [each.twin_id for each in records]
                connection.execute(_RECORD, [positions, subjects, [each.body for each in records]])
                connection.execute(_REMEMBER, [positions[-1]])

    def count_log(size: int, times: int) -> float:
        """Bytes of the write-ahead log of one write, from a checkpoint on."""
        connection.execute("CHECKPOINT")
        ((before,),) = server.ask("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        for _ in range(times):
            write(size)
        ((after,),) = server.ask("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        return round(float(after - before) / (times * size), 1)

    found: dict[str, Any] = {
        str(size): server.time(lambda size=size: write(size), max(60, 400 // size))  # type: ignore[misc]
        for size in _BATCHES
    }
    found["log_bytes"] = count_log(50, 40)
    connection.execute("SET wal_compression = pglz")
    found["log_bytes_compressed"] = count_log(50, 40)
    connection.execute("RESET wal_compression")
    ((total,),) = server.ask("SELECT pg_total_relation_size('event'::regclass)")
    ((rows,),) = server.ask("SELECT count(*) FROM event")
    found["event_bytes"] = round(total / rows, 1)
    return found


def measure_disk() -> dict[str, float]:
    """Microseconds of a read of 8 KiB anywhere in a file, and of 8 KiB appended and synced."""
    dice = random.Random(8)
    blocks = 65_536
    with tempfile.NamedTemporaryFile(dir=Path.cwd()) as file:
        for _ in range(blocks // 1024):
            file.write(dice.randbytes(_BLOCK * 1024))
        file.flush()
        os.fdatasync(file.fileno())
        reader = os.open(file.name, os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, _BLOCK)

        def read() -> None:
            os.preadv(reader, [buffer], dice.randrange(blocks) * _BLOCK)

        def sync() -> None:
            os.write(file.fileno(), buffer)
            os.fdatasync(file.fileno())

        found = {"read_us": _time(read, 4000), "sync_us": _time(sync, 1000)}
        os.close(reader)
    return found


def _time(call: Callable[[], object], times: int) -> float:
    waits = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        waits.append(time.perf_counter() - start)
    return round(statistics.quantiles(waits, n=4)[0] * 1e6, 1)


def describe(server: Server) -> dict[str, Any]:
    """Where this was measured: without it no figure means anything."""
    names = ("server_version", "synchronous_commit", "fsync", "shared_buffers", "wal_compression")
    return {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, shared virtual host",
        "load": [round(each, 1) for each in os.getloadavg()],
        "psycopg": psycopg.__version__,
        **{name: server.ask(f"SHOW {name}")[0][0] for name in names},
    }


def main() -> None:
    """Measure everything on the server that is named and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--twins", type=int, default=100_000)
    asked = parser.parse_args()
    store = PostgresGraphStore(PostgresSettings(url=asked.url, schema_="scale"), "default")
    store.open()
    store.close()
    server = Server(asked.url)
    server.connection.execute(f"SET search_path = {store.schema}")
    try:
        fill(server, asked.twins)
        found = {
            "conditions": describe(server) | {"twins": asked.twins, "degree": _DEGREE},
            "bytes": measure_bytes(server, asked.twins),
            "reads": measure_reads(server, asked.twins),
            "writes": measure_writes(server, asked.twins),
            "disk": measure_disk(),
            "triples": measure_triples(TRIPLES),
            "node": measure_node(asked.url),
        }
    finally:
        server.connection.execute(
            f"DROP SCHEMA IF EXISTS {store.schema}, scale_node_default CASCADE"
        )
    MEASURED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
