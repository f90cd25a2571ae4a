"""Renders the log of an import as NDJSON, in the vendor's form.

SPEC: `timestamp`, `jobId`, `jobType`, `logType`, `details`. The vendor does not publish the details
of a refused line: here they are its section, line, id and error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from twinframe.graph.transfer.progress import Finding
from twinframe.graph.transfer.sections import Section
from twinframe.model.clock import Clock, render_update_time

INFO: Final = "Info"
ERROR: Final = "Error"


class ImportLog:
    """Renders lines of the log of one import; each ends with a line feed."""

    def __init__(self, job_id: str, clock: Clock) -> None:
        self._job_id = job_id
        self._clock = clock

    def render_status(self, status: str, section: Section | None = None, **more: Any) -> bytes:
        """Render a status of the import, or of a section of it."""
        part = {"section": section.value} if section else {}
        return self._render(INFO, {**part, "status": status, **more})

    def render_finding(self, finding: Finding) -> bytes:
        """Render a refused line."""
        return self._render(ERROR, finding.render())

    def render_failure(self, code: str, message: str, details: list[dict[str, str]]) -> bytes:
        """Render the failure of the import."""
        error: dict[str, Any] = {"code": code, "message": message}
        if details:
            error["details"] = details
        return self._render(ERROR, {"status": "Failed", "error": error})

    def _render(self, kind: str, details: Mapping[str, Any]) -> bytes:
        line = {
            "timestamp": render_update_time(self._clock()),
            "jobId": self._job_id,
            "jobType": "Import",
            "logType": kind,
            "details": details,
        }
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
