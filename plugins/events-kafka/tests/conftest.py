"""A Kafka cluster of the tests' own that one listens to: the mock cluster of librdkafka, in kcat.

It speaks Kafka's protocol on loopback ports. It is no Kafka: nothing is said of replicas here.
"""

from __future__ import annotations

import queue
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

TOPIC = "twinframe-events"


@dataclass(frozen=True)
class Record:
    """One record as a consumer sees it."""

    topic: str
    partition: int
    key: str
    headers: str
    value: str


class Cluster:
    """A mock cluster and a consumer of `TOPIC` in one process."""

    def __init__(self) -> None:
        program = shutil.which("kcat")
        if program is None:
            pytest.skip("needs the mock cluster of librdkafka: apt install kcat")
        self.records: queue.Queue[Record] = queue.Queue()
        options = ["-X", "test.mock.num.brokers=2", "-X", "debug=mock", "-b", "mock:1", "-u"]
        form = r"record\t%t\t%p\t%k\t%h\t%s\n"
        self._process = subprocess.Popen(
            [program, "-C", *options, "-t", TOPIC, "-o", "beginning", "-f", form],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._servers: queue.Queue[str] = queue.Queue()
        # Each has a pipe of its own: what is said in debug must not come in the middle of a record.
        reads = (self._read_records, self._read_words)
        self._threads = [threading.Thread(target=read, daemon=True) for read in reads]
        for thread in self._threads:
            thread.start()
        self.servers = self._servers.get(timeout=120).split(",")

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait(120)
        for thread in self._threads:
            thread.join(120)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _read_records(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            _, topic, partition, key, headers, value = line.rstrip("\n").split("\t")
            self.records.put(Record(topic, int(partition), key, headers, value))

    def _read_words(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if found := re.search(r"bootstrap\.servers=(\S+)", line):
                self._servers.put(found[1])


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A running cluster."""
    made = Cluster()
    yield made
    made.stop()
