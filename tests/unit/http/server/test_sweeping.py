"""When the sweeper looks at its connections, by a clock that is set by hand."""

from __future__ import annotations

from typing import Any

from tests.unit.http.server.test_pacing import Clock
from twinframe.http.server.protocol import READING_SECONDS, Sweeper


class Connection:
    """A connection that notes when it was looked at."""

    def __init__(self) -> None:
        self.looked: list[float] = []

    def check_time(self, now: float) -> None:
        self.looked.append(now)


def watch_one(seconds: float = 1.0) -> tuple[Any, Any]:
    sweeper, clock, connection = Sweeper(seconds), Clock(), Connection()
    watched: Any = connection
    loop: Any = clock
    sweeper.watch(watched, loop)
    return loop, watched


def test_connections_are_looked_at_again_and_again() -> None:
    clock, connection = watch_one()
    for _ in range(3):
        clock.pass_by(1.5)
    assert connection.looked == [1.5, 3.0, 4.5]


def test_after_a_stop_of_the_process_what_was_sent_meanwhile_is_read_before_anybody_is_late() -> (
    None
):
    clock, connection = watch_one()
    clock.pass_by(60.0)
    assert connection.looked == []
    clock.pass_by(READING_SECONDS)
    assert connection.looked == [60.0 + READING_SECONDS]


def test_a_process_that_is_always_held_up_looks_every_other_time() -> None:
    clock, connection = watch_one()
    for _ in range(6):
        clock.pass_by(5.0)
    assert connection.looked == [10.0, 20.0, 30.0]
