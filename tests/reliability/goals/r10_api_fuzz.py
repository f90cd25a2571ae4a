"""R10: requests made up from the OpenAPI documents of both planes, from models, and by coverage."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.e2e.control_plane import SCOPE, ControlProcess
from tests.e2e.hostile_requests import MODEL, MODELS, TWIN
from tests.e2e.server import Server
from tests.e2e.token_server import TokenProcess
from tests.reliability.judging import ROOT, Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.suites import run_tests
from tests.reliability.tools import install_tool
from tests.reliability.traffic import Line, add_model, wait_for_workers
from tests.storages import SERVED

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance,unsupported_method"
)
LAWS = (
    "tests/unit/http/test_hostile_writes.py",
    "tests/unit/access/authentication/test_token_fuzz.py",
    "tests/unit/graph/twins/test_transaction_laws.py",
    "tests/unit/graph/test_paging_laws.py",
)
TARGETS = ("query", "patch", "model", "id")
SECONDS = 30
"""Of each parser."""
NAMES = {
    "twin_id": "room",
    "component": "part",
    "relationship_id": "edge",
    "route_id": "route",
    "model_id": MODEL,
}
"""Ids that are there: with made-up ones alone most requests end at «not found»."""
KEEPING = (
    *("--exclude-path", "/events", "--exclude-path", "/jobs/deletions"),
    *("--exclude-method", "DELETE"),
)
TRIPLES = tuple(
    part
    for path in ("/sparql", "/export", "/export/shapes", "/export/report")
    for part in ("--include-path", path)
)


def judge(trial: Trial) -> Sequence[Figure]:
    """schemathesis over two services, hypothesis by its tests, atheris for four parsers.

    Two of these at a time, as there are two cores.
    """
    if trial.fault:
        return _judge_graph(trial)
    with ThreadPoolExecutor(2) as pool:
        steps = [_judge_graph, _judge_control, _judge_named]
        if trial.size == "full":
            steps += [_judge_laws, _judge_parsers]
        found = [pool.submit(step, trial) for step in steps]
        figures = [figure for each in found for figure in each.result()]
    cases = sum(figure.value for figure in figures if figure.name.startswith("cases of "))
    return [*figures, at_least("cases of them all", cases, trial.pick(5_000, 400))]


def _judge_graph(trial: Trial) -> list[Figure]:
    # NOTE: with few examples it is a matter of luck whether the twin meets an odd id.
    examples = 20 if trial.fault else trial.pick(45, 2)
    graph = _fuzz_graph(trial, "any", examples, "--exclude-path", "/events")
    return [
        exactly("failures of the graph's document", graph["failed"]),
        at_least("cases of it", graph["cases"], trial.pick(3_000, 300)),
        exactly("tracebacks", graph["tracebacks"]),
    ]


def _judge_named(trial: Trial) -> list[Figure]:
    named = _fuzz_graph(trial, "named", trial.pick(15, 1), *KEEPING)
    triples = _fuzz_graph(trial, "triples", trial.pick(40, 5), *TRIPLES)
    return [
        exactly("failures with ids that are there", named["failed"]),
        told("cases of these", named["cases"]),
        exactly("failures of SPARQL and export", triples["failed"]),
        told("cases of those", triples["cases"]),
        exactly("tracebacks of these", named["tracebacks"] + triples["tracebacks"]),
    ]


def _judge_control(trial: Trial) -> list[Figure]:
    control = _fuzz_control(trial)
    return [
        exactly("failures of the control plane's", control["failed"]),
        at_least("cases of that", control["cases"], trial.pick(1_000, 100)),
        exactly("tracebacks there", control["tracebacks"]),
    ]


def _judge_laws(trial: Trial) -> list[Figure]:
    options = ("--timeout=900", "--hypothesis-profile=thorough", "--hypothesis-show-statistics")
    outcome = run_tests(trial, LAWS, {"TWINFRAME_EXAMPLES": "1000"}, *options)
    examples = sum(map(int, re.findall(r"([0-9]+) passing(?: examples)?,", outcome.log)))
    return [*outcome.list_figures(10, "laws"), at_least("examples of laws", examples, 50_000)]


def _run(url: str, folder: Path, examples: int, seed: int, *options: str) -> dict[str, int]:
    tool = install_tool("schemathesis") / "st"
    report = folder / "schemathesis.json"
    done = subprocess.run(
        [
            str(tool), "run", url, "--max-examples", str(examples), "--seed", str(seed),
            "--phases", "examples,coverage,fuzzing", "--checks", CHECKS, "--continue-on-failure",
            "--no-color", "--report-json-path", str(report),
            "--suppress-health-check", "filter_too_much", *options,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )  # fmt: skip
    (folder / "schemathesis.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    cases = [line.split() for line in done.stdout.splitlines() if " generated" in line]
    if not cases:
        raise RuntimeError(f"schemathesis did not run:\n{done.stdout[-1500:]}{done.stderr[-500:]}")
    failed = [line for line in done.stdout.splitlines() if line.strip().startswith("- ST")]
    if done.returncode and not failed:
        failed = ["it ended with an error"]
    print("".join(f"    {line.strip()}\n" for line in failed), end="", flush=True)
    return {"cases": int(cases[-1][0].replace(",", "")), "failed": len(failed)}


def _fuzz_graph(trial: Trial, name: str, examples: int, *options: str) -> dict[str, int]:
    folder = trial.folder / name
    (folder / "files").mkdir(parents=True)
    environment = {
        "Logging__Access": "false",
        "Events__Endpoints__lines__Type": "log",
        "Jobs__Directories": json.dumps([str(folder / "files")]),
    }
    if name == "triples":
        environment |= {**SERVED["oxigraph"](folder), "Sparql__Enabled": "true"}
    if name == "named":
        lines = (f'"path.{key}" = "{value}"\n' for key, value in NAMES.items())
        (folder / "schemathesis.toml").write_text("[parameters]\n" + "".join(lines))
    with Server(folder, workers=2, environment=environment) as server:
        wait_for_workers(server)
        add_model(server.port)
        _fill(server)
        found = _run(f"{server.url}/openapi.json", folder, examples, trial.seed, *options)
    return found | {"tracebacks": _count_tracebacks(server.log)}


def _fill(server: Server) -> None:
    """The things that NAMES names."""
    line = Line(server.port)
    twins = [(f"/digitaltwins/{twin}", TWIN) for twin in ("room", "hall")]
    edge = {"$relationshipName": "to", "$targetId": "hall"}
    route = {"endpointName": "lines", "filter": "true"}
    more = [("/digitaltwins/room/relationships/edge", edge), ("/eventroutes/route", route)]
    assert line.call("POST", "/models", MODELS)[0] == 201
    for path, body in (*twins, *more):
        assert line.call("PUT", path, body)[0] in (200, 204), path
    line.close()


def _fuzz_control(trial: Trial) -> dict[str, int]:
    folder = trial.folder / "control"
    folder.mkdir()
    with TokenProcess(folder) as tokens:
        owner = tokens.add_client("owner", scope=SCOPE)
        control = ControlProcess(folder, tokens, {"Logging__Access": "false"})
        name = f"{owner.client_id}@clients"
        done = control.run("control", "init", "--owner", name, "--organization", "acme")
        assert done.exit_code == 0, done.output
        with control:
            token = control.sign_in(owner).token
            found = _run(
                f"{control.url}/openapi.json", folder, trial.pick(15, 2), trial.seed,
                "--header", f"Authorization: Bearer {token}",
            )  # fmt: skip
    return found | {"tracebacks": _count_tracebacks(control.log)}


def _count_tracebacks(log: Path) -> int:
    return log.read_text(encoding="utf-8").count("Traceback")


def _judge_parsers(trial: Trial) -> list[Figure]:
    """Four parsers, guided by coverage; any error but the service's own is one."""
    python = install_tool("atheris", "-e", str(ROOT)) / "python"
    runs = crashes = 0
    for target in TARGETS:
        done = subprocess.run(
            [
                str(python), "-m", "tests.reliability.parsers", target,
                f"-max_total_time={SECONDS}",
                f"-artifact_prefix={trial.folder}/", f"-seed={trial.seed}", "-max_len=4096",
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )  # fmt: skip
        (trial.folder / f"atheris-{target}.txt").write_text(done.stdout + done.stderr)
        crashes += done.returncode != 0
        runs += _read_runs(done.stderr)
        if done.returncode:
            print(f"    atheris on {target}: {done.stderr[-1500:]}", flush=True)
    return [exactly("parsers that broke", crashes), at_least("runs of parsers", runs, 20_000)]


def _read_runs(text: str) -> int:
    lines = [line for line in text.splitlines() if line.startswith("Done ")]
    return int(lines[-1].split()[1]) if lines else 0


GOAL = Goal(
    id="R10",
    title="fuzzed API",
    asked="schemathesis ≥ 5,000 cases over both documents, hypothesis ≥ 50,000 examples of laws, 4 "
    "parsers guided by coverage for 60 s each: no 5xx, no uncaught error, no break of a schema",
    scaled="30 s for each parser",
    judge=judge,
    twins=(
        Twin(
            fault="crash-on-odd-ids",
            seeds="ids beyond ASCII raise an unforeseen error",
            breaks=("failures of the graph's document", "tracebacks"),
        ),
    ),
)
