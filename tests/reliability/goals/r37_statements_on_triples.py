"""R37: concurrent statements in Cypher over triples on disk, while the service is killed."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability.goals.r36_statements import TWINS, judge_service
from tests.reliability.judging import Figure, Goal, Trial
from tests.storages import build_oxigraph_environment


def judge(trial: Trial) -> Sequence[Figure]:
    """As R36, over one store process and two workers."""
    return judge_service(trial, build_oxigraph_environment(trial.folder), 3_000)


GOAL = Goal(
    id="R37",
    title="concurrent statements in Cypher over triples",
    asked="as R36, over triples on disk",
    judge=judge,
    twins=TWINS,
    longest=3_300,
)
