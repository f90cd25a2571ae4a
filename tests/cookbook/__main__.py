"""`make test-cookbook`: runs the scripts of the page about Neo4j's tools, with these installed.

Each script is a block of the page with a title. It runs against a service with the sample campus,
and prints what the block after it shows. The other blocks of the page run in `tests/docs`.
"""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs.test_code_blocks import BOLT, FLAGS, load_in_bulk
from tests.e2e.server import Server, free_port

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/use-tools-of-neo4j.md"
PYTHON = ROOT / "var/cookbook/bin/python"
MODULES = ROOT / "tests/drivers/node_modules"
SCRIPT = re.compile(
    r'^```(?:python|js) title="(?P<name>[^"]+)"\n(?P<text>.*?)^```\n```text\n(?P<shown>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)


def main() -> int:
    """Exit code 0 when each script prints what the page shows."""
    page = PAGE.read_text(encoding="utf-8")
    scripts = list(SCRIPT.finditer(page))
    if len(scripts) != page.count(' title="'):
        raise SystemExit(f"{PAGE}: a script has no block ```text``` after it")
    failed = []
    with tempfile.TemporaryDirectory(prefix="cookbook-") as name:
        folder, bind = Path(name), f"127.0.0.1:{free_port()}"
        bolt = {"Bolt__Enabled": "true", "Bolt__Bind": bind}
        with Server(folder, environment=bolt) as server:
            load_in_bulk(server)
            for script in scripts:
                text = script["text"].replace(BOLT, f"bolt://{bind}")
                outcome = run(folder, script["name"], text, script["shown"])
                print(f"{script['name']}: {outcome}", flush=True)
                if outcome not in ("as shown", NO_NODE):
                    failed.append(script["name"])
        log = server.log.read_text(encoding="utf-8")
        if "Traceback" in log:
            failed.append(f"the service:\n{log[-4000:]}")
    for each in failed:
        print(f"FAILED: {each}", file=sys.stderr)
    return 1 if failed else 0


NO_NODE = "skipped, since it needs Node.js 20 or later with npm"


def run(folder: Path, name: str, text: str, shown: str) -> str:
    """Run one script in `folder`: "as shown", or what happened instead."""
    (folder / name).write_text(text, encoding="utf-8")
    program = str(PYTHON)
    if name.endswith(".mjs"):
        node = shutil.which("node")
        if node is None or not MODULES.is_dir():
            return NO_NODE
        program = node
        (folder / "node_modules").symlink_to(MODULES)
    done = subprocess.run([program, name], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr[-4000:]}"
    if not doctest.OutputChecker().check_output(shown, done.stdout, FLAGS):
        return f"expected:\n{shown}\ngot:\n{done.stdout}{done.stderr[-4000:]}"
    return "as shown"


if __name__ == "__main__":
    sys.exit(main())
