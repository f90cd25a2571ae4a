"""The vendor's SDK for JavaScript, all operations of it, against a running service over TLS.

Two versions: 1.0.3, which its explorer is built with, and 1.1.0. They are got with npm, once, into
`var/js-sdk`; `js_sdk/plays.cjs` plays them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.server import Server
from tests.shared import ROOT
from twinframe.runtime.locks import hold_lock

HERE: Final = Path(__file__).parent / "js_sdk"
FOLDER: Final = ROOT / "var" / "js-sdk"
FILES: Final = ("package.json", "package-lock.json", ".npmrc")
SDKS: Final = ("sdk-1.0.3", "sdk-1.1.0")
NPM_CI: Final = (
    *("npm", "ci", "--ignore-scripts", "--loglevel=error"),
    *("--fetch-retries=1", "--fetch-retry-mintimeout=1000"),
)
MISSING: Final = "needs Node.js 20 or later with npm: apt-get install nodejs npm"


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder with both versions, which npm fills in the first run."""
    if not _has_node():
        pytest.skip(MISSING)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with hold_lock(FOLDER / "lock"):  # several processes of one run of tests come here
        if not _is_installed():
            _install()
    return FOLDER


def _has_node() -> bool:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return False
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=60)
    return int(version.stdout.strip().removeprefix("v").partition(".")[0] or 0) >= 20


def _is_installed() -> bool:
    return (FOLDER / "done").exists() and all(
        (FOLDER / name).read_bytes() == (HERE / name).read_bytes() for name in FILES
    )


def _install() -> None:
    (FOLDER / "done").unlink(missing_ok=True)
    for name in FILES:
        shutil.copyfile(HERE / name, FOLDER / name)
    try:
        subprocess.run(NPM_CI, cwd=FOLDER, capture_output=True, check=True, timeout=120)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("needs packages that npm could not get: npm ci in tests/e2e/js_sdk says why")
    (FOLDER / "done").touch()


@pytest.mark.parametrize("sdk", SDKS)
def test_every_operation_of_the_javascript_sdk_does_what_it_says(
    packages: Path, server: Server, unique: Any, sdk: str
) -> None:
    assert server.certificates is not None
    done = subprocess.run(
        ["node", str(HERE / "plays.cjs"), sdk, server.url, unique("js")],
        cwd=packages,
        env={**os.environ, "NODE_EXTRA_CA_CERTS": str(server.certificates.authority)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout)
    assert told["failed"] == {}
    assert told["missed"] == []
    assert len(told["operations"]) == 24
    targets = [request["target"] for request in told["requests"]]
    assert any("dependenciesFor=&" in target for target in targets)
    assert any("%2Cdtmi" in target or ",dtmi" in target for target in targets)
