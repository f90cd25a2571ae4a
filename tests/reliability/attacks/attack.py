"""What an attack is, and what it is given: a port, a time and a record of the answers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.reliability.traffic import LOST, Line, read_field

STORAGES: Final = ("sqlite", "rdf")

HANDLED: Final = frozenset({200, 201, 202, 204, 400, 404, 408, 409, 412, 413, 414, 429, 431, 503})
"""Statuses that a service under attack may give."""


@dataclass(slots=True)
class Target:
    """The service that is attacked, until `end` (a `time.monotonic()` moment).

    `answers` counts statuses; 0 is a connection that was closed without an answer. `wrong` are
    answers that a service must not give even then, in words.
    """

    port: int
    end: float
    storage: str = "sqlite"
    answers: Counter[int] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)

    def lasts(self) -> bool:
        """Whether the attack is to go on."""
        return time.monotonic() < self.end

    def call(self, method: str, path: str, body: Any = None, fields: str = "") -> None:
        """Send one request on a connection of its own and record its answer."""
        try:
            line = Line(self.port, timeout=20)
            try:
                status, head, text = line.call(method, path, body, fields)
            finally:
                line.close()
        except LOST:
            self.answers[0] += 1
            return
        self.record(status, head, text)

    def record(self, status: int, head: bytes, text: bytes) -> None:
        """Keep what was answered."""
        self.answers[status] += 1
        if status not in HANDLED:
            self.wrong[f"{status} {text[:120]!r}"] += 1
        if status == 503 and not read_field(head, "retry-after"):
            self.wrong["503 without Retry-After"] += 1

    def query(self, text: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Ask a query in Cypher."""
        self.call("POST", "/query", {"query": text, "parameters": dict(parameters or {})})

    def repeat(self, act: Callable[[], None], clients: int = 4) -> None:
        """Have so many clients do `act` again and again until the end."""

        def go_on() -> None:
            while self.lasts():
                act()

        threads = [threading.Thread(target=go_on, daemon=True) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, self.end + 25 - time.monotonic()))


@dataclass(frozen=True, slots=True)
class Attack:
    """Something that a client does to take more than its share.

    `seconds` is how long it takes to have its effect; 0 leaves that to the judge.
    """

    name: str
    run: Callable[[Target], None]
    storages: tuple[str, ...] = STORAGES
    seconds: float = 0.0


def ask(name: str, text: str, *, clients: int = 4, storages: tuple[str, ...] = STORAGES) -> Attack:
    """The attack of clients that ask one query again and again."""
    return Attack(name, lambda target: target.repeat(lambda: target.query(text), clients), storages)
