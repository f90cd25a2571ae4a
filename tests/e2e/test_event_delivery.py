"""Writers, a receiver that fails and is restarted, servers that are killed: no event is lost.

`TWINFRAME_KILLS` is how often the servers are killed; `make test-events` does it ten times.
"""

from __future__ import annotations

import http.client
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.receiver import Event, Receiver
from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.storages import SERVED, choose, require
from tests.waiting import PATIENCE, join, start

WRITERS = 4
KILLS = int(os.environ.get("TWINFRAME_KILLS", "2"))
SECONDS_OF_LOAD = (0.4, 1.6)
UPDATE = "Microsoft.DigitalTwins.Twin.Update"
TELEMETRY = "microsoft.iot.telemetry"


@dataclass
class Writer:
    """Writes rising numbers about one twin until its server is gone: by PUT, PATCH, telemetry.

    In between it writes what must be refused.
    """

    twin: str
    sent: int = 0
    acknowledged: list[int] = field(default_factory=list)
    refused: int = 0

    def run(self, port: int) -> None:
        """Write until the connection breaks."""
        wire = Wire(port)
        try:
            while True:
                self.write(wire, self.sent + 1)
        except (OSError, http.client.HTTPException):
            return
        finally:
            wire.close()

    def write(self, wire: Wire, number: int) -> None:
        """One write that counts, and sometimes one that must not."""
        path = f"/digitaltwins/{self.twin}"
        self.sent = number
        if number % 3 == 0:
            status = wire.call("POST", f"{path}/telemetry", {"value": number})[0]
        elif number % 3 == 1:
            status = wire.call("PUT", path, counter(number))[0]
        else:
            patch = [{"op": "replace", "path": "/value", "value": number}]
            status = wire.call("PATCH", path, patch)[0]
        assert status in (200, 204)
        self.acknowledged.append(number)
        if number % 5 == 0:
            bad: Any = {**counter(0), "value": "refused"}
            assert wire.call("PUT", path, bad)[0] == 400
            patch = [{"op": "replace", "path": "/value", "value": "refused"}]
            assert wire.call("PATCH", path, patch, If_Match='W/"no"')[0] in (400, 412)
            self.refused += 1


def read_number(event: Event) -> Any:
    """The number that a write brought."""
    data = event["data"]
    if event["type"] == UPDATE:
        values = [one["value"] for one in data["patch"] if one["path"] == "/value"]
        return values[0] if values else None
    return data["value"]


def read_twin(event: Event) -> str:
    """The twin that an event is about."""
    found: str = event["subject"] if "subject" in event else event["source"].rpartition("/")[2]
    return found


class StateCheck:
    """Looks up the state of some of the events before they are taken: it must be there already."""

    def __init__(self) -> None:
        self.port = 0
        self.looked = 0
        self.behind: list[tuple[int, int]] = []

    def look(self, event: Event) -> None:
        """Compare, unless the server is gone at the moment."""
        number = read_number(event)
        if event["type"] == TELEMETRY or number is None or number % 4:
            return
        wire = Wire(self.port)
        try:
            found = wire.call("GET", f"/digitaltwins/{event['subject']}")[2]["value"]
        except (OSError, http.client.HTTPException):
            return
        finally:
            wire.close()
        self.looked += 1
        if found < number:
            self.behind.append((number, found))


def test_what_a_killed_service_held_is_taken_over_long_before_its_lease_ends(
    tmp_path: Path,
) -> None:
    require("sqlite")
    receiver = Receiver()
    receiver.start()
    environment = {
        **SERVED["sqlite"](tmp_path),
        "Events__Endpoints__out__Type": "webhook",
        "Events__Endpoints__out__Url": receiver.url,
        "Jobs__LeaseSeconds": "3600",
    }
    server = Server(tmp_path, workers=2, environment=environment)
    server.start()
    try:
        for number in (1, 2):
            wire = Wire(server.port)
            if number == 1:
                assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
                route = {"endpointName": "out", "filter": "NOT STARTS_WITH(type, 'Twinframe')"}
                assert wire.call("PUT", "/eventroutes/all", route)[0] == 204
            assert wire.call("PUT", "/digitaltwins/a", counter(number))[0] == 200
            assert wait_until_delivered(wire, "all")["delivered"] >= number
            wire.close()
            server.kill()
            server.start()
    finally:
        server.stop()
        receiver.stop()
    assert {read_number(event) for event in receiver.taken} == {1, 2}


def wait_for_progress(writers: list[Writer]) -> None:
    """Return when each of them had several more writes acknowledged, and some refused."""
    before = [writer.refused for writer in writers]
    wait_until(lambda: all(w.refused > early + 1 for w, early in zip(writers, before, strict=True)))


def wait_until(holds: Callable[[], bool]) -> None:
    """Return when it holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def wait_until_delivered(wire: Wire, route: str) -> dict[str, Any]:
    """The status of a route once nothing is left to be delivered."""
    end = time.monotonic() + PATIENCE
    status: dict[str, Any] = {}
    while time.monotonic() < end:
        status = wire.call("GET", f"/eventroutes/{route}/status")[2]
        if status["behind"] == 0:
            return status
        time.sleep(0.05)
    raise AssertionError(f"not delivered: {status}")


def check_arrivals(writer: Writer, numbers: list[int]) -> None:
    """Each acknowledged number came, first arrivals in order, nothing that was never sent."""
    firsts = list(dict.fromkeys(numbers))
    assert firsts == sorted(firsts), writer.twin
    assert set(writer.acknowledged) <= set(firsts), writer.twin
    assert set(firsts) <= set(range(1, writer.sent + 1)), writer.twin


@pytest.mark.parametrize("storage", choose("sqlite", *(["oxigraph"] if KILLS > 2 else [])))
def test_every_acknowledged_write_is_told_in_order_and_no_other(
    storage: str, tmp_path: Path
) -> None:
    require(storage)
    states = StateCheck()
    receiver = Receiver(fail_every=5, look=states.look)
    receiver.start()
    writers = [Writer(f"writer-{number}") for number in range(WRITERS)]
    environment = {
        **SERVED[storage](tmp_path),
        "Events__Endpoints__out__Type": "webhook",
        "Events__Endpoints__out__Url": receiver.url,
        "Jobs__LeaseSeconds": "0.5",
        "Jobs__LookSeconds": "0.1",
    }
    server = Server(tmp_path, workers=2, environment=environment)
    server.start()
    try:
        states.port = server.port
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        route = {"endpointName": "out", "filter": "NOT STARTS_WITH(type, 'Twinframe')"}
        assert wire.call("PUT", "/eventroutes/all", route)[0] == 204
        wire.close()
        for kill in range(KILLS + 1):
            told = receiver.refused
            threads = [start(writer.run, server.port) for writer in writers]
            wait_for_progress(writers)
            wait_until(lambda told=told: receiver.refused > told + 3)  # type: ignore[misc]  # the default binds
            time.sleep(random.uniform(*SECONDS_OF_LOAD))
            receiver.stop()
            time.sleep(0.2)
            if kill < KILLS:
                server.kill()
                receiver.start()
                server.start()
            else:
                receiver.start()
                server.stop()  # the polite way: what is left goes out after the next start
                server.start()
            join(*threads)
        wire = Wire(server.port)
        status = wait_until_delivered(wire, "all")
        wire.close()
    finally:
        server.stop()
        receiver.stop()
    assert (status["deadLetters"], status["lost"]) == (0, 0)
    arrived: dict[str, list[int]] = defaultdict(list)
    for event in receiver.taken:
        number = read_number(event)
        assert isinstance(number, int), event
        arrived[read_twin(event)].append(number)
    for writer in writers:
        assert len(writer.acknowledged) > 10, "no load, no test"
        assert writer.refused > 0
        check_arrivals(writer, arrived[writer.twin])
    assert receiver.refused > 10
    assert states.looked > 0
    assert states.behind == []
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]
