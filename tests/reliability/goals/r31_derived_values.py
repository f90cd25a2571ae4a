"""R31: a service killed over and over while it derives values: they equal those computed anew."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import orjson

from tests.derived_world import AREA, MODELS, ROOM
from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.traffic import LOST, Line, list_workers
from tests.waiting import PATIENCE, join, start

_CLIENTS: Final = 4
_ROOMS: Final = 60
"""Rooms of each client: more than it writes between a kill and the next, so none heals another."""
_DERIVATIONS: Final[dict[str, dict[str, Any]]] = {
    "reading": {"model": ROOM, "property": "reading", "value": "this.own * 2"},
    "mean": {
        "model": AREA,
        "property": "mean",
        "match": "(this)-[:contains]->(r:Room)",
        "value": "sum(r.reading)",
    },
}


class _Client:
    """Writes rising numbers to its rooms, one after the other."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.written = 0

    def run(self, port: int, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                line = Line(port)
            except OSError:
                time.sleep(0.01)
                continue
            try:
                while not (stop.is_set() or line.ended):
                    self._write(line)
            except LOST:
                pass
            finally:
                line.close()

    def _write(self, line: Line) -> None:
        room = f"r{self.number}-{self.written % _ROOMS}"
        value = [{"op": "add", "path": "/own", "value": float(self.written + 1)}]
        status, _, _ = line.call("PATCH", f"/digitaltwins/{room}", value)
        self.written += status == 204


def judge(trial: Trial) -> Sequence[Figure]:
    """Kill a service or a worker under load, then compare all values, again and again."""
    dice, kills, wrong = random.Random(trial.seed), 0, 0
    rounds, longest = trial.pick(30, 3), trial.pick(280, 100)
    server = Server(trial.folder, workers=2, environment={"Logging__Access": "false"})
    clients = [_Client(number) for number in range(_CLIENTS)]
    server.start()
    try:
        _fill(server.port)
        end = time.monotonic() + longest
        while kills < rounds and time.monotonic() < end:
            stop = threading.Event()
            threads = [start(one.run, server.port, stop) for one in clients]
            time.sleep(dice.uniform(0.7, 1.5))
            kills += 1
            workers = list_workers(server)
            stop.set()
            if kills % 2 and workers:
                for worker in workers:  # the one that derives is among them
                    os.kill(worker, signal.SIGKILL)
            else:
                server.kill()
                server.start()
            join(*threads)
            wrong += _count_wrong(server.port)
    finally:
        server.stop()
    return [
        exactly("values that are not true", wrong),
        at_least("kills", kills, trial.pick(30, 3)),
        at_least("writes", sum(one.written for one in clients), trial.pick(5_000, 100)),
    ]


def _fill(port: int) -> None:
    wire = Wire(port)
    assert wire.call("POST", "/models", MODELS)[0] == 201
    names = [f"r{client}-{room}" for client in range(_CLIENTS) for room in range(_ROOMS)]
    twins = [{"$dtId": "a", "$metadata": {"$model": AREA}}]
    twins += [{"$dtId": name, "$metadata": {"$model": ROOM}} for name in names]
    assert wire.call("POST", "/digitaltwins", twins)[2]["failureCount"] == 0
    relationships = [
        {
            "$sourceId": "a",
            "$relationshipId": name,
            "$relationshipName": "contains",
            "$targetId": name,
        }
        for name in names
    ]
    assert wire.call("POST", "/relationships", relationships)[2]["failureCount"] == 0
    for name, document in _DERIVATIONS.items():
        answer = wire.call("PUT", f"/derivations/{name}", {**document, "settleSeconds": 0.3})
        assert answer[0] == 200, answer
    wire.close()


def _count_wrong(port: int) -> int:
    """Wait until all values are said to be true, and return how many are not."""
    end = time.monotonic() + PATIENCE
    while not _is_current(port):
        assert time.monotonic() < end, "the derivations do not become current"
        time.sleep(0.05)
    line = Line(port)
    text = (
        f"MATCH (r:`{ROOM}`) RETURN r.own AS own, r.reading AS reading UNION ALL "
        f"MATCH (a:`{AREA}`) RETURN null AS own, a.mean AS reading"
    )
    rows: list[Any] = []
    token = None
    while True:
        asked = {"query": text} if token is None else {"continuationToken": token}
        status, _, body = line.call("POST", "/query", asked)
        assert status == 200, body
        page = orjson.loads(body)
        rows += page["value"]
        token = page.get("continuationToken")
        if token is None:
            break
    line.close()
    rooms = [row for row in rows if row.get("own") is not None]
    readings = sum(row["reading"] or 0 for row in rooms)
    area = [row for row in rows if row.get("own") is None and row["reading"] is not None]
    wrong = sum(row["reading"] != 2 * row["own"] for row in rooms)
    return wrong + sum(row["reading"] != readings for row in area)


def _is_current(port: int) -> bool:
    try:
        line = Line(port)
        try:
            answers = [line.call("GET", f"/derivations/{name}") for name in _DERIVATIONS]
        finally:
            line.close()
    except LOST:
        return False
    return all(
        status == 200 and orjson.loads(body)["state"] == "current" for status, _, body in answers
    )


GOAL = Goal(
    id="R31",
    title="deriving killed -9",
    asked="≥ 30 kills of a service, or of all its workers, while values are derived: then all are "
    "those computed anew",
    judge=judge,
    twins=(
        Twin(
            fault="derived-progress-early",
            seeds="the position of a derivation is stored before its values",
            breaks=("values that are not true",),
        ),
    ),
)
