"""R29: the primary of a PostgreSQL database is killed under load, and its standby promoted."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Sequence

from tests.e2e.server import Server
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.nodes import Node, make_nodes
from tests.reliability.proxy import Proxy
from tests.reliability.traffic import Line, add_model, list_workers, wait_for_workers
from tests.waiting import PATIENCE

ASYNCHRONOUS = "asynchronous-standby"
_FOLLOWS = "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'"
_IS_SYNCHRONOUS = "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
_EVENTS = "SELECT subject, count(*) FROM twinframe_default.event GROUP BY subject"
_HAS_ALL = "SELECT bool_and(flush_lsn >= '{0}') FROM pg_stat_replication"


def judge(trial: Trial) -> Sequence[Figure]:
    """Kill the primary, promote, and let the other server follow; writers look for their writes."""
    dice = random.Random(trial.seed)
    rounds, longest = trial.pick(24, 3), trial.pick(240, 100)
    writers = [Writer(f"w{n}", doubts=True) for n in range(8)]
    writers += [Writer(f"p{n}", pair=True, doubts=True) for n in range(4)]
    news = News(writers)
    done = 0
    with make_nodes(2) as (primary, standby):
        primary.make()
        primary.start()
        server = Server(trial.folder, workers=2, environment=build_environment(primary, standby))
        server.start()
        try:
            add_model(server.port)
            workers = wait_for_workers(server)
            end = time.monotonic() + longest
            with writing(server.port, writers):
                while done < rounds and time.monotonic() < end:
                    with Proxy(primary.port) as network:
                        follow(primary, standby, network, synchronous=trial.fault != ASYNCHRONOUS)
                        news.wait()
                        time.sleep(dice.uniform(0.1, 0.5))
                        if done % 2 == 0:  # what the standby misses is lost for good
                            network.cut()
                            time.sleep(0.2)
                        start = time.monotonic()
                        primary.kill()
                        standby.promote()
                    news.measure(start)
                    primary, standby = standby, primary
                    done += 1
            check_all(server.port, writers)
            lost, twice = compare_events(primary, writers)
            held, gone = 0, 0
            for number in range(trial.pick(4, 1)):
                missing = lose_some(server.port, number, primary, standby)
                held, gone = held + missing[0], gone + missing[1]
                primary, standby = standby, primary
            restarted = int(list_workers(server) != workers)
        finally:
            server.stop()
    return [
        exactly("acknowledged writes lost", lost + sum(each.lost for each in writers)),
        exactly("transactions half applied", sum(each.halved for each in writers)),
        exactly("writes made twice", twice),
        exactly("answers but 200, 503 and 504", sum(each.errors for each in writers)),
        exactly("workers that had to start anew", restarted),
        exactly("writes lost that an asynchronous standby had", held),
        told("acknowledged after it was cut off, and lost", gone),
        at_least("primaries killed", done, trial.pick(20, 2)),
        at_least("writes acknowledged", sum(each.count for each in writers), trial.pick(2000, 50)),
        told("answers 504", sum(each.unanswered for each in writers)),
        told("median seconds from a kill to a write", statistics.median(news.seconds)),
        told("longest", max(news.seconds)),
    ]


class News:
    """Waits for what the writers are told, and measures how long that takes."""

    def __init__(self, writers: Sequence[Writer]) -> None:
        self.seconds: list[float] = []
        self._written = threading.Event()
        for each in writers:
            each.tell = self._hear

    def wait(self) -> None:
        """Wait for the next write that is acknowledged."""
        self._written.clear()
        assert self._written.wait(PATIENCE), "no write was acknowledged any more"

    def measure(self, start: float) -> None:
        """Wait for the next write, and note the seconds since `start`."""
        self.wait()
        self.seconds.append(time.monotonic() - start)

    def _hear(self, twin: str, value: int) -> None:
        del twin, value
        self._written.set()


def build_environment(*nodes: Node) -> dict[str, str]:
    """The settings of a service over whichever of the servers takes writes."""
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in nodes)
    return {
        "Storage__Provider": "postgres",
        "Storage__Postgres__Url": f"postgresql://twinframe@{hosts}/postgres"
        "?target_session_attrs=read-write",
        "Logging__Access": "false",
    }


def follow(primary: Node, standby: Node, network: Proxy, *, synchronous: bool) -> None:
    """Make the standby anew, and wait until it has all that was acknowledged so far."""
    standby.copy(network.port)
    standby.start()
    primary.wait_for(_FOLLOWS)
    if synchronous:
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.ask("SELECT pg_reload_conf()")
        primary.wait_for(_IS_SYNCHRONOUS)
    wait_for_all(primary)


def wait_for_all(primary: Node) -> None:
    """Wait until the standby has all that was written until now."""
    ((position,),) = primary.ask("SELECT pg_current_wal_lsn()")
    primary.wait_for(_HAS_ALL.format(position))


def lose_some(port: int, number: int, primary: Node, standby: Node) -> tuple[int, int]:
    """Promote an asynchronous standby that was cut off: what of its writes is gone, and of later.

    Its own are those that were acknowledged before it had all of the log.
    """
    writers = [Writer(f"a{number}-{each}", doubts=True) for each in range(8)]
    news = News(writers)
    with Proxy(primary.port) as network:
        primary.ask("ALTER SYSTEM RESET synchronous_standby_names")
        primary.ask("SELECT pg_reload_conf()")
        follow(primary, standby, network, synchronous=False)
        with writing(port, writers):
            for _ in range(20):
                news.wait()
            before = [each.acknowledged for each in writers]
            wait_for_all(primary)
            network.cut()
            for _ in range(20):
                news.wait()
        primary.kill()
        standby.promote()
    events: dict[str, int] = dict(standby.ask(_EVENTS))
    there = [events.get(each.name, 0) for each in writers]
    held = sum(max(0, had - has) for had, has in zip(before, there, strict=True))
    gone = sum(each.acknowledged - has for each, has in zip(writers, there, strict=True))
    return held, gone - held


def check_all(port: int, writers: Sequence[Writer]) -> None:
    """Let each writer look for what was acknowledged to it."""
    line = Line(port)
    for writer in writers:
        writer.check(line)
    line.close()


def compare_events(node: Node, writers: Sequence[Writer]) -> tuple[int, int]:
    """Count the values that were acknowledged and left no event, and those that left two.

    A later value hides in a twin that an earlier one was lost, but each value leaves its event, and
    a twin has the values from 1 to its last.
    """
    events: dict[str, int] = dict(node.ask(_EVENTS))
    missing = [
        writer.acknowledged - events.get(twin, 0) for writer in writers for twin in writer.twins
    ]
    return sum(each for each in missing if each > 0), -sum(each for each in missing if each < 0)


GOAL = Goal(
    id="R29",
    title="fail-over of PostgreSQL",
    asked="≥ 20 primaries killed -9 under load with a synchronous standby, which is promoted: no "
    "acknowledged write lost, none half applied; the service goes on without a restart; with an "
    "asynchronous one, only writes lost that it had not received",
    judge=judge,
    twins=(
        Twin(
            fault=ASYNCHRONOUS,
            seeds="the standby is asynchronous, and behind",
            breaks=("acknowledged writes lost",),
        ),
    ),
)
