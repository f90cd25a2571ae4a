"""The stored progress of an import and its refused lines, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from twinframe.errors import ErrorDetail, TwinframeError
from twinframe.graph.transfer.sections import Section

_MOST_DETAILS: Final = 10
"""The most bytes of one line in the log; there may be thousands of lines."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A refused line. `item` is the id it is about, empty when it has none."""

    line: int
    section: Section
    item: str
    code: str
    message: str
    details: tuple[ErrorDetail, ...] = ()

    def render(self) -> dict[str, Any]:
        """Render its form in logs."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            error["details"] = [
                {"code": detail.code, "message": detail.message}
                for detail in self.details[:_MOST_DETAILS]
            ]
        found = {"section": self.section.value, "line": self.line, "error": error}
        return {**found, "id": self.item} if self.item else found


def build_finding(line: int, section: Section, item: str, error: TwinframeError) -> Finding:
    """Build the finding of a refused line."""
    return Finding(line, section, item, error.code, error.message, error.details)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress: all lines up to `line` are done, with these numbers of each kind stored.

    `skipped`: models that existed already, with the same document.
    """

    line: int = 0
    section: Section | None = None
    models: int = 0
    skipped: int = 0
    twins: int = 0
    relationships: int = 0
    errors: int = 0

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
            "errors": self.errors,
        }


BEGIN: Final = Progress()


def load_progress(stored: Mapping[str, Any]) -> Progress:
    """Load the progress that `Progress.render` gave."""
    section = stored["section"]
    return Progress(**{**stored, "section": Section(section) if section else None})
