"""Writers and servers that are killed: each acknowledged change is in the Parquet files, once.

`TWINFRAME_KILLS` is how often the servers are killed.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import duckdb

from tests.e2e.server import Server
from tests.e2e.test_event_delivery import (
    KILLS,
    SECONDS_OF_LOAD,
    Writer,
    wait_for_progress,
    wait_until,
    wait_until_delivered,
)
from tests.e2e.wire import COUNTER_MODEL, Wire
from tests.storages import SERVED, require
from tests.waiting import join, start


def read_values(root: Path) -> Counter[tuple[str, int]]:
    """How often each value of each twin is in the files; what is no whole file is an error."""
    if not [*root.glob("AdtPropertyEvents/*/*.parquet")]:
        return Counter()
    query = (
        f"SELECT Id, Value::INT FROM '{root}/AdtPropertyEvents/**/*.parquet' WHERE Key = 'value'"
    )
    with duckdb.connect() as connection:
        return Counter(connection.execute(query).fetchall())


def test_each_acknowledged_change_is_stored_once_though_servers_are_killed(tmp_path: Path) -> None:
    require("sqlite")
    root = tmp_path / "tables"
    writers = [Writer(f"writer-{number}") for number in range(2)]
    environment = {
        **SERVED["sqlite"](tmp_path),
        "Events__Endpoints__tables__Type": "parquet",
        "Events__Endpoints__tables__Location": str(root),
        "Events__Endpoints__tables__Seconds": "0.05",
        "Jobs__LeaseSeconds": "0.5",
        "Jobs__LookSeconds": "0.1",
    }
    server = Server(tmp_path, workers=2, environment=environment)
    server.start()
    try:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        route = {"endpointName": "tables", "filter": "true"}
        assert wire.call("PUT", "/eventroutes/all", route)[0] == 204
        wire.close()
        for _ in range(KILLS):
            before = read_values(root).total()
            threads = [start(writer.run, server.port) for writer in writers]
            wait_for_progress(writers)
            wait_until(lambda before=before: read_values(root).total() > before)  # type: ignore[misc]  # the default binds
            time.sleep(random.uniform(*SECONDS_OF_LOAD))
            server.kill()
            join(*threads)
            server.start()
        wire = Wire(server.port)
        status = wait_until_delivered(wire, "all")
        wire.close()
    finally:
        server.stop()
    assert (status["deadLetters"], status["lost"], status["error"]) == (0, 0, "")
    stored = read_values(root)
    assert set(stored.values()) == {1}
    for writer in writers:
        # Of every third number it sends telemetry, which is in no table.
        acknowledged = {(writer.twin, number) for number in writer.acknowledged if number % 3}
        assert len(acknowledged) > 10, "no load, no test"
        assert acknowledged <= set(stored), writer.twin
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]
