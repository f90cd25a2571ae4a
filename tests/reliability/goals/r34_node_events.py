"""R34: events of a route over nodes on PostgreSQL, of which the one that delivers is killed."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson
import psycopg

from tests.e2e.receiver import Event, Receiver
from tests.e2e.server import Server
from tests.reliability.goals.r06_registers import KEYS, History, put_counters, using
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.services import Services, serving
from tests.reliability.traffic import Line, add_model, list_workers
from tests.waiting import PATIENCE

_LOCK = "SELECT 1 FROM twinframe_default.graph FOR UPDATE"
_STORED = (
    "SELECT e.subject, count(*) FROM twinframe_default.event e, twinframe_default.entry p "
    "WHERE p.kind = 'event-progress' AND p.key = 'all' AND e.kind IN (1, 2) "
    "AND e.position <= (convert_from(p.body, 'utf8')::json ->> 'position')::bigint GROUP BY 1"
)
_ALL = "SELECT subject, count(*) FROM twinframe_default.event WHERE kind IN (1, 2) GROUP BY 1"
_LEASE = (
    "SELECT convert_from(body, 'utf8')::json ->> 'process' FROM twinframe_default.entry "
    "WHERE kind = 'lease' AND key = 'event-route/all'"
)


_ON_THEIR_WAY = 0.5
"""Seconds in which what a killed node has sent is taken."""


@dataclass(slots=True)
class Arrivals:
    """What the receiver took: of each twin its values in the order of their first arrival.

    `kills` are the moments of kills, each with how many events of each twin were stored as
    delivered then. An event may be sent again after each kill that came after its first arrival and
    found it not stored, and never otherwise.
    """

    firsts: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    again: Counter[tuple[str, int]] = field(default_factory=Counter)
    kills: list[tuple[float, Mapping[str, int]]] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """Note the arrival of an event."""
        data, twin = event["data"], event["subject"]
        changes = data.get("patch", [{"path": "/value", "value": data.get("value")}])
        (value,) = [each["value"] for each in changes if each["path"] == "/value"]
        if value in self.firsts[twin]:
            self.again[twin, value] += 1
        else:
            self.firsts[twin][value] = time.monotonic()

    def count_unordered(self) -> int:
        """Count the events whose first arrival was after that of a later one of the same twin."""
        return sum(
            after < before
            for values in map(list, self.firsts.values())
            for before, after in itertools.pairwise(values)
        )

    def count_needless(self) -> int:
        """Count what was sent again although it was stored as delivered."""
        places = {
            (twin, value): place
            for twin, values in self.firsts.items()
            for place, value in enumerate(values, start=1)
        }
        return sum(
            max(
                0,
                times
                - sum(
                    self.firsts[twin][value] <= at and places[twin, value] > stored.get(twin, 0)
                    for at, stored in self.kills
                ),
            )
            for (twin, value), times in self.again.items()
        )

    def find_oldest(self) -> float:
        """The most seconds from a first arrival to the kill for which it was sent again."""
        ages = [
            min([at - first for at, _ in self.kills if at >= first], default=0.0)
            for twin, value in self.again
            for first in [self.firsts[twin][value]]
        ]
        return max(ages, default=0.0)


def judge(trial: Trial) -> Sequence[Figure]:
    """Two of three kills hit the node that delivers; then each event of the table has arrived."""
    dice, history, arrivals = random.Random(trial.seed), History(), Arrivals()
    kills, writes = trial.pick(24, 3), trial.pick(10_000, 200)
    receiver = Receiver(look=arrivals.take)
    receiver.start()
    settings = {
        "Events__Endpoints__out__Type": "webhook",
        "Events__Endpoints__out__Url": receiver.url,
    }
    with serving(trial.folder, 3, **settings) as services:
        end = time.monotonic() + trial.pick(600, 120)
        add_model(services.ports[0])
        line = Line(services.ports[0])
        route = {
            "endpointName": "out",
            "filter": "STARTS_WITH(type, 'Microsoft.DigitalTwins.Twin')",
        }
        assert line.call("PUT", "/eventroutes/all", route)[0] == 204
        line.close()
        put_counters(services.ports[0], KEYS)
        with using(services.ports, history, dice):
            while (services.kills < kills or sum(history.floors) < writes) and (
                time.monotonic() < end
            ):
                time.sleep(dice.uniform(0.5, 1.5))
                node = _find_deliverer(services) if services.kills % 3 else None
                node = node or dice.choice(services.nodes)
                node.kill()
                services.kills += 1
                stored = _read_stored(services)
                time.sleep(_ON_THEIR_WAY)
                arrivals.kills.append((time.monotonic(), stored))
                node.start()
        _wait_for_all(services.ports[0])
        there = dict(services.database.ask(_ALL))
        tracebacks = services.read_logs().count("Traceback")
    receiver.stop()
    missing = sum(max(0, count - len(arrivals.firsts[twin])) for twin, count in there.items())
    unknown = sum(max(0, len(each) - there.get(twin, 0)) for twin, each in arrivals.firsts.items())
    return [
        exactly("events not delivered", missing),
        exactly("events that nobody wrote", unknown),
        exactly("events of a twin out of order", arrivals.count_unordered()),
        exactly("events sent again that were stored as delivered", arrivals.count_needless()),
        exactly("tracebacks in the logs", tracebacks),
        at_least("events", sum(there.values()), trial.pick(10_000, 100)),
        at_least("kills", services.kills, kills),
        told("events sent again", arrivals.again.total()),
        told("seconds from the first arrival of one to the kill", arrivals.find_oldest()),
    ]


def _find_deliverer(services: Services) -> Server | None:
    """The node that has the lease of the route."""
    for (process,) in services.database.ask(_LEASE):
        pid = process.split("/")[-2:][0]
        for node in services.nodes:
            if pid.isdecimal() and int(pid) in list_workers(node):
                return node
    return None


def _read_stored(services: Services) -> Mapping[str, int]:
    """How many events of each twin are stored as delivered, once the killed node has let go."""
    with psycopg.connect(services.database.url) as connection:
        connection.execute(_LOCK)
        return dict(connection.execute(_STORED).fetchall())


def _wait_for_all(port: int) -> None:
    end = time.monotonic() + PATIENCE
    line = Line(port)
    while orjson.loads(line.call("GET", "/eventroutes/all/status")[2])["behind"]:
        assert time.monotonic() < end, "the route does not get to its end"
        time.sleep(0.1)
    line.close()


GOAL = Goal(
    id="R34",
    title="events of a route over nodes on PostgreSQL",
    asked="≥ 24 kills -9 of nodes, most of them of the one that delivers: each event of a "
    "write arrives, in order for each twin; one is sent again only after a kill, and only if its "
    "delivery was not stored, which happens twice a second",
    judge=judge,
    twins=(
        Twin(
            fault="route-progress-early",
            seeds="events count as delivered when they are read",
            breaks=("events not delivered",),
        ),
        Twin(
            fault="route-begins-early",
            seeds="a worker that takes over begins before the stored position",
            breaks=("events sent again that were stored as delivered",),
        ),
    ),
    longest=900,
)
