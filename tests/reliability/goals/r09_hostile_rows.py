"""R9: every row of the hostile tables, each with its one right outcome in less than a second."""

from __future__ import annotations

from collections.abc import Sequence

from tests.e2e.server import Server
from tests.reliability.hostile import MODEL, list_rows, run_row
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.suites import run_tests
from tests.reliability.traffic import add_model, wait_for_workers

TABLES = (
    "tests/unit/http/server/test_protocol_framing.py",
    "tests/unit/http/test_guard.py",
    "tests/unit/graph/test_hostile_ids.py",
    "tests/unit/graph/transfer/test_locations.py",
    "tests/unit/query/cypher/test_hostile_text.py",
    "tests/unit/model/test_patches.py",
    "tests/unit/model/test_json.py",
    "tests/unit/graph/context/test_tokens.py",
    "tests/e2e/test_operations.py",
)
LONG = ("plugins/storage-rdf/tests/test_sparql_endpoint.py", "tests/e2e/test_wire_patches.py")


def judge(trial: Trial) -> Sequence[Figure]:
    """The rows of a running service, then the tables that the tests have."""
    rows = list_rows()
    wrong: list[str] = []
    slow = 0
    with Server(trial.folder, environment={"Logging__Access": "false"}) as server:
        wait_for_workers(server)
        add_model(server.port, MODEL)
        for row in rows:
            holds, seconds = run_row(row, server.port)
            slow += seconds > 1.0
            if not holds:
                wrong.append(row.name)
    if not trial.fault:
        print("".join(f"    wrong: {name}\n" for name in wrong), end="", flush=True)
    tables = TABLES[:1] if trial.fault else TABLES[:-1] if trial.size == "smoke" else TABLES + LONG
    outcome = run_tests(trial, tables)
    return [
        exactly("rows with another outcome", len(wrong)),
        exactly("rows that took over a second", slow if trial.size == "full" else 0),
        exactly("tracebacks", server.log.read_text(encoding="utf-8").count("Traceback")),
        *outcome.list_figures(400, "rows of tests"),
        at_least("rows here", len(rows), 260),
    ]


GOAL = Goal(
    id="R9",
    title="named hostile input",
    asked="≥ 400 rows: framing, names, JSON, patches, queries, tokens, places: 100 % as the "
    "tables say, each < 1 s",
    judge=judge,
    twins=(
        Twin(
            fault="stock-protocol",
            seeds="uvicorn's own HTTP protocol without guard",
            breaks=("rows of tests failed",),
        ),
    ),
    smoke=True,
)
