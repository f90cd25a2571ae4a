"""The stored progress of an import, its refused lines and its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from twinframe.errors import ErrorDetail, TwinframeError
from twinframe.graph.transfer.sections import Section
from twinframe.model.clock import Clock, render_update_time

_MOST_DETAILS: Final = 10
"""The most bytes of one line in the log; there may be thousands of lines."""


MOST_FIRST: Final = 100
"""The most ids of twins that are kept of an import, for a look at what came in."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A refused line. `item` is the id it is about, empty when it has none.

    `path` is where it stands in a file that is one JSON document and has no such lines.
    """

    line: int
    section: Section
    item: str
    code: str
    message: str
    details: tuple[ErrorDetail, ...] = ()
    path: str = ""

    @property
    def position(self) -> str:
        """Where it stands, for people."""
        return self.path or f"line {self.line}"

    def render(self) -> dict[str, Any]:
        """Render its form in logs."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            error["details"] = [
                {"code": detail.code, "message": detail.message}
                for detail in self.details[:_MOST_DETAILS]
            ]
        where: dict[str, Any] = {"path": self.path} if self.path else {"line": self.line}
        found = {"section": self.section.value, **where, "error": error}
        return {**found, "id": self.item} if self.item else found


def build_finding(line: int, section: Section, item: str, error: TwinframeError) -> Finding:
    """Build the finding of a refused line."""
    return Finding(line, section, item, error.code, error.message, error.details)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress: all lines up to `line` are done, with these numbers of each kind stored.

    `skipped`: models that existed already, with the same document. `replaced`: twins that did, of
    `twins`; `first`: the ids of the first of these. `changes`: those of the history.
    """

    line: int = 0
    section: Section | None = None
    models: int = 0
    skipped: int = 0
    twins: int = 0
    relationships: int = 0
    points: int = 0
    errors: int = 0
    changes: int = 0
    # NOTE: a write that is repeated finds its own twins, so this tells nothing apart.
    replaced: int = field(default=0, compare=False)
    first: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many twins, relationships and changes were stored."""
        return self.twins + self.relationships + self.changes

    def advance(self, line: int, section: Section, findings: Sequence[Finding]) -> Progress:
        """Return the progress after another chunk, whose counts are still to be added."""
        return replace(self, line=line, section=section, errors=self.errors + len(findings))

    def render(self) -> dict[str, Any]:
        """Render its stored form."""
        return {
            "line": self.line,
            "section": self.section.value if self.section else None,
            "models": self.models,
            "skipped": self.skipped,
            "twins": self.twins,
            "relationships": self.relationships,
            "points": self.points,
            "errors": self.errors,
            "changes": self.changes,
            "replaced": self.replaced,
            "first": list(self.first),
        }


BEGIN: Final = Progress()


def load_progress(stored: Mapping[str, Any]) -> Progress:
    """Load the progress that `Progress.render` gave."""
    section = stored["section"]
    first = tuple(stored.get("first", ()))
    return Progress(**{**stored, "section": Section(section) if section else None, "first": first})


_INFO: Final = "Info"
_ERROR: Final = "Error"


class ImportLog:
    """Renders lines of the log of one import as NDJSON; each ends with a line feed.

    SPEC: `timestamp`, `jobId`, `jobType`, `logType`, `details`. The vendor does not publish the
    details of a refused line: here they are its section, line, id and error.
    """

    def __init__(self, job_id: str, clock: Clock) -> None:
        self._job_id = job_id
        self._clock = clock

    def render_status(self, status: str, section: Section | None = None, **more: Any) -> bytes:
        """Render a status of the import, or of a section of it."""
        part = {"section": section.value} if section else {}
        return self._render(_INFO, {**part, "status": status, **more})

    def render_finding(self, finding: Finding) -> bytes:
        """Render a refused line."""
        return self._render(_ERROR, finding.render())

    def render_failure(self, code: str, message: str, details: list[dict[str, str]]) -> bytes:
        """Render the failure of the import."""
        error: dict[str, Any] = {"code": code, "message": message}
        if details:
            error["details"] = details
        return self._render(_ERROR, {"status": "Failed", "error": error})

    def _render(self, kind: str, details: Mapping[str, Any]) -> bytes:
        line = {
            "timestamp": render_update_time(self._clock()),
            "jobId": self._job_id,
            "jobType": "Import",
            "logType": kind,
            "details": details,
        }
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
