"""What other clients notice of an attack: point reads at a steady pace, each with its latency.

`python -m tests.reliability.attacks.probe PORT` reads until its standard input ends, then prints
`[due, seconds, status]` of each read; `due` is a `time.monotonic()` moment.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

from tests.reliability.traffic import LOST, Line

CLIENTS: Final = 4
PACE: Final = 0.04
"""Seconds between two reads of a client: 100 reads a second in all."""

LATE: Final = 0.05
"""Seconds that the 99th percentile of others may be."""


def main() -> None:
    """Read until told to stop."""
    port, stop = int(sys.argv[1]), threading.Event()
    found: list[tuple[float, float, int]] = []
    threads = [
        threading.Thread(target=_read, args=(port, number, found, stop))
        for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps(found))


def _read(port: int, number: int, found: list[tuple[float, float, int]], stop: object) -> None:
    assert isinstance(stop, threading.Event)
    line: Line | None = None
    due = time.monotonic() + number * PACE / CLIENTS
    while not stop.is_set():
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            line = line or Line(port, timeout=10)
            status, _, _ = line.call("GET", f"/digitaltwins/t{number}")
            if line.ended:
                line.close()
                line = None
        except LOST:
            status, line = 0, None
        # NOTE: from the moment at which it was due: a service that stands still for a second has
        # kept all reads waiting that would have come in that second.
        found.append((due, time.monotonic() - due, status))
        due += PACE


def find_longest_late(reads: Sequence[Sequence[float]], start: float, end: float) -> int:
    """The most seconds in a row, of those between two moments, whose 99th percentile was late."""
    longest = row = 0
    for second in range(int(end - start) + 1):
        begin = start + second
        times = sorted(took for due, took, _ in reads if begin <= due < min(begin + 1, end))
        late = bool(times) and times[min(len(times) - 1, int(len(times) * 0.99))] > LATE
        row = row + 1 if late else 0
        longest = max(longest, row)
    return longest


if __name__ == "__main__":
    main()
