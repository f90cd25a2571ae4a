"""History is removed by bytes while a service of two workers runs, and what is left stays exact."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.e2e.wire_world import must
from tests.waiting import PATIENCE
from twinframe.testing.factories import ROOM, build_building_interfaces, build_twin_document

_ROUND = 1000
_KEPT = 300_000


def test_the_oldest_changes_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    settings = {
        "History__KeepBytes": str(_KEPT),
        "Events__KeepBytes": str(_KEPT),
        "Events__UndeliveredBytes": str(_KEPT),
    }
    with Server(tmp_path, workers=2, environment=settings) as server:
        wire = Wire(server.port)
        must(wire.call("POST", "/models", build_building_interfaces()), 201)
        begun = must(wire.call("PUT", "/digitaltwins/a", build_twin_document(ROOM, name="0")))
        first = begun["$metadata"]["$lastUpdateTime"]
        assert must(wire.call("GET", f"/digitaltwins/a?asOf={first}"))["name"] == "0"
        states: list[Any] = []

        def write_round() -> None:
            """Change twins a thousand times; keep a state that may be asked for."""
            items = [
                {"$dtId": f"t{at}", **build_twin_document(ROOM, name=f"{len(states)} {at}")}
                for at in range(_ROUND)
            ]
            must(wire.call("POST", "/digitaltwins", items))
            twin = must(wire.call("PUT", "/digitaltwins/a", build_twin_document(ROOM, name="x")))
            states.append(twin)

        def read_past(twin: Any) -> tuple[int, Any]:
            moment = twin["$metadata"]["$lastUpdateTime"]
            status, _, body = wire.call("GET", f"/digitaltwins/a?asOf={moment}")
            return status, body

        def is_gone() -> bool:
            write_round()  # a stretch of the log is measured when it is long enough
            status, body = read_past(begun)
            if status != 200:
                assert status == 410, body
                assert "The first state that can be had is of" in body["error"]["message"]
            return status == 410

        end = time.monotonic() + PATIENCE
        while not is_gone():
            assert time.monotonic() < end, server.log.read_text()
        answers = [read_past(twin) for twin in states]
        kept = [status for status, _ in answers]
        assert kept == sorted(kept, reverse=True)  # what is left are the last ones
        assert kept[-1] == 200
        for twin, (status, body) in zip(states, answers, strict=True):
            assert status == 410 or body == twin
        wire.close()
