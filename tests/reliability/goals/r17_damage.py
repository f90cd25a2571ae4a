"""R17: files and logs that are damaged, cut, foreign or empty, and the speed of verifying."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import orjson

from tests.reliability.judging import Figure, Goal, Trial, Twin, exactly, told
from tests.reliability.suites import run_tests
from twinframe.storage.base import GraphTransaction, TwinRecord
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

TESTS = (
    "plugins/storage-sqlite/tests/test_sqlite_opening.py",
    "plugins/storage-sqlite/tests/test_sqlite_checksums.py",
    "plugins/storage-sqlite/tests/test_sqlite_remains.py",
    "tests/e2e/test_damaged_storage.py",
)


def judge(trial: Trial) -> Sequence[Figure]:
    """The tests of opening, checksums, logs and starts, and `verify` over a large file."""
    figures = run_tests(trial, TESTS).list_figures(35)
    if not trial.fault:
        size, seconds, findings = _verify_large(trial.folder, trial.pick(150, 10))
        figures += [
            trial.at_least_when_full("MB a second of verify", size / 1e6 / seconds, 200),
            exactly("findings in a sound file", findings),
            told("MB", size / 1e6),
        ]
    return figures


def _verify_large(folder: Path, megabytes: int) -> tuple[int, float, int]:
    """The size of a graph's file, how long it took to verify it, what was found."""
    store = SqliteGraphStore(SqliteSettings(directory=str(folder / "large")), "graph")
    store.open()
    pad = "x" * 2000

    def apply(start: int) -> object:
        def put(transaction: GraphTransaction) -> object:
            records = [
                TwinRecord(
                    f"t{number}", "dtmi:test:Thing;1", "e",
                    orjson.dumps({"$dtId": f"t{number}", "$etag": "e", "pad": pad}),
                )
                for number in range(start, start + 500)
            ]  # fmt: skip
            transaction.put_twins(records)
            return None

        return put

    start = 0
    while store.measure() < megabytes * 1_000_000:
        for outcome in store.write([apply(start)]):
            assert outcome.error is None, outcome.error
        start += 500
    size = store.files.database.stat().st_size
    begun = time.monotonic()
    findings = store.verify()
    seconds = time.monotonic() - begun
    store.close()
    return size, seconds, len(findings)


GOAL = Goal(
    id="R17",
    title="damaged files",
    asked="a damaged, cut, empty or foreign file, or one whose first page is zeroed, ends the "
    "start with a reason in one line and exit code 65, other zeroed pages are found by verify; "
    "with checksums 200 of 200 flipped bits are found; a write-ahead log of killed processes whose "
    "bits were flipped, or that was cut, emptied, removed or exchanged, is refused or has lost "
    "nothing; a torn last transaction is not; verify reads ≥ 200 MB/s",
    judge=judge,
    twins=(
        Twin(
            fault="believe-every-file",
            seeds="neither owner nor checksums are looked at",
            breaks=("tests failed",),
        ),
        Twin(
            fault="believe-every-log",
            seeds="a log is played as far as it goes",
            breaks=("tests failed",),
        ),
    ),
)
