"""Derived values of a service whose workers are killed under load, and of other workers' writes."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.derived_world import AREA, MODELS, ROOM
from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.waiting import PATIENCE, join, start

ROOMS = 6
KILLS = 3
DERIVATIONS: Any = {
    "reading": {"model": ROOM, "property": "reading", "value": "this.own * 2"},
    "mean": {
        "model": AREA,
        "property": "mean",
        "match": "(this)-[:contains]->(r:Room)",
        "value": "sum(r.reading)",
    },
}


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(0.02)


class Writer:
    """Writes rising values to a room until its server is gone."""

    def __init__(self, number: int) -> None:
        self.path = f"/digitaltwins/r{number}"
        self.written = 0

    def run(self, port: int) -> None:
        wire = Wire(port)
        try:
            while True:
                value = float(self.written + 1)
                patch = [{"op": "add", "path": "/own", "value": value}]
                assert wire.call("PATCH", self.path, patch)[0] == 204
                self.written += 1
        except (OSError, http.client.HTTPException):
            return
        finally:
            wire.close()


def is_current(wire: Wire) -> bool:
    return all(wire.call("GET", f"/derivations/{x}")[2]["state"] == "current" for x in DERIVATIONS)


def test_values_are_true_after_kills_under_load(tmp_path: Path) -> None:
    writers = [Writer(number) for number in range(ROOMS)]
    server = Server(tmp_path, workers=2)
    server.start()
    try:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", MODELS)[0] == 201
        assert wire.call("PUT", "/digitaltwins/a", {"$metadata": {"$model": AREA}})[0] == 200
        for number in range(ROOMS):
            twin = {"$metadata": {"$model": ROOM}}
            assert wire.call("PUT", f"/digitaltwins/r{number}", twin)[0] == 200
            body = {"$relationshipName": "contains", "$targetId": f"r{number}"}
            path = f"/digitaltwins/a/relationships/{number}"
            assert wire.call("PUT", path, body)[0] == 200
        for name, document in DERIVATIONS.items():
            answer = wire.call("PUT", f"/derivations/{name}", {**document, "settleSeconds": 0})
            assert answer[0] == 200, answer
        for _ in range(KILLS):
            wire.close()
            threads = [start(writer.run, server.port) for writer in writers]
            before = sum(writer.written for writer in writers)
            wait_until(
                lambda before=before: sum(one.written for one in writers) > before + 100,  # type: ignore[misc]  # the default binds
                "load",
            )
            server.kill()
            join(*threads)
            server.start()
            wire = Wire(server.port)
            wait_until(lambda wire=wire: is_current(wire), "the derivations")  # type: ignore[misc]  # the default binds
            owns = [
                wire.call("GET", f"/digitaltwins/r{number}")[2]["own"] for number in range(ROOMS)
            ]
            # A write whose answer did not come may be made.
            assert all(own >= one.written for own, one in zip(owns, writers, strict=True))
            assert wire.call("GET", "/digitaltwins/a")[2]["mean"] == 2 * sum(owns)
        wire.close()
    finally:
        server.stop()
    assert "Traceback" not in server.log.read_text(encoding="utf-8")
