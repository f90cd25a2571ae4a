"""Tools that are no dependency of the project, each in an environment of its own below `var`."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from tests.reliability.judging import ROOT, NotRun

_PLACE: Final = ROOT / "var" / "reliability-tools"
PINNED: Final = {
    "schemathesis": "schemathesis==4.32.5",
    "atheris": "atheris==3.0.0",
    "ladybug": "ladybug==0.22.0",
    "duckdb": "duckdb==2.0.0",
}


_TURN: Final = threading.Lock()


def install_tool(name: str, *more: str) -> Path:
    """The folder with the programs of a tool; got from the package index once."""
    with _TURN:
        return _install(name, *more)


def _install(name: str, *more: str) -> Path:
    place = _PLACE / name
    ready = place / ".ready"
    wanted = "\n".join((PINNED[name], *more))
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return place / "bin"
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(place)],
        [str(place / "bin" / "pip"), "install", "--quiet", PINNED[name], *more],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NotRun(f"{PINNED[name]} could not be installed: {done.stderr.strip()[-300:]}")
    ready.write_text(wanted, encoding="utf-8")
    return place / "bin"
