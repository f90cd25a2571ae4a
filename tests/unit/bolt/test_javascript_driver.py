"""Everyday calls of the official JavaScript driver, over TCP and WebSocket."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.bolt.world import BoltWorld
from tests.waiting import PATIENCE
from twinframe.storage.memory import MemoryStore

DRIVERS = Path(__file__).resolve().parents[2] / "drivers"


@pytest.mark.parametrize("way", ["tcp", "web"])
def test_the_javascript_driver_works(way: str) -> None:
    node = shutil.which("node")
    if node is None or not (DRIVERS / "node_modules" / "neo4j-driver").is_dir():
        pytest.skip("the JavaScript driver is not here: Node.js 20.10 and `make modules-softly`")
    # NOTE: Node.js has a WebSocket of its own from 22 on; before that the option turns it on.
    options = ["--experimental-websocket"] if way == "web" and _read_major(node) < 22 else []
    with BoltWorld(MemoryStore()) as world:
        ran = subprocess.run(
            [node, *options, "everyday.js", way, str(world.server.port)],
            cwd=DRIVERS,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr[-4000:]


def _read_major(node: str) -> int:
    found = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=PATIENCE)
    return int(found.stdout.lstrip("v").partition(".")[0])
