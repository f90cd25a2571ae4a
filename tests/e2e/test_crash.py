"""Kill -9 in the middle of a load, over and over: every acknowledged write is there afterwards."""

from __future__ import annotations

import http.client
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.storages import SERVED, choose, require
from tests.waiting import PATIENCE, join, start

WRITERS = 6
KILLS = {"sqlite": 10, "oxigraph": 4}
SECONDS_OF_LOAD = 0.6


@dataclass
class Writer:
    """Writes rising values to one twin and relationships from it until its server is gone."""

    twin: str
    sent: int = 0
    acknowledged: int = 0
    related: set[str] = field(default_factory=set)

    def run(self, port: int) -> None:
        """Write until the connection breaks."""
        wire = Wire(port)
        try:
            while True:
                self.sent += 1
                status, _, document = wire.call(
                    "PUT", f"/digitaltwins/{self.twin}", counter(self.sent)
                )
                assert status == 200, document
                self.acknowledged = self.sent
                name = f"r{self.sent}"
                status, _, document = wire.call(
                    "PUT",
                    f"/digitaltwins/{self.twin}/relationships/{name}",
                    {"$relationshipName": "next", "$targetId": "anchor"},
                )
                assert status == 200, document
                self.related.add(name)
        except (OSError, http.client.HTTPException):
            return
        finally:
            wire.close()


def _relationships(wire: Wire, twin: str) -> set[str]:
    found: set[str] = set()
    path = f"/digitaltwins/{twin}/relationships"
    while path:
        status, _, page = wire.call("GET", path)
        assert status == 200, page
        found |= {item["$relationshipId"] for item in page["value"]}
        link = page["nextLink"]
        path = link[link.index("/digitaltwins") :] if link else ""
    return found


@pytest.mark.parametrize("storage", choose("sqlite"))
def test_every_acknowledged_write_survives_each_kill(storage: str, tmp_path: Path) -> None:
    require(storage)
    writers = [Writer(f"writer-{number}") for number in range(WRITERS)]
    server = Server(tmp_path, workers=2, environment=SERVED[storage](tmp_path))
    server.start()
    wire = Wire(server.port)
    assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
    assert wire.call("PUT", "/digitaltwins/anchor", counter(0))[0] == 200
    wire.close()
    try:
        for _ in range(KILLS.get(storage, 1)):
            before = sum(writer.acknowledged for writer in writers)
            threads = [start(writer.run, server.port) for writer in writers]
            end = time.monotonic() + PATIENCE
            while sum(writer.acknowledged for writer in writers) == before:
                assert time.monotonic() < end, "no load, no test"
                time.sleep(0.01)
            time.sleep(SECONDS_OF_LOAD)
            server.kill()
            join(*threads)
            server.start()
            wire = Wire(server.port)
            for writer in writers:
                value = wire.call("GET", f"/digitaltwins/{writer.twin}")[2]["value"]
                assert value in {writer.acknowledged, writer.sent}
                assert writer.related <= _relationships(wire, writer.twin)
            wire.close()
    finally:
        server.stop()
