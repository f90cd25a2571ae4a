"""The family «postgres»: everything on one server that syncs each commit."""

from __future__ import annotations

from pathlib import Path

from benchmarks.postgres import imports, writes
from benchmarks.postgres.server import serve_durably
from benchmarks.report import Report


def measure(report: Report, folder: Path, twins: int, *, quick: bool) -> None:
    """Writes over HTTP, and imports of `twins` twins from a file that is kept in `folder`."""
    with serve_durably() as server:
        writes.measure(report, server, quick=quick)
        imports.measure(report, server, folder, 20_000 if quick else twins)
