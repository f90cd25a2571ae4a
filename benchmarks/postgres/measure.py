"""The family «postgres»: everything on one server that syncs each commit."""

from __future__ import annotations

from pathlib import Path

from benchmarks.postgres import imports, queries, writes
from benchmarks.postgres.server import serve_durably
from benchmarks.report import Report


def measure(
    report: Report, folder: Path, twins: int, *, part: str = "", quick: bool = False
) -> None:
    """Queries in process, writes over HTTP, and imports of `twins` twins from a file that is kept
    in `folder`.

    With a `part`, only queries of shapes that have it in their names.
    """
    twins = 20_000 if quick else twins
    with serve_durably() as server:
        queries.measure(report, server.url, folder, twins, part=part, quick=quick)
        if not part:
            writes.measure(report, server, quick=quick)
            imports.measure(report, server, folder, twins)
