"""Four workers on one graph under sixteen clients: no update is lost and nothing answers 5xx."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.storages import SERVED, choose, require
from tests.waiting import Threads, run_program

CLIENTS = 16
ROUNDS = 150
SHARED = 3
STORAGES = pytest.mark.parametrize("storage", choose("sqlite"))


class Client:
    """One client: increments shared counters by ETag, and makes and deletes twins of its own."""

    def __init__(self, port: int, number: int) -> None:
        self._wire = Wire(port)
        self._own = f"own-{number}"
        self._dice = random.Random(number)
        self.statuses: Counter[int] = Counter()
        self.increments: Counter[str] = Counter()
        self.own_value: int | None = None

    def _call(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, dict[str, str], object]:
        answer = self._wire.call(method, path, body, **headers)
        self.statuses[answer[0]] += 1
        return answer

    def run(self) -> None:
        """All rounds of this client."""
        for turn in range(ROUNDS):
            self._increment(f"shared-{self._dice.randrange(SHARED)}")
            self._touch_own(turn)
        self._wire.close()

    def _increment(self, twin: str) -> None:
        status, headers, document = self._call("GET", f"/digitaltwins/{twin}")
        assert status == 200
        assert isinstance(document, dict)
        assert headers["etag"] == document["$etag"]
        patch = [{"op": "replace", "path": "/value", "value": document["value"] + 1}]
        status, _, _ = self._call("PATCH", f"/digitaltwins/{twin}", patch, If_Match=headers["etag"])
        assert status in {204, 412}
        self.increments[twin] += status == 204

    def _touch_own(self, turn: int) -> None:
        path = f"/digitaltwins/{self._own}"
        if self.own_value is None:
            status, _, _ = self._call("PUT", path, counter(turn), If_None_Match="*")
            assert status == 200
            self.own_value = turn
        elif self._dice.random() < 0.3:
            status, _, _ = self._call("DELETE", path)
            assert status == 204
            self.own_value = None
        else:
            status, _, document = self._call("GET", path)
            assert status == 200
            assert isinstance(document, dict)
            assert document["value"] == self.own_value


@STORAGES
def test_no_update_is_lost_with_four_workers_and_sixteen_clients(
    storage: str, tmp_path: Path
) -> None:
    require(storage)
    with Server(tmp_path, workers=4, environment=SERVED[storage](tmp_path)) as server:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        for number in range(SHARED):
            assert wire.call("PUT", f"/digitaltwins/shared-{number}", counter(0))[0] == 200
        clients = [Client(server.port, number) for number in range(CLIENTS)]
        with Threads(CLIENTS) as pool:
            for done in [pool.submit(client.run) for client in clients]:
                done.result()
        succeeded = sum((client.increments for client in clients), Counter())
        for number in range(SHARED):
            twin = f"shared-{number}"
            assert wire.call("GET", f"/digitaltwins/{twin}")[2]["value"] == succeeded[twin]
        statuses = sum((client.statuses for client in clients), Counter())
        assert not [status for status in statuses if status >= 500]
        assert statuses[412] > 0, "the clients never met: the test shows nothing"
        wire.close()
    done = run_program(
        [sys.executable, "-m", "twinframe", "verify"],
        env={**os.environ, **SERVED[storage](tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@STORAGES
def test_of_many_simultaneous_patches_with_one_etag_exactly_one_succeeds(
    storage: str, tmp_path: Path
) -> None:
    require(storage)
    with Server(tmp_path, workers=4, environment=SERVED[storage](tmp_path)) as server:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        _, headers, _ = wire.call("PUT", "/digitaltwins/one", counter(0))
        for turn in range(20):
            etag = headers["etag"]

            def patch(value: int, etag: str = etag) -> int:
                client = Wire(server.port)
                change = [{"op": "replace", "path": "/value", "value": value}]
                status = client.call("PATCH", "/digitaltwins/one", change, If_Match=etag)[0]
                client.close()
                return status

            with Threads(CLIENTS) as pool:
                statuses = Counter(pool.map(patch, range(turn * 100, turn * 100 + CLIENTS)))
            assert statuses == {204: 1, 412: CLIENTS - 1}
            _, headers, _ = wire.call("GET", "/digitaltwins/one")
        wire.close()
