"""R33: conditional changes over two and three nodes on PostgreSQL, while nodes are killed."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from tests.reliability.goals.r06_registers import put_counters
from tests.reliability.goals.r07_etags import KEYS, add_up, contending, count, read_counters
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.services import serving
from tests.reliability.traffic import add_model

_EVENTS = "SELECT count(*) FROM twinframe_default.event WHERE subject IN ('k0', 'k1', 'k2')"


def judge(trial: Trial) -> Sequence[Figure]:
    """Sixteen clients change three twins; the values rise by one for each change that was made.

    A change whose answer was lost with its node may be made or not, but never twice.
    """
    dice = random.Random(trial.seed)
    wanted, kills = trial.pick(40_000, 1_000), trial.pick(24, 2)
    with serving(trial.folder, 2) as services:
        end = time.monotonic() + trial.pick(600, 120)
        add_model(services.ports[0])
        put_counters(services.ports[0], KEYS)
        with contending(services.ports) as tallies:
            for half in (1, 2):

                def is_enough(done: int, half: int = half) -> bool:
                    told = done >= kills * half // 2 and count(tallies) >= wanted * half // 2
                    return told or time.monotonic() > end

                services.kill_in_turn(dice, is_enough)
                if half == 1:
                    services.add()
        risen = sum(read_counters(services.ports[0]))
        ((events,),) = services.database.ask(_EVENTS)
        tracebacks = services.read_logs().count("Traceback")
    found = add_up(tallies)
    unknown = found.unanswered + found.statuses[504]
    others = found.statuses.total() - found.done - sum(found.statuses[n] for n in (412, 503, 504))
    return [
        exactly("updates lost", max(found.done - risen, 0)),
        exactly("updates that nobody made", max(risen - found.done - unknown, 0)),
        exactly("events but one for each update", events - KEYS - risen),
        exactly("answers but 200, 204, 412, 503 and 504", others),
        exactly("tracebacks in the logs", tracebacks),
        at_least("conditional writes", found.statuses.total(), trial.pick(40_000, 300)),
        at_least("refused with 412", found.statuses[412], trial.pick(1_000, 10)),
        at_least("kills", services.kills, kills),
        told("without an answer", unknown),
        told("refused with 503", found.statuses[503]),
    ]


GOAL = Goal(
    id="R33",
    title="concurrent If-Match over nodes on PostgreSQL",
    asked="≥ 40,000 conditional writes over two and three nodes, ≥ 24 kills -9 of a node or of a "
    "worker: no update lost, none made twice, one event for each",
    judge=judge,
    twins=(
        Twin(
            fault="ignore-etags",
            seeds="If-Match is not looked at",
            breaks=("updates lost",),
        ),
    ),
    longest=900,
)
