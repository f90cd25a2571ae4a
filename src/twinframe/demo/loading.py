"""Loads the sample with its day into an empty graph, as an import with history by a job."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from azure.core.credentials import AccessToken
from rich.console import Console
from rich.progress import Progress

from twinframe.demo.building import build_campus
from twinframe.demo.past import render_past, render_points

JOB: Final = "sample-campus"
"""The id of the upload and of the job that reads it."""
_ENDED: Final = frozenset({"succeeded", "failed", "cancelled"})
_POLL_SECONDS: Final = 0.2
_MOST_POINTS: Final = 5000
"""Points of a request; a service takes 10,000 by default."""
_BEHIND: Final = timedelta(seconds=5)
"""The day ends so long ago: a change in the future is refused."""
_FAST: Final = 1
"""The level of gzip."""


class Credential(Protocol):
    """What gets a token."""

    def get_token(self, *scopes: str) -> AccessToken:
        """Return a token for the service."""
        ...


class Wire:
    """The service at an address, for a caller with a credential or without one."""

    def __init__(self, url: str, credential: Credential | None = None) -> None:
        parts = urlsplit(url)
        self._base = parts.path.rstrip("/")
        self._connection = HTTPConnection(parts.netloc, timeout=60)
        self._credential = credential
        self._token: AccessToken | None = None

    def call(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """Send a request; return its status and the document of its answer."""
        headers = {"Content-Type": kind} if body else {}
        if self._credential is not None:
            headers["Authorization"] = f"Bearer {self._find_token(self._credential)}"
        self._connection.request(method, self._base + path, body or None, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else {}

    def _find_token(self, credential: Credential) -> str:
        if self._token is None or self._token.expires_on < time.time() + 30:
            self._token = credential.get_token()
        return self._token.token


def load_past(wire: Wire, console: Console) -> bool:
    """Load the sample with its day; return whether the graph is whole then.

    A graph that is not empty, and one that keeps no history, take none: False, and nothing is
    stored.
    """
    now = datetime.now(UTC) - _BEHIND
    with Progress(console=console) as progress:
        task = progress.add_task("The sample and its day")
        status, job = wire.call("GET", f"/jobs/imports/{JOB}")
        if status == 404:
            status, job = _begin(wire, now)
        while status < 300 and job["status"] not in _ENDED:
            time.sleep(_POLL_SECONDS)
            status, job = wire.call("GET", f"/jobs/imports/{JOB}")
            if status == 200 and job["totalBytes"]:
                progress.update(task, total=job["totalBytes"], completed=job["bytesRead"])
        if status >= 300 or job["status"] != "succeeded":
            return False
        progress.update(task, total=1, completed=1)
    _send_points(wire, now)
    return True


def _begin(wire: Wire, now: datetime) -> tuple[int, dict[str, Any]]:
    """Upload the file and start the job; return the last answer, of the job if all went well."""
    content = gzip.compress(b"".join(render_past(build_campus(), now)), _FAST)
    document = {"name": f"{JOB}.ndjson.gz", "bytes": len(content)}
    status, upload = wire.call("PUT", f"/jobs/uploads/{JOB}", json.dumps(document).encode())
    if status != 200:
        return status, upload
    size = upload["pieceBytes"]
    for number, at in enumerate(range(0, len(content), size)):
        path = f"/jobs/uploads/{JOB}/pieces/{number}"
        status, upload = wire.call("PUT", path, content[at : at + size], "application/octet-stream")
        if status != 200:
            return status, upload
    body = json.dumps({"inputBlobUri": f"upload:{JOB}"}).encode()
    return wire.call("PUT", f"/jobs/imports/{JOB}", body)


def _send_points(wire: Wire, now: datetime) -> None:
    """Send the telemetry of the day. A service that keeps none refuses it, which is no fault."""
    for lines in _batch(render_points(build_campus(), now)):
        status, document = wire.call("POST", "/telemetry", b"".join(lines), "application/x-ndjson")
        if status != 200 or not document["pointCount"]:
            return


def _batch(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    for line in lines:
        some.append(line)
        if len(some) == _MOST_POINTS:
            yield some
            some = []
    if some:
        yield some
