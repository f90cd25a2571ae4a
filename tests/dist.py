"""Builds the wheels and sdists of all distributions, and tries the wheels in a fresh environment.

`make dist` runs it. Each wheel is built from its sdist, so that both are complete.
"""

from __future__ import annotations

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.server import free_port

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PROJECTS = [ROOT, *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))]
SERVING = ("twinframe-", "twinframe_storage_sqlite-")
"""The wheels of a smallest installation that serves from durable storage."""

PATIENCE = 120.0
LONGEST = 1200.0
"""Seconds that an installation may take: a cold one fetches some hundred megabytes."""
LAMP = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Lamp;1",
    "@type": "Interface",
    "contents": [{"@type": "Property", "name": "level", "schema": "integer"}],
}
QUERY = "MATCH (l:Lamp) WHERE l.level > 2 RETURN l.$dtId AS id, l.level AS level"


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command; return what it printed."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=build_environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build_environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a user: nothing of it leads to the checkout."""
    kept = {name: text for name, text in os.environ.items() if "__" not in name}
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "TWINFRAME_CONFIG"):
        kept.pop(name, None)
    return {**kept, **(settings or {})}


def build_all() -> list[Path]:
    """Build an sdist of each project and a wheel of each sdist; return the wheels."""
    shutil.rmtree(DIST, ignore_errors=True)
    for project in PROJECTS:
        run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", DIST, cwd=project)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check")
    run(*pip, "--no-deps", "--no-build-isolation", "-w", DIST, *sorted(DIST.glob("*.tar.gz")))
    wheels = sorted(DIST.glob("*.whl"))
    if len(wheels) != len(PROJECTS):
        sys.exit(f"{len(PROJECTS)} projects gave {len(wheels)} wheels.")
    return wheels


class Installation:
    """A fresh environment in a folder outside the checkout."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bin = folder / "venv" / "bin"
        run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)

    def install(self, wheels: Sequence[Path]) -> None:
        """Install wheels, and from the index what they require."""
        constraints = ("--constraint", ROOT / "constraints.txt")
        pip = (self._bin / "python", "-m", "pip", "--disable-pip-version-check", "install")
        run(*pip, "--quiet", *constraints, *wheels, cwd=self._folder)

    def read(self, code: str) -> str:
        """What a piece of Python prints in the environment."""
        return run(self._bin / "python", "-c", code, cwd=self._folder).strip()

    def measure(self) -> tuple[int, float]:
        """The number of packages, without pip and setuptools, and the megabytes of all files."""
        names = self.read(
            "import importlib.metadata as m; "
            "print(*sorted({d.metadata['Name'].lower() for d in m.distributions()}))"
        ).split()
        packages = Path(self.read("import sysconfig; print(sysconfig.get_path('purelib'))"))
        own = [path for path in packages.iterdir() if not re.match(r"pip|setuptools", path.name)]
        files = [file for path in own for file in (path, *path.rglob("*")) if file.is_file()]
        return len({*names} - {"pip", "setuptools"}), sum(f.stat().st_size for f in files) / 1e6

    def check_commands(self, version: str) -> None:
        """The command exists, is of this version, and is not of the checkout."""
        printed = run(self._bin / "twinframe", "--version", cwd=self._folder)
        if version not in printed:
            sys.exit(f"twinframe --version prints {printed!r}, not {version}.")
        where = Path(self.read("import twinframe; print(twinframe.__file__)"))
        if not where.is_relative_to(self._folder):
            sys.exit(f"twinframe is imported from {where}.")

    def check_plugins(self) -> int:
        """Every plugin that an installed distribution names can be imported; return how many."""
        return int(
            self.read(
                "from importlib.metadata import distributions\n"
                "named = [point for one in distributions() for point in one.entry_points]\n"
                "found = [each for each in named if each.group.startswith('twinframe.')]\n"
                "print(len([each.load() for each in found]))"
            )
        )

    def serve(self, provider: str) -> None:
        """Start the service, write a model and a twin, query them, and stop it."""
        port = free_port()
        data = self._folder / provider
        settings = {
            "Server__Bind": f"127.0.0.1:{port}",
            "Server__Workers": "1",
            "Storage__Provider": provider,
            f"Storage__{provider.capitalize()}__Directory": str(data),
        }
        with (self._folder / f"{provider}.log").open("wb") as log:
            server = subprocess.Popen(
                [self._bin / "twinframe", "serve"],
                cwd=self._folder,
                env=build_environment(settings),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                rows = ask(f"http://127.0.0.1:{port}", server)
                server.send_signal(signal.SIGTERM)
                code = server.wait(PATIENCE)
            finally:
                server.kill()
        if rows != [{"id": "lamp", "level": 3}] or code:
            text = Path(log.name).read_text(encoding="utf-8")
            sys.exit(f"{provider}: rows {rows}, exit code {code}\n{text}")


def ask(url: str, server: subprocess.Popen[bytes]) -> Any:
    """Use a service as its first user would; return the rows of a query."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            call("GET", f"{url}/health/ready")
            break
        except OSError:
            if time.monotonic() > end or server.poll() is not None:
                return "the service does not become ready"
            time.sleep(0.1)
    call("POST", f"{url}/models", [LAMP])
    twin = {"$metadata": {"$model": LAMP["@id"]}, "level": 3}
    call("PUT", f"{url}/digitaltwins/lamp", twin)
    return call("POST", f"{url}/query", {"query": QUERY})["value"]


def call(method: str, url: str, document: Any = None) -> Any:
    """Send a request; return the JSON of the answer. An error status is an `HTTPError`."""
    body = None if document is None else json.dumps(document).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def main() -> None:
    """Build, install what serving needs, try it, then install and try the rest."""
    wheels = build_all()
    print(f"built into dist: {len(wheels)} wheels, {len(wheels)} sdists")
    core = next(wheel for wheel in wheels if wheel.name.startswith("twinframe-"))
    with tempfile.TemporaryDirectory(prefix="twinframe-dist-") as folder:
        installation = Installation(Path(folder).resolve())
        installation.install([wheel for wheel in wheels if wheel.name.startswith(SERVING)])
        packages, size = installation.measure()
        print(f"twinframe and twinframe-storage-sqlite: {packages} packages, {size:.0f} MB")
        installation.check_commands(core.name.split("-")[1])
        installation.serve("sqlite")
        print("served a model, a twin and a Cypher query from SQLite")
        installation.install(wheels)
        packages, size = installation.measure()
        plugins = installation.check_plugins()
        print(f"all {len(wheels)} distributions: {packages} packages, {size:.0f} MB")
        installation.serve("rdf")
        print(f"imported {plugins} plugins, and served the same from triples")


if __name__ == "__main__":
    main()
