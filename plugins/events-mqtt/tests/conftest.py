"""Brokers of the tests' own, on free loopback ports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.mosquitto import Mosquitto


@pytest.fixture
def make_broker(tmp_path: Path) -> Iterator[Callable[..., Mosquitto]]:
    """Makes brokers, not started; they are ended with the test."""
    made: list[Mosquitto] = []

    def make(*rules: str) -> Mosquitto:
        made.append(Mosquitto(tmp_path, *rules))
        return made[-1]

    yield make
    for broker in made:
        broker.kill()


@pytest.fixture
def broker(make_broker: Callable[..., Mosquitto]) -> Mosquitto:
    """A running broker that lets everybody in."""
    broker = make_broker()
    broker.start()
    return broker
