"""`make test-mcp`: the official conformance suite, and the inspector over SSE.

It runs the fixtures of `tests.mcp.app` under gunicorn with the service's worker class, at one
worker and at two; then the inspector over both transports at a hosted graph. The
tools come from npm once, into `var/mcp-tools`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.hosted import Provisioner, build_environment, build_hosted
from tests.e2e.server import Server, free_port

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "var" / "mcp-tools"
PACKAGES = {
    "node": "22.23.3",
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
}
BASELINE = Path(__file__).parent / "expected_failures.yml"
ERAS = ("2025-11-25", "2026-07-28")


def main() -> int:
    """Exit code 0 when all that is required passes, or when npm is not here to get the suite."""
    missing = install()
    if missing:
        print(f"skipped: {missing}", file=sys.stderr)
        return 0
    failed: list[str] = []
    for workers in (1, 2):
        with serve(workers) as url:
            failed += [
                f"the suite of {era} with {workers} worker(s)"
                for era in ERAS
                if not run_suite(url, era, workers)
            ]
            failed += [
                f"the inspector's {arguments[1]} with {workers} worker(s)"
                for arguments in INSPECTIONS
                if not inspect(f"{url}/sse", "sse", arguments, f"{workers} worker(s)")
            ]
    with serve_hosted() as url:
        failed += [
            f"the inspector's {arguments[1]} over {transport} at a hosted graph"
            for transport, path in (("sse", "/sse"), ("http", "/mcp"))
            for arguments in HOSTED_INSPECTIONS
            if not inspect(url + path, transport, arguments, "a hosted graph")
        ]
    for name in failed:
        print(f"FAILED: {name}", file=sys.stderr)
    return 1 if failed else 0


# --- tools ----------------------------------------------------------------------------------------


def install() -> str:
    """Get the pinned packages if they are not here yet; why that is not possible, else ''."""
    manifest = TOOLS / "package.json"
    wanted = {"private": True, "dependencies": PACKAGES}
    if manifest.exists() and json.loads(manifest.read_text()) == wanted and find_node().exists():
        return ""
    if shutil.which("npm") is None:
        return "the conformance suite needs npm (any Node with npm; Node 22 itself comes with it)"
    shutil.rmtree(TOOLS, ignore_errors=True)
    TOOLS.mkdir(parents=True)
    manifest.write_text(json.dumps(wanted))
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=TOOLS, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    if done.returncode:
        manifest.unlink()
        return f"npm could not get the conformance suite:\n{done.stderr[-2000:]}"
    return ""


def find_node() -> Path:
    """The Node that runs the tools: both need 22, whatever this machine has."""
    return TOOLS / "node_modules" / "node" / "bin" / "node"


# --- runs -----------------------------------------------------------------------------------------


@contextmanager
def serve(workers: int) -> Iterator[str]:
    """The fixtures on a free port: its origin."""
    bind = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="mcp-fixture-") as relay:
        log = Path(relay) / "server.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    sys.executable, "-m", "gunicorn", "--worker-class",
                    "twinframe.http.worker.Worker", "--workers", str(workers), "--bind", bind,
                    "--no-control-socket", "--graceful-timeout", "5", "tests.mcp.app:app",
                ],
                cwd=ROOT,
                env=os.environ | {"FIXTURE_BIND": bind, "FIXTURE_RELAY": relay},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )  # fmt: skip
        try:
            wait_for(f"http://{bind}/", process, log)
            yield f"http://{bind}"
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def serve_hosted() -> Iterator[str]:
    """A service of two workers with a hosted graph: the graph's address."""
    with tempfile.TemporaryDirectory(prefix="mcp-hosted-") as name:
        folder = Path(name)
        environment = build_environment(folder, MCP__Enabled="true")
        Provisioner(environment).bring_up(build_hosted("campus"))
        with Server(folder, workers=2, environment=environment) as server:
            yield f"{server.url}/graphs/campus"


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until something answers there."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
    raise SystemExit(f"the fixtures did not start:\n{log.read_text()}")


def run_suite(url: str, era: str, workers: int) -> bool:
    """Run the scenarios that an era requires; True when all pass that are not in the baseline."""
    script = TOOLS / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    command = [
        str(find_node()), str(script), "server", "--url", f"{url}/mcp", "--requirements", era,
    ]  # fmt: skip
    if era == ERAS[0]:
        command += ["--expected-failures", str(BASELINE)]
    with tempfile.TemporaryDirectory(prefix="mcp-suite-") as folder:
        done = subprocess.run(
            [*command, "-o", folder], cwd=folder, capture_output=True, text=True, timeout=300
        )
    totals = re.findall(r"^Total:.*$", done.stdout, re.MULTILINE)
    print(f"{era}, {workers} worker(s): {' '.join(totals) or 'no result'}", flush=True)
    if done.returncode or not totals:
        print(done.stdout[-6000:], done.stderr[-2000:], sep="\n")
    return done.returncode == 0 and bool(totals)


INSPECTIONS = (
    ("--method", "tools/list", "--strict"),
    ("--method", "tools/call", "--tool-name", "test_simple_text", "--tool-args-json", "{}"),
    ("--method", "resources/list"),
    ("--method", "resources/read", "--uri", "test://static-text"),
    ("--method", "resources/templates/list"),
    ("--method", "prompts/list"),
)


HOSTED_INSPECTIONS = (
    ("--method", "tools/list", "--strict"),
    ("--method", "tools/call", "--tool-name", "describe_graph", "--tool-args-json", "{}"),
    ("--method", "resources/list"),
    ("--method", "resources/templates/list"),
    ("--method", "prompts/list"),
)


def inspect(url: str, transport: str, arguments: tuple[str, ...], about: str) -> bool:
    """Run one method of the official inspector; True when it succeeds."""
    script = TOOLS / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    done = subprocess.run(
        [
            str(find_node()), str(script), "--cli", url, "--transport", transport,
            "--format", "json", *arguments,
        ],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    print(f"inspector over {transport}, {about}, {arguments[1]}: exit {done.returncode}")
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
