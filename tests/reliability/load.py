"""A closed-loop load by `wrk`: rates and percentiles of a running service. It judges nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.e2e.wire import counter
from tests.reliability.judging import NotRun
from tests.reliability.traffic import Line, add_model
from tests.unit.access.authentication.token_factory import TokenFactory

SCRIPT: Final = Path(__file__).with_name("mix.lua")
TWINS: Final = 1000


@dataclass(frozen=True, slots=True)
class Load:
    """What came of a load; times in milliseconds."""

    requests: int
    seconds: float
    errors: int
    p50: float
    p99: float
    worst: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


@dataclass(frozen=True, slots=True)
class Wrk:
    """`wrk` against a port; `writes` of a hundred requests change a twin."""

    port: int
    token: str = ""

    def start(self, seconds: float, *, writes: int, clients: int = 32) -> subprocess.Popen[str]:
        """Begin; `finish` waits for the end."""
        tool = shutil.which("wrk")
        if tool is None:
            raise NotRun("it needs the load generator wrk: apt-get install wrk")
        return subprocess.Popen(
            [
                tool, "-t1", f"-c{clients}", f"-d{seconds:.0f}s", "--latency", "-s", str(SCRIPT),
                f"http://127.0.0.1:{self.port}",
            ],
            env=os.environ | {"WRITES": str(writes), "TWINS": str(TWINS), "TOKEN": self.token},
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def run(self, seconds: float, *, writes: int, clients: int = 32) -> Load:
        """Load it for so long."""
        return finish(self.start(seconds, writes=writes, clients=clients))


def finish(process: subprocess.Popen[str]) -> Load:
    """Wait for the end of a load; what came of it."""
    output, _ = process.communicate()
    (line,) = [line for line in output.splitlines() if line.startswith("{")]
    return Load(**json.loads(line))


def fill(port: int, token: str = "") -> None:
    """The twins that the load reads and writes."""
    add_model(port, token=token)
    line = Line(port, token=token)
    twins = [{"$dtId": f"t{number}", **counter(number)} for number in range(TWINS)]
    status, _, body = line.call("POST", "/digitaltwins", twins)
    assert status == 200, body
    line.close()


def build_access(folder: Path) -> tuple[dict[str, str], str]:
    """Settings that ask for tokens and check permissions, and a token that may do all."""
    factory = TokenFactory()
    keys = folder / "keys.json"
    keys.write_text(json.dumps(factory.jwks()), encoding="utf-8")
    settings: dict[str, Any] = {
        "Authentication__Enabled": "true",
        "Authentication__Audience": factory.audience,
        "Authentication__Issuer": factory.issuer,
        "Authentication__KeysFile": str(keys),
        "MCP__ResourceServerUrl": factory.resource,
        "RateLimits__Enabled": "false",  # one caller makes the whole load
    }
    token = factory.token(permissions=["digitaltwins/*", "models/*", "query/*"])
    return settings, token.decode("ascii")
