"""A token server in a process of its own, and the commands that manage it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import jwt
from click.testing import CliRunner, Result

from tests.e2e.server import Certificates, free_port
from tests.waiting import PATIENCE
from twinframe.cli.main import main

AUDIENCE = "twinframe"


@dataclass(frozen=True, slots=True)
class Registered:
    """A client and its secret."""

    client_id: str
    client_secret: str


@dataclass(slots=True)
class TokenProcess:
    """`twinframe auth-server` on a free port with its files in `folder`; a context manager."""

    folder: Path
    certificates: Certificates | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def issuer(self) -> str:
        """What its tokens name as issuer."""
        return f"{'https' if self.certificates else 'http'}://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self.folder / f"auth-{self.port}.log"

    @property
    def settings(self) -> dict[str, str]:
        """Its settings as environment."""
        settings = {
            "TokenServer__Bind": f"127.0.0.1:{self.port}",
            "TokenServer__Directory": str(self.folder / "auth"),
            "TokenServer__Audiences": json.dumps([AUDIENCE]),
            **self.environment,
        }
        if self.certificates:
            settings["TokenServer__Tls__Certificate"] = str(self.certificates.chain)
            settings["TokenServer__Tls__Key"] = str(self.certificates.key)
        return settings

    def run(self, *arguments: str, text: str = "", **environment: str) -> Result:
        """Run a command with its settings, in this process: it shares the server's files alone."""
        env = {**self.settings, **environment}
        return CliRunner().invoke(main, list(arguments), input=text, env=env)

    def add_client(self, name: str, *permissions: str, scope: str = "mcp:tools") -> Registered:
        """Register a client with these permissions."""
        options = [part for name_ in permissions for part in ("--permission", name_)]
        done = self.run("client", "add", name, *options, "--scope", scope, "--json")
        assert done.exit_code == 0, done.stderr
        return Registered(**json.loads(done.stdout))

    def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], Any]:
        """Send a request over a new connection."""
        connection: http.client.HTTPConnection
        if self.certificates:
            context = ssl.create_default_context(cafile=str(self.certificates.authority))
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=120, context=context
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            raw = answer.read()
        finally:
            connection.close()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, json.loads(raw) if raw else None

    def ask(self, client: Registered, **changes: str) -> tuple[int, dict[str, str], Any]:
        """Ask for a token with a form and Basic credentials."""
        pair = f"{client.client_id}:{client.client_secret}".encode()
        form = {"grant_type": "client_credentials", "audience": AUDIENCE, **changes}
        headers = {
            "Authorization": f"Basic {b64encode(pair).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.request("POST", "/oauth/token", urlencode(form).encode(), headers)

    def get_token(self, client: Registered) -> str:
        """A token of the client."""
        status, _headers, answer = self.ask(client)
        assert status == 200, answer
        return str(answer["access_token"])

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token, verified by the keys this server publishes now."""
        _status, _headers, document = self.request("GET", "/.well-known/jwks.json")
        key = jwt.PyJWKSet.from_dict(document)[jwt.get_unverified_header(token)["kid"]]
        claims: dict[str, Any] = jwt.decode(
            token, key.key, algorithms=[key.algorithm_name], audience=AUDIENCE
        )
        return claims

    def start(self) -> Self:
        """Start it and wait until it says that it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "twinframe", "auth-server"],
                env={**os.environ, **self.settings},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._wait_until_ready(self.process)
        except BaseException:
            self.kill()
            raise
        return self

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end and process.poll() is None:
            try:
                if self.request("GET", "/health/ready")[0] == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"the token server did not get ready:\n{self.log.read_text()}")

    def kill(self) -> None:
        """End it without warning, with its worker."""
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
            if self.process.poll() is None:
                self.kill()
            self.process = None

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


def fetch(url: str, ca: Path | None = None, **headers: str) -> int:
    """The status of a GET; header names are written with `_` for `-`."""
    context = ssl.create_default_context(cafile=str(ca)) if ca else None
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=fields), timeout=PATIENCE, context=context
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
