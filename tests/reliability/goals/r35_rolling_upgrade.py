"""R35: nodes of several releases over one PostgreSQL database, which is migrated under load."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import orjson
import psycopg

from tests.e2e.server import Server
from tests.e2e.wire import counter
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.goals.r29_fail_over import News, check_all
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.services import Services, serving
from tests.reliability.traffic import LOST, Line, add_model
from tests.waiting import PATIENCE

BREAKING = "breaking-migration"
_REPORT_SECONDS = 8.0
"""How long a migration waits for the report: longer than a batch of writes may wait for others."""
_QUERY = {"query": "SELECT * FROM DIGITALTWINS T WHERE T.value >= 0 AND T.$dtId = 'w0'"}
_WAITING = (
    "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' "
    "AND relation = 'twinframe_default.twin'::regclass"
)
_VERSION = "SELECT version FROM twinframe_default.graph"


def judge(trial: Trial) -> Sequence[Figure]:
    """Each later release comes node by node, then the last one, which the first cannot use.

    Its migration takes away a column. One node of the first release is left until then.
    """
    writers = [Writer(f"w{n}", doubts=True) for n in range(6)]
    writers += [Writer(f"p{n}", pair=True, doubts=True) for n in range(2)]
    news, queries = News(writers), Queries()
    with serving(trial.folder, 2) as services:
        add_model(services.ports[0])
        first = services.nodes[0]
        with writing(services.ports, writers), queries.running(services.ports):
            news.wait()
            if trial.fault == BREAKING:
                migrated = [_migrate(services, "breaking")]
                time.sleep(1.0)
            else:
                migrated = [_upgrade(services, release, news) for release in ("1", "2")]
        check_all(services.ports[-1], writers)
        old = Refusals() if trial.fault else _leave_behind(services, first)
        tracebacks = services.read_logs().count("Traceback")
        if not trial.fault:
            del services.ports[: services.ports.index(first.port) + 1]
            check_all(services.ports[-1], writers)
    refused = sum(each.refused + each.unanswered + each.errors + each.broken for each in writers)
    return [
        exactly("writes that failed", refused),
        exactly("queries that failed", queries.failed),
        exactly("acknowledged writes lost", sum(each.lost for each in writers)),
        exactly("transactions half applied", sum(each.halved for each in writers)),
        exactly("answers of a node that is too old, but 503", old.served),
        exactly("starts of a node that is too old, but with a message", old.started),
        exactly("tracebacks in the logs", tracebacks),
        at_least("migrations under load", len(set(migrated)), 1 if trial.fault else 2),
        at_least("writes acknowledged", sum(each.count for each in writers), 300),
        at_least("queries", queries.done, 50),
        told("seconds of the slowest write", max(each.slowest for each in writers)),
    ]


class Queries:
    """Asks one query after another."""

    def __init__(self) -> None:
        self.done = self.failed = 0

    @contextmanager
    def running(self, ports: Sequence[int]) -> Iterator[None]:
        """Ask until the end of the block, over any of these ports."""
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(ports, stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _run(self, ports: Sequence[int], stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                line = Line(random.choice(ports))
                while not (stop.is_set() or line.ended):
                    status, _, body = line.call("POST", "/query", _QUERY)
                    is_right = status == 200 and len(orjson.loads(body)["value"]) <= 1
                    self.done += is_right
                    self.failed += not is_right
                line.close()
            except LOST:
                self.failed += 1


class Refusals:
    """What a node that is too old did although it should not."""

    served = 0
    started = 0


def _upgrade(services: Services, release: str, news: News) -> int:
    """Begin a node of the release, then end one of the former ones; return the new version."""
    version = _migrate(services, release)
    for _ in range(20):
        news.wait()
    services.retire(services.nodes[1])
    for _ in range(20):
        news.wait()
    return version


def _migrate(services: Services, release: str) -> int:
    """Begin a node of the release while a report has the twins in use."""
    with psycopg.connect(services.database.url) as report:
        report.execute("SELECT count(*) FROM twinframe_default.twin")
        begun = threading.Event()
        ending = threading.Thread(target=_end, args=(services, report, begun))
        ending.start()
        try:
            services.add(TWINFRAME_SEEDED_RELEASE=release)
        finally:
            begun.set()
            ending.join()
    ((version,),) = services.database.ask(_VERSION)
    return int(version)


def _end(services: Services, report: psycopg.Connection, begun: threading.Event) -> None:
    """End the report some time after the migration began to wait for it, or went past it."""
    while not (begun.is_set() or services.database.ask(_WAITING)):
        begun.wait(0.02)
    begun.wait(_REPORT_SECONDS)
    report.rollback()


def _leave_behind(services: Services, first: Server) -> Refusals:
    """Migrate beyond the first release: its node answers 503, and does not start again."""
    found = Refusals()
    services.add(TWINFRAME_SEEDED_RELEASE="3")
    line = Line(first.port)
    answers = [
        line.call("PUT", "/digitaltwins/w0", counter(0)),
        line.call("POST", "/query", _QUERY),
        line.call("GET", "/health/ready"),
    ]
    line.close()
    found.served = sum(status != 503 for status, _, _ in answers)
    found.served += b"too old for the data" not in answers[1][2]
    first.kill()
    again = subprocess.run(
        [sys.executable, "-m", "twinframe", "serve"],
        env={**os.environ, **first.environment, "Server__Bind": f"127.0.0.1:{first.port}"},
        cwd=first.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    found.started = again.returncode == 0 or "Install the later release" not in again.stderr
    return found


GOAL = Goal(
    id="R35",
    title="rolling upgrades on PostgreSQL",
    asked="nodes of two releases side by side while the tables get a column, then an index, and "
    "a report reads them: no request fails, no write is lost; a node whose release can no longer "
    "use the tables answers 503, and does not start",
    judge=judge,
    twins=(
        Twin(
            fault=BREAKING,
            seeds="a column that the former release does not fill",
            breaks=("writes that failed",),
        ),
        Twin(
            fault="wait-for-tables",
            seeds="a migration waits for its tables, and all others behind it",
            breaks=("writes that failed",),
        ),
    ),
    smoke=True,
)
