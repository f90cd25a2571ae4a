"""Loads the sample with its day into an empty graph, as an import with history by a job."""

from __future__ import annotations

import gzip
import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

import httpx2
from rich.console import Console
from rich.progress import Progress

from twinframe.demo.building import build_campus
from twinframe.demo.past import render_past, render_points
from twinframe.demo.tour import ClientCredential

JOB: Final = "sample-campus"
"""The id of the upload and of the job that reads it."""
_UPLOAD: Final = f"/jobs/uploads/{JOB}"
_IMPORT: Final = f"/jobs/imports/{JOB}"
_ENDED: Final = frozenset({"succeeded", "failed", "cancelled"})
_POLL_SECONDS: Final = 0.2
_MOST_POINTS: Final = 5000
"""Points of a request; a service takes 10,000 by default."""
_BEHIND: Final = timedelta(seconds=5)
"""The day ends so long ago: a change in the future is refused."""
_FAST: Final = 1
"""The level of gzip."""


def open_wire(url: str, credential: ClientCredential | None) -> httpx2.Client:
    """Return a client of the service at an address, with one token if there is a credential."""
    headers = {}
    if credential is not None:
        headers["Authorization"] = f"Bearer {credential.get_token().token}"
    return httpx2.Client(base_url=url, headers=headers, timeout=60, trust_env=False)


def load_past(wire: httpx2.Client, console: Console) -> bool:
    """Load the sample with its day; return whether the graph is whole then.

    A graph that is not empty, and one that keeps no history, take none: False, and nothing is
    stored.
    """
    now = datetime.now(UTC) - _BEHIND
    with Progress(console=console) as progress:
        task = progress.add_task("The sample and its day")
        answer = wire.get(_IMPORT)
        if answer.status_code == httpx2.codes.NOT_FOUND:
            answer = _begin(wire, now)
        while answer.is_success and (job := answer.json())["status"] not in _ENDED:
            if job["totalBytes"]:
                progress.update(task, total=job["totalBytes"], completed=job["bytesRead"])
            time.sleep(_POLL_SECONDS)
            answer = wire.get(_IMPORT)
        if not answer.is_success or job["status"] != "succeeded":
            return False
        progress.update(task, total=1, completed=1)
    _send_points(wire, now)
    return True


def _begin(wire: httpx2.Client, now: datetime) -> httpx2.Response:
    """Upload the file and start the job; return the last answer, of the job if all went well."""
    content = gzip.compress(b"".join(render_past(build_campus(), now)), _FAST)
    document = {"name": f"{JOB}.ndjson.gz", "bytes": len(content)}
    answer = wire.put(_UPLOAD, json=document)
    if not answer.is_success:
        return answer
    size = answer.json()["pieceBytes"]
    for number, at in enumerate(range(0, len(content), size)):
        headers = {"Content-Type": "application/octet-stream"}
        piece = content[at : at + size]
        answer = wire.put(f"{_UPLOAD}/pieces/{number}", content=piece, headers=headers)
        if not answer.is_success:
            return answer
    return wire.put(_IMPORT, json={"inputBlobUri": f"upload:{JOB}"})


def _send_points(wire: httpx2.Client, now: datetime) -> None:
    """Send the telemetry of the day. A service that keeps none refuses it, which is no fault."""
    lines = render_points(build_campus(), now)
    headers = {"Content-Type": "application/x-ndjson"}
    while some := b"".join(islice(lines, _MOST_POINTS)):
        answer = wire.post("/telemetry", content=some, headers=headers)
        if not answer.is_success or not answer.json()["pointCount"]:
            return
