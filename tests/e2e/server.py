"""A real server in a process of its own, for tests from outside; no shortcut into its code."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import trustme

_HELD: deque[socket.socket] = deque()
_MOST_HELD = 256


def free_port() -> int:
    """A loopback port that nobody listens on, and that the system gives nobody else.

    NOTE: it stays bound until 256 more were asked for. A server may bind it by its number with
    SO_REUSEADDR; whoever asks for any port gets another.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _HELD.append(held)
    if len(_HELD) > _MOST_HELD:
        _HELD.popleft().close()
    port: int = held.getsockname()[1]
    return port


@atexit.register
def _release() -> None:
    for held in _HELD:
        held.close()


@dataclass(frozen=True, slots=True)
class Certificates:
    """A certificate authority made for the test run, and a server certificate of it."""

    authority: Path
    chain: Path
    key: Path


def make_certificates(folder: Path) -> Certificates:
    """Write a fresh authority and a certificate for 127.0.0.1 and localhost into `folder`."""
    authority = trustme.CA()
    server = authority.issue_cert("127.0.0.1", "localhost")
    made = Certificates(folder / "ca.pem", folder / "chain.pem", folder / "key.pem")
    authority.cert_pem.write_to_path(str(made.authority))
    server.private_key_pem.write_to_path(str(made.key))
    for index, blob in enumerate(server.cert_chain_pems):
        blob.write_to_path(str(made.chain), append=index > 0)
    return made


@dataclass(slots=True)
class Server:
    """`twinframe serve` on a free port with its data in `folder`; use as a context manager.

    `command` is `serve` or `mcp`; `prefix` is the command that runs it, where there is one.
    """

    folder: Path
    certificates: Certificates | None = None
    workers: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    command: str = "serve"
    prefix: Sequence[str] = ()

    @property
    def url(self) -> str:
        """The origin of the service."""
        return f"{'https' if self.certificates else 'http'}://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Where the server's output goes."""
        return self.folder / "server.log"

    def start(self) -> None:
        """Start the service and wait until it says that it is ready."""
        self.port = self.port or free_port()
        settings = {
            f"{'MCP' if self.command == 'mcp' else 'Server'}__Bind": f"127.0.0.1:{self.port}",
            "Server__Workers": str(self.workers),
            "Storage__Sqlite__Directory": str(self.folder / "data"),
            **self.environment,
        }
        if self.certificates:
            settings["Server__Tls__Certificate"] = str(self.certificates.chain)
            settings["Server__Tls__Key"] = str(self.certificates.key)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", "twinframe", self.command],
                env={**os.environ, **settings},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait_until_ready()

    def wait_until_ready(self, seconds: float = 120.0) -> None:
        """Wait for `/health/ready`; fails with the server's output if it does not come."""
        context = ssl.create_default_context(
            cafile=str(self.certificates.authority) if self.certificates else None
        )
        assert self.process is not None
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(
                    f"{self.url}/health/ready", timeout=2, context=context
                ) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        raise AssertionError(f"the server did not get ready:\n{self.log.read_text()}")

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the whole process group and wait for its end."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
        self.process.wait(120)
        self.process = None

    def stop(self) -> None:
        """End it the polite way."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(120)
        finally:
            self.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
