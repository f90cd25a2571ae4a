"""Writers that know what was acknowledged to them, and look for it after each lost connection."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import orjson

from tests.e2e.wire import counter
from tests.reliability.traffic import LOST, Line
from tests.waiting import PATIENCE

_STATEMENT: Final = "UNWIND $twins AS id MERGE (n:Counter {`$dtId`: id}) SET n.value = $value"
_MERGED: Final = 20


@dataclass(slots=True)
class Writer:
    """Writes rising values to one twin, or with `pair` to two of them in one transaction, or with
    `merges` to twenty in one statement of Cypher.

    A connection that an answer says to be the last of is left without being counted as broken.
    After each broken one it reads what is there: the last value acknowledged, or the one that
    was under way; anything else is `lost`. Two twins of a transaction that differ are `halved`.
    With `doubts`, 504 is an answer, `unanswered`: after it, and after a broken connection, it reads
    until it knows. `tell` hears of each acknowledged value of a twin. `slowest` is of the answers
    that came, and `refused` those that said 503.
    """

    name: str
    pair: bool = False
    merges: bool = False
    sent: int = 0
    acknowledged: int = 0
    count: int = 0
    lost: int = 0
    halved: int = 0
    errors: int = 0
    broken: int = 0
    slowest: float = 0.0
    refused: int = 0
    unanswered: int = 0
    doubts: bool = False
    tell: Callable[[str, int], None] | None = None

    @property
    def twins(self) -> tuple[str, ...]:
        """The twins it writes."""
        if self.merges:
            return tuple(f"{self.name}-{at}" for at in range(_MERGED))
        return (f"{self.name}-a", f"{self.name}-b") if self.pair else (self.name,)

    def run(self, ports: Sequence[int], stop: threading.Event) -> None:
        """Write until told to stop; the service may go and come back meanwhile."""
        while not stop.is_set():
            try:
                line = Line(random.choice(ports))
            except OSError:
                time.sleep(0.01)
                continue
            try:
                self.check(line)
                while not (stop.is_set() or line.ended):
                    start = time.monotonic()
                    self._write(line)
                    self.slowest = max(self.slowest, time.monotonic() - start)
            except LOST:
                self.broken += 1
            finally:
                line.close()

    def check(self, line: Line) -> None:
        """Compare what is there with what was acknowledged."""
        values = [_read_value(line, twin) for twin in self.twins]
        end = time.monotonic() + PATIENCE
        while self.doubts and None in values and time.monotonic() < end:
            time.sleep(0.02)
            values = [_read_value(line, twin) for twin in self.twins]
        if None in values:  # refused at the moment, as 503 while the service stops
            return
        self.halved += len(set(values)) > 1
        self.lost += any(value not in (self.acknowledged, self.sent) for value in values)
        self.acknowledged = self.sent = values[0] or 0

    def _write(self, line: Line) -> None:
        value = self.sent = self.sent + 1
        if self.pair:
            puts = [
                {"op": "putTwin", "twinId": twin, "document": counter(value)} for twin in self.twins
            ]
            status, _, _ = line.call("POST", "/$transaction", {"operations": puts})
        elif self.merges:
            given = {"twins": self.twins, "value": value}
            body: Any = orjson.dumps({"query": _STATEMENT, "parameters": given})
            status, _, _ = line.call("POST", "/cypher", body)
        else:
            body = orjson.dumps(counter(value))
            status, _, _ = line.call("PUT", f"/digitaltwins/{self.name}", body)
        if status == 200:
            self.acknowledged = value
            self.count += 1
            if self.tell is not None:
                for twin in self.twins:
                    self.tell(twin, value)
        elif status == 503:
            # SPEC: 503 to a write says that nothing was changed.
            self.refused += 1
            self.sent = self.acknowledged
        elif status == 504 and self.doubts:
            self.unanswered += 1
            self.check(line)
        else:
            self.errors += 1


def _read_value(line: Line, twin: str) -> int | None:
    status, _, body = line.call("GET", f"/digitaltwins/{twin}")
    if status == 404:
        return 0
    return int(orjson.loads(body)["value"]) if status == 200 else None


@contextmanager
def writing(port: int | Sequence[int], writers: Sequence[Writer]) -> Iterator[None]:
    """All of them at work, each in a thread, until the end of the block.

    With several ports, each connection is to any of them; the list may change meanwhile.
    """
    ports = [port] if isinstance(port, int) else port
    stop = threading.Event()
    threads = [threading.Thread(target=each.run, args=(ports, stop)) for each in writers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
