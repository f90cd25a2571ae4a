"""Processes that write pairs of twins to one SQLite graph in batches. They judge nothing.

`python -m tests.reliability.storage_writers FOLDER DURABILITY PROCESSES SECONDS` writes for so long
and prints nothing; `Crowd` forks writers that go on until they are killed.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import orjson

from twinframe.storage.base import GraphStore, GraphTransaction, TwinRecord, WriteFunction
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

Durability = Literal["full", "relaxed"]

MODEL: Final = "dtmi:test:Counter;1"
PAIRS: Final = 8
"""Works of a batch; each writes two twins."""

NUMBER: Final = struct.Struct("<Q")


def build_store(folder: Path, durability: Durability = "full") -> SqliteGraphStore:
    """The graph, not opened; its log is often emptied into its file, which is where bugs hide."""
    settings = SqliteSettings(
        directory=str(folder), durability=durability, checkpoint_pages=100, turn_timeout=60
    )
    return SqliteGraphStore(settings, "graph")


def write_batches(store: SqliteGraphStore, name: str, tell: Callable[[int], None]) -> None:
    """Write rising numbers until `tell`, which hears of each committed batch, ends it."""
    number = 0
    while True:
        number += 1
        works = [_put_pair(f"{name}-{pair}", number) for pair in range(PAIRS)]
        for outcome in store.write(works):
            if outcome.error is not None:
                raise outcome.error
        tell(number)


def read_values(store: GraphStore) -> dict[str, int]:
    """The number in each twin."""
    session = store.session()
    try:
        return {twin.twin_id: orjson.loads(twin.body)["value"] for twin in session.iterate_twins()}
    finally:
        session.close()


def _put_pair(name: str, number: int) -> WriteFunction[object]:
    def apply(transaction: GraphTransaction) -> object:
        for end in ("left", "right"):
            body = orjson.dumps({"$dtId": f"{name}-{end}", "value": number, "pad": "x" * 200})
            transaction.put_twin(TwinRecord(f"{name}-{end}", MODEL, str(number), body))
        return None

    return apply


class Child:
    """A forked writer; what it acknowledged is read from a pipe when it has ended."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._end, end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _run_child(folder, name, end)
            finally:
                os._exit(1)
        os.close(end)

    def read_acknowledged(self) -> int:
        """The last number of which it was told that it is stored; the process has ended."""
        os.waitpid(self.pid, 0)
        told = b""
        while piece := os.read(self._end, 65536):
            told += piece
        os.close(self._end)
        whole = len(told) // NUMBER.size * NUMBER.size
        return NUMBER.unpack(told[whole - NUMBER.size : whole])[0] if whole else 0


def _run_child(folder: Path, name: str, end: int) -> None:
    store = build_store(folder)
    store.open()
    write_batches(store, name, lambda number: os.write(end, NUMBER.pack(number)) and None)


def main() -> None:
    """Write in so many processes for so long, with each acknowledged value in the record."""
    folder, durability, processes, seconds = sys.argv[1:5]
    end = time.monotonic() + float(seconds)
    log = os.open(os.environ["RECORDER_LOG"], os.O_WRONLY | os.O_APPEND)
    children = []
    for number in range(int(processes)):
        child = os.fork()
        if child == 0:
            _record(Path(folder), durability, f"w{number}", log, end)
            os._exit(0)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(max(codes))


class _Over(Exception):
    pass


def _record(folder: Path, durability: str, name: str, log: int, end: float) -> None:
    store = build_store(folder, "relaxed" if durability == "relaxed" else "full")
    store.open()

    def tell(number: int) -> None:
        twins = [f"{name}-{pair}-{side}" for pair in range(PAIRS) for side in ("left", "right")]
        for twin in twins:
            os.write(log, struct.pack("<BBHIq", 7, len(twin), 0, 0, number) + twin.encode())
        if time.monotonic() > end:
            raise _Over

    try:
        write_batches(store, name, tell)
    except _Over:
        os._exit(0)


if __name__ == "__main__":
    main()
