"""The control plane in a process of its own, beside a token server, and clients that call it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from click.testing import CliRunner, Result

from tests.e2e.server import free_port
from tests.e2e.token_server import AUDIENCE, Registered, TokenProcess
from twinframe.cli.main import main

SCOPE = "access:platform"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class ControlProcess:
    """`twinframe control` on a free port with its data in `folder`; a context manager.

    `options` are those of the command; `settings` are what a graph server of the same machine
    shares with it.
    """

    folder: Path
    tokens: TokenProcess
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The origin of the control plane."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self.folder / f"control-{self.port}.log"

    @property
    def settings(self) -> dict[str, str]:
        """Its settings as environment."""
        return {
            "Authentication__Enabled": "true",
            "Authentication__Authority": self.tokens.issuer,
            "Authentication__Audience": AUDIENCE,
            "Control__Bind": f"127.0.0.1:{self.port}",
            "Control__PollInterval": "0.1",
            "Control__RetryDelay": "0.1",
            "Hosting__Enabled": "true",
            "Hosting__Directory": str(self.folder / "hosting"),
            "Storage__Sqlite__Directory": str(self.folder / "data"),
            **self.environment,
        }

    def run(self, *arguments: str) -> Result:
        """Run a command with its settings, in this process."""
        return CliRunner().invoke(main, list(arguments), env=self.settings)

    def start(self) -> Self:
        """Start it and wait until it says that it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "twinframe", "control", *self.options],
                env={**os.environ, **self.settings},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def wait_until_ready(self) -> None:
        """Wait for `/health/ready`; fails with the output if it does not come."""
        assert self.process is not None
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.send("GET", "/health/ready").status == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"the control plane did not get ready:\n{self.log.read_text()}")

    def kill(self) -> None:
        """End it without warning, with its workers."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(120)
            self.process = None

    def stop(self) -> int:
        """End it the polite way; its exit code."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(120)
        finally:
            self.kill()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process is not None:
            self.stop()

    def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request over a new connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def sign_in(self, client: Registered, scope: str = SCOPE) -> ControlClient:
        """A client with a token of this registered one."""
        status, _headers, answer = self.tokens.ask(client, scope=scope)
        assert status == 200, answer
        return ControlClient(self, str(answer["access_token"]))


@dataclass(frozen=True, slots=True)
class ControlClient:
    """Somebody who calls the control plane with a token."""

    server: ControlProcess
    token: str

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Send a request below `/api/v1`; header names are written with `_` for `-`."""
        data = b"" if body is None else json.dumps(body).encode()
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        fields["Authorization"] = f"Bearer {self.token}"
        if data:
            fields["Content-Type"] = "application/json"
        return self.server.send(method, f"/api/v1{path}", data, fields)

    def do(self, method: str, path: str, body: object = None, status: int = 200) -> Any:
        """Send a request that must be answered so; the body of the answer."""
        answer = self.send(method, path, body)
        assert answer.status == status, (method, path, answer.status, answer.body)
        return answer.json if answer.body else None

    def wait_for(self, path: str, status: str, seconds: float = 120.0) -> Any:
        """The resource once it has this status; fails at `error` or after so many seconds."""
        end = time.monotonic() + seconds
        while True:
            found = self.do("GET", path)
            if found["status"] == status:
                return found
            assert found["status"] != "error", found
            assert time.monotonic() < end, found
            time.sleep(0.05)
