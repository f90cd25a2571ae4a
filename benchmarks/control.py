"""The control plane over HTTP with 1,000 resources: list, read and check, one call at a time."""

from __future__ import annotations

import http.client
import json
import statistics
import tempfile
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.access import AUDIENCE, ISSUER, write_keys
from benchmarks.report import Figure, Report
from tests.e2e.control_plane import ControlProcess
from tests.e2e.token_server import TokenProcess

RESOURCES = 1_000
TENANTS = 50
LIMIT_SECONDS = 0.010


class Caller:
    """Calls over one connection that is kept."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: object = None, status: int = 200) -> bytes:
        """One call; fails unless it is answered so."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", data, self._headers)
        answer = self._connection.getresponse()
        read = answer.read()
        if answer.status != status:
            raise AssertionError((method, path, answer.status, read))
        return read

    def measure(self, path: str, rounds: int) -> float:
        """The median of seconds a call takes."""
        seconds = []
        for _ in range(rounds):
            begun = time.perf_counter()
            self.send("GET", path)
            seconds.append(time.perf_counter() - begun)
        return statistics.median(seconds)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def fill(boss: Caller) -> None:
    """Tenants with a project each, and all resources in the first one; who may see it, and ask."""
    for number in range(TENANTS):
        boss.send("POST", "/organizations", {"id": f"o-{number}", "name": "O"}, 201)
        project = {"id": f"p-{number}", "organization_id": f"o-{number}", "name": "P"}
        boss.send("POST", "/projects", project, 201)
        for user in range(5):
            body = {"role_id": "viewer", "user_id": f"user-{number}-{user}"}
            boss.send("POST", f"/organizations/o-{number}/role-assignments", body, 201)
    for name, role in (("viewer", "viewer"), ("service", "permission-checker")):
        body = {"role_id": role, "user_id": name}
        boss.send("POST", "/projects/p-0/role-assignments", body, 201)
    settings = {"note": "x" * 200, "backup_retention_days": 7}
    for number in range(RESOURCES):
        resource = {
            "id": f"r-{number:04}", "name": "R", "type": "Platform.Graph", "sku": "enterprise",
            "settings_json": settings,
        }  # fmt: skip
        boss.send("POST", "/projects/p-0/resources", resource, 201)


def build_token(key: ec.EllipticCurvePrivateKey, subject: str) -> str:
    """A token of an hour."""
    now = int(time.time())
    claims = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": now, "exp": now + 3600,
        "scope": "access:platform",
    }  # fmt: skip
    return jwt.encode(claims, key, algorithm="ES256", headers={"kid": "one"})


def measure(report: Report, *, quick: bool) -> None:
    """List, read and check by somebody with a role at the project, at the median."""
    rounds = 200 if quick else 1_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        keys, key = write_keys(folder)
        access = {
            "Authentication__Audience": AUDIENCE,
            "Authentication__Authority": "",
            "Authentication__Issuer": ISSUER,
            "Authentication__KeysFile": keys,
            "RateLimits__Enabled": "false",  # a few callers make the whole load
        }
        control = ControlProcess(folder, TokenProcess(folder), access, ("--no-provision",))
        done = control.run("control", "init", "--owner", "boss")
        if done.exit_code:
            raise AssertionError(done.output)
        with control:
            callers = {
                name: Caller(control.port, build_token(key, name))
                for name in ("boss", "viewer", "service")
            }
            fill(callers["boss"])
            check = "/permissions/check?scopeType=resource&scopeId=r-0500"
            for name, who, path in (
                ("list 50 of 1,000", "viewer", "/projects/p-0/resources"),
                ("list the last 50 of 1,000", "viewer", "/projects/p-0/resources?offset=950"),
                ("list of 1,000 by status", "viewer", "/projects/p-0/resources?status=creating"),
                ("read one of 1,000", "viewer", "/projects/p-0/resources/r-0500"),
                ("check oneself", "viewer", check),
                ("check somebody else", "service", f"{check}&userId=viewer"),
            ):
                seconds = callers[who].measure(path, rounds)
                kept = seconds < LIMIT_SECONDS
                report.add(
                    Figure(
                        f"control plane: {name}", seconds * 1e3, "ms", None, None, "< 10 ms", kept
                    )
                )
            whole = callers["viewer"].measure("/projects/p-0/resources?limit=1000", 50)
            report.add(Figure("control plane: list all 1,000", whole * 1e3, "ms"))
            for caller in callers.values():
                caller.close()
