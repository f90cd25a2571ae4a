"""Turns of connections whose requests wait behind one another, by a clock that is set by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twinframe.http.server.connections import FOLLOWER_SECONDS, FOLLOWERS, Followers


class Clock:
    """A loop of which only the calls are kept."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, act: Callable[..., object], *arguments: Any) -> None:
        self.call_later(0.0, act, *arguments)

    def call_later(self, seconds: float, act: Callable[..., object], *arguments: Any) -> object:
        self.due.append((self.now + seconds, lambda: act(*arguments)))
        return object()

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        due = [act for at, act in self.due if at <= self.now]
        self.due = [(at, act) for at, act in self.due if at > self.now]
        for act in due:
            act()


class Connection:
    """A connection with so many requests that wait."""

    def __init__(self, loop: Any, waiting: int, begun: list[Connection]) -> None:
        self.loop = loop
        self.waiting = waiting
        self.begun = begun

    def begin_next(self) -> bool:
        if not self.waiting:
            return False
        self.waiting -= 1
        self.begun.append(self)
        return True


def build_all(count: int, waiting: int = 2) -> tuple[Clock, Followers, list[Any], list[Any]]:
    clock, begun = Clock(), list[Connection]()
    return clock, Followers(), [Connection(clock, waiting, begun) for _ in range(count)], begun


def test_a_few_requests_are_begun_and_the_next_ones_when_those_are_answered() -> None:
    clock, followers, connections, begun = build_all(10)
    for connection in connections:
        followers.line_up(connection)
    assert begun == connections[:FOLLOWERS]
    followers.leave(connections[1])
    assert begun == connections[:FOLLOWERS]  # what is ready comes first
    clock.pass_by(0.0)
    assert begun == connections[: FOLLOWERS + 1]


def test_connections_take_turns() -> None:
    clock, followers, connections, begun = build_all(6)
    for connection in connections:
        followers.line_up(connection)
    answered = 0
    while answered < 12:
        connection = begun[answered]
        answered += 1
        followers.leave(connection)
        if connection.waiting:
            followers.line_up(connection)
        clock.pass_by(0.0)
    assert begun == [*connections, *connections]


def test_requests_that_take_long_hold_nobody_up() -> None:
    clock, followers, connections, begun = build_all(10)
    for connection in connections:
        followers.line_up(connection)
    clock.pass_by(FOLLOWER_SECONDS)
    assert begun == connections[: 2 * FOLLOWERS]
    clock.pass_by(FOLLOWER_SECONDS)
    assert begun == connections
    followers.leave(connections[0])  # which counted no more


def test_connections_that_have_gone_take_no_turn() -> None:
    _, followers, connections, begun = build_all(6)
    connections[0].waiting = 0
    for connection in connections:
        followers.line_up(connection)
    assert begun == connections[1 : FOLLOWERS + 1]
