"""Clients that send statements of `registers` over HTTP and note what they saw. They judge nothing
but their own answers.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import orjson

from tests.reliability.judging import Figure, exactly, told
from tests.reliability.registers import (
    KEYS,
    MODELS,
    PREPARE,
    READ,
    READ_MARKERS,
    Request,
    Requests,
    WrongAnswer,
)
from tests.reliability.serial_orders import UNANSWERED, Operation, State, check_order
from tests.reliability.traffic import LOST, Line, add_model

CLIENTS: Final = 8
_MARKS: Final = 20
"""How often each marker is merged: by all clients at once."""


@dataclass(slots=True)
class Client:
    """Sends one statement after the other, to any of the ports."""

    requests: Requests
    operations: list[Operation] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: int = 0

    def run(self, ports: Sequence[int], stop: threading.Event) -> None:
        """Send until told to stop; the service may go and come back meanwhile."""
        while not stop.is_set():
            try:
                line = Line(self.requests.dice.choice(ports))
            except OSError:
                time.sleep(0.01)
                continue
            try:
                for _ in range(100):  # then another connection, which may have another worker
                    self.send(line, self.requests.make())
                    if stop.is_set() or line.ended:
                        break
            except LOST:
                pass
            finally:
                line.close()

    def send(self, line: Line, request: Request) -> None:
        """Send a statement, and note what its answer says. Raises `LOST`."""
        body = orjson.dumps({"query": request.text, "parameters": request.parameters})
        begun = time.monotonic()
        try:
            status, _, answer = line.call("POST", "/cypher", body)
        except LOST:
            self._note_unanswered(request, begun)
            raise
        ended = time.monotonic()
        if status == 504:
            self._note_unanswered(request, begun)
        elif status == 503:
            # SPEC: 503 says that nothing was changed; what it has changed nobody has written.
            self.refused += 1
        elif status == 200:
            rows = [list(row.values()) for row in orjson.loads(answer)["value"]]
            try:
                before, after = request.take(rows)
            except WrongAnswer as error:
                self.wrong.append(str(error))
                self._note_unanswered(request, begun)
            else:
                self.operations.append(Operation(request.tag, begun, ended, before, after))
        else:
            self.wrong.append(f"{request.tag}: {status} {answer[:200]!r}")

    def _note_unanswered(self, request: Request, begun: float) -> None:
        if request.writes:
            one = Operation(request.tag, begun, UNANSWERED, writes=request.writes)
            self.operations.append(one)


def prepare(port: int) -> None:
    """Create the registers."""
    for model in MODELS:
        add_model(port, model)
    line = Line(port)
    body = {"query": PREPARE, "parameters": {"keys": KEYS}}
    status, _, answer = line.call("POST", "/cypher", body)
    line.close()
    assert status == 200, answer


@contextmanager
def contending(ports: Sequence[int], seed: int) -> Iterator[Sequence[Client]]:
    """Let all clients send over any of these ports until the end of the block."""
    stop = threading.Event()
    marks = itertools.count()
    clients = [
        Client(Requests(f"c{one}", random.Random(seed + one), lambda: next(marks) // _MARKS))
        for one in range(CLIENTS)
    ]
    threads = [threading.Thread(target=client.run, args=(ports, stop)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield clients
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def count(clients: Sequence[Client]) -> int:
    """How many operations were sent, answered or not."""
    return sum(len(client.operations) for client in clients)


def list_figures(port: int, clients: Sequence[Client]) -> list[Figure]:
    """Read all registers once more, and compare everything."""
    last = Client(clients[0].requests)
    line = Line(port)
    for number, text in enumerate((READ, READ_MARKERS)):
        last.send(line, Request(text, f"end-{number}"))
    line.close()
    start = Operation("start", 0.0, 0.0, {}, {key: State(0, "start ", 100) for key in KEYS})
    every = [start]
    for client in (*clients, last):
        every += client.operations
    found = check_order(every)
    wrong = [one for client in (*clients, last) for one in client.wrong]
    for one in [*found.list_all(), *wrong][:5]:
        print(f"    {one[:200]}", flush=True)
    return [
        exactly("acknowledged writes lost", len(found.lost)),
        exactly("written or merged twice", len(found.doubled)),
        exactly("statements half applied", len(found.halved)),
        exactly("without a serial order", len(found.unordered)),
        exactly("states that nobody wrote", len(found.wrong)),
        exactly("wrong answers", len(wrong)),
        told("done without an answer", found.done_unanswered),
        told("refused with 503", sum(client.refused for client in clients)),
    ]
