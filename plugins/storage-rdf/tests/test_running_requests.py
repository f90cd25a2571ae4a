"""When the store process has to end for a read: nobody waits for it, and nobody loses an answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from twinframe_storage_rdf.storeprocess.frames import Kind
from twinframe_storage_rdf.storeprocess.server import GRACE, RunningRequests

READS = (Kind.SELECT, Kind.ASK, Kind.ANSWER)


class Clients:
    """Connections of askers, by the ends that the store process has. Time begins at 0."""

    def __init__(self) -> None:
        self.running = RunningRequests()
        self._askers: dict[socket.socket, socket.socket] = {}

    def ask(
        self, kind: Kind, milliseconds: int = 0, at: float = 0.0, *, apart: bool = False
    ) -> socket.socket:
        """The server's end of a connection with a request that runs."""
        server, asker = socket.socketpair()
        self._askers[server] = asker
        self.running.begin(server, kind, milliseconds, at, apart=apart)
        return server

    def leave(self, server: socket.socket, at: float = 1.0) -> None:
        """The asker goes, as one that died does, and it is seen."""
        self._askers[server].close()
        assert not self.running.is_forsaken(at)

    def close(self) -> None:
        """Close all ends."""
        for pair in self._askers.items():
            for end in pair:
                end.close()


@pytest.fixture
def clients() -> Iterator[Clients]:
    clients = Clients()
    yield clients
    clients.close()


@pytest.mark.parametrize("kind", READS)
def test_a_read_whose_asker_is_gone_may_end_by_itself_and_then_ends_the_process(
    clients: Clients, kind: Kind
) -> None:
    clients.leave(clients.ask(kind, 300_000), at=10)
    assert not clients.running.is_forsaken(10 + GRACE)
    assert clients.running.is_forsaken(10.1 + GRACE)


@pytest.mark.parametrize("kind", READS)
def test_a_read_that_is_waited_for_ends_nothing_before_its_deadline(
    clients: Clients, kind: Kind
) -> None:
    clients.ask(kind, 300_000)
    assert not clients.running.is_forsaken(400)
    assert not clients.running.is_late(300 + GRACE)
    assert clients.running.is_late(300.1 + GRACE)


@pytest.mark.parametrize("kind", [Kind.ANSWER, Kind.QUERY])
def test_what_a_child_runs_ends_nothing_however_late_and_is_waited_for(
    clients: Clients, kind: Kind
) -> None:
    """As after a standstill of the machine, before the watch of the child has run."""
    clients.leave(clients.ask(kind, 300, apart=True))
    assert not clients.running.is_late(1000)
    assert not clients.running.is_forsaken(1000)
    clients.leave(clients.ask(Kind.SELECT, 300_000), at=1000)
    asked = clients.ask(Kind.ANSWER, 60_000, at=1001, apart=True)
    assert not clients.running.is_forsaken(1001.5 + GRACE)
    clients.running.end(asked)
    assert clients.running.is_forsaken(1001.5 + GRACE)


def test_a_read_that_ended_ends_nothing(clients: Clients) -> None:
    read = clients.ask(Kind.SELECT)
    clients.leave(read)
    clients.running.end(read)
    assert not clients.running.is_forsaken(100)


@pytest.mark.parametrize("kind", [Kind.APPLY, Kind.BACKUP])
def test_a_write_whose_asker_is_gone_is_finished(clients: Clients, kind: Kind) -> None:
    clients.leave(clients.ask(kind))
    assert not clients.running.is_forsaken(100)


@pytest.mark.parametrize("kind", [Kind.ANSWER, Kind.BACKUP])
def test_what_others_asked_once_is_finished_first(clients: Clients, kind: Kind) -> None:
    clients.leave(clients.ask(Kind.SELECT, 300_000))
    other = clients.ask(kind, 60_000, at=50)
    assert not clients.running.is_forsaken(50.5)
    clients.running.end(other)
    assert clients.running.is_forsaken(50.5)


@pytest.mark.parametrize("kind", [Kind.SELECT, Kind.ASK, Kind.APPLY])
def test_what_others_ask_again_is_waited_for_only_when_it_took_long_already(
    clients: Clients, kind: Kind
) -> None:
    clients.leave(clients.ask(Kind.SELECT, 300_000))
    clients.ask(kind, at=50)
    assert clients.running.is_forsaken(50.5)
    assert not clients.running.is_forsaken(50.5 + GRACE)


def test_of_two_that_are_forsaken_none_waits_for_the_other(clients: Clients) -> None:
    for at in (1.0, 1.1):
        clients.leave(clients.ask(Kind.ANSWER, 300_000), at)
    assert clients.running.is_forsaken(1.2 + GRACE)
