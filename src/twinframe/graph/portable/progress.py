"""How far an import has come and what it refused: small values that are stored. It does no work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from twinframe.errors import ErrorDetail, TwinframeError
from twinframe.graph.portable.sections import Section

_MOST_DETAILS: Final = 10
"""Of one line, in the log; it may be of thousands of lines."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A line that was refused. `item` is the id it is about, empty when it has none."""

    line: int
    section: Section
    item: str
    code: str
    message: str
    details: tuple[ErrorDetail, ...] = ()

    def render(self) -> dict[str, Any]:
        """As it stands in logs."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            error["details"] = [
                {"code": detail.code, "message": detail.message}
                for detail in self.details[:_MOST_DETAILS]
            ]
        found = {"section": self.section.value, "line": self.line, "error": error}
        return {**found, "id": self.item} if self.item else found


def build_finding(line: int, section: Section, item: str, error: TwinframeError) -> Finding:
    """The finding that says why a line was refused."""
    return Finding(line, section, item, error.code, error.message, error.details)


@dataclass(frozen=True, slots=True)
class Progress:
    """What is done: all lines up to `line`, in which so many of each were stored.

    `skipped`: models that were there already, with the same document.
    """

    line: int = 0
    section: Section | None = None
    models: int = 0
    skipped: int = 0
    twins: int = 0
    relationships: int = 0
    errors: int = 0

    def advance(self, line: int, section: Section, findings: Sequence[Finding]) -> Progress:
        """Behind another chunk, whose counts are still to be added."""
        return replace(self, line=line, section=section, errors=self.errors + len(findings))

    def render(self) -> dict[str, Any]:
        """As it is stored."""
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
    """The progress that `Progress.render` gave."""
    section = stored["section"]
    return Progress(**{**stored, "section": Section(section) if section else None})
