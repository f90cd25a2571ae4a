"""R11: who may do what, over all routes, and tokens that must not be believed."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reliability.judging import Figure, Goal, Trial, Twin
from tests.reliability.suites import run_tests

MATRIX = ("tests/unit/http/test_access.py", "tests/unit/control/http/test_control_table.py")
GRANTS = (
    "tests/unit/control/tenants/test_delegation.py",
    "tests/unit/control/tenants/test_addresses.py",
    "tests/e2e/test_own_graph_access.py",
)
TOKENS = (
    "tests/unit/access/authentication/test_token_matrix.py",
    "tests/e2e/test_access_tokens_over_http.py",
)
KEYS = ("tests/unit/access/authentication/test_key_cache.py", "tests/e2e/test_issuer_misbehaves.py")


def judge(trial: Trial) -> Sequence[Figure]:
    """Matrix, grants, tokens and keys of the issuer, each by its tests."""
    found = run_tests(trial, MATRIX).list_figures(25, "of the matrix")
    found += run_tests(trial, GRANTS).list_figures(60, "of grants")
    if not trial.fault:
        found += run_tests(trial, TOKENS if trial.size == "full" else TOKENS[:1]).list_figures(
            trial.pick(150, 60), "of tokens"
        )
        found += run_tests(trial, KEYS if trial.size == "full" else KEYS[:1]).list_figures(
            trial.pick(30, 15), "of keys"
        )
    return found


GOAL = Goal(
    id="R11",
    title="authorisation matrix and tokens",
    asked="every route with no, wrong and right credentials, 100 % exact; nobody gives or takes "
    "what they do not hold as long, nor has what they can only name; hostile tokens 100 % 401; the "
    "issuer's keys are asked for ≤ once in 30 s (and one time more at first) under 10,000 unknown "
    "ones",
    judge=judge,
    twins=(
        Twin(
            fault="everybody-may",
            seeds="each permission is held by everybody",
            breaks=("of the matrix failed",),
        ),
        Twin(
            fault="held-for-a-while-is-held",
            seeds="a role counts as held for as long as anybody asks",
            breaks=("of grants failed",),
        ),
        Twin(
            fault="addresses-are-lowered",
            seeds="addresses are compared in lower case, as Unicode has it",
            breaks=("of grants failed",),
        ),
        Twin(
            fault="own-graph-by-its-id",
            seeds="the service's own graph is asked about as a hosted one",
            breaks=("of grants failed",),
        ),
    ),
)
