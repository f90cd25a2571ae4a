"""Which connection goes when there are too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from twinframe.http.server.connections import ConnectionTable, read_address


@dataclass(eq=False)
class Waiting:
    """A connection that has waited for so long; negative: it has a request."""

    address: str
    waited: float
    went: bool = False

    def read_patience(self, now: float) -> float:
        return self.waited + now if self.waited >= 0 else -1.0

    def give_way(self) -> None:
        self.went = True


def test_the_one_of_the_same_address_that_waited_longest_goes() -> None:
    connection_table: ConnectionTable[Waiting] = ConnectionTable(2)
    guests = [Waiting("a", 3.0), Waiting("a", 5.0), Waiting("b", 9.0)]
    assert all(connection_table.join(guest, 0.0, full=False) for guest in guests)
    assert connection_table.join(Waiting("a", 0.0), 0.0, full=False)
    assert [guest.went for guest in guests] == [False, True, False]


def test_of_a_full_worker_one_of_the_address_with_the_most_goes() -> None:
    connection_table: ConnectionTable[Waiting] = ConnectionTable(10)
    many = [Waiting("a", 1.0 + number) for number in range(3)]
    one = Waiting("b", 100.0)
    for guest in (*many, one):
        connection_table.join(guest, 0.0, full=False)
    assert connection_table.join(Waiting("c", 0.0), 0.0, full=True)
    assert [guest.went for guest in (*many, one)] == [False, False, True, False]


def test_nobody_goes_who_has_a_request_or_has_just_come() -> None:
    connection_table: ConnectionTable[Waiting] = ConnectionTable(2)
    guests = [Waiting("a", -1.0), Waiting("a", 0.1)]
    for guest in guests:
        connection_table.join(guest, 0.0, full=False)
    assert not connection_table.join(Waiting("a", 0.0), 0.0, full=False)
    assert not any(guest.went for guest in guests)
    for guest in guests:
        connection_table.leave(guest)
    assert connection_table.join(Waiting("a", 0.0), 0.0, full=False)


@dataclass
class Peer:
    peername: object

    def get_extra_info(self, _name: str) -> object:
        return self.peername


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        (("192.0.2.7", 5), "192.0.2.7"),
        (("::ffff:192.0.2.7", 5, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 5, 0, 0), "20010db800010002"),
        (("2001:db8:1:2::9", 5, 0, 0), "20010db800010002"),
        (("fe80::1%eth0", 5, 0, 2), "fe80000000000000"),
        ("", ""),
        (None, ""),
    ],
)
def test_an_address_of_ipv6_counts_by_its_network(peer: object, address: str) -> None:
    assert read_address(cast("Any", Peer(peer))) == address
