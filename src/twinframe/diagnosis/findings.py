"""What a check found: how bad it is, and what mends it. It looks at nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from twinframe.errors.masking import mask_secrets


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """The service does not start, or will fail or lose data in use."""
    WARNING = "warning"
    """It works, but not as one would wish: an operator should know."""
    FINE = "fine"
    """It was looked at, and nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`check` says what was looked at (`disk space`), `message` what is so, `fix` what mends it.

    `fix` is empty where nothing is to be done, or where the message itself says it.
    """

    check: str
    severity: Severity
    message: str
    fix: str = ""

    def __post_init__(self) -> None:
        # SEC: findings quote settings, addresses with passwords among them.
        object.__setattr__(self, "message", mask_secrets(self.message))
        object.__setattr__(self, "fix", mask_secrets(self.fix))


def build_error(check: str, message: str, fix: str = "") -> Finding:
    """A finding that must be mended."""
    return Finding(check, Severity.ERROR, message, fix)


def build_warning(check: str, message: str, fix: str = "") -> Finding:
    """A finding that an operator should know of."""
    return Finding(check, Severity.WARNING, message, fix)


def build_fine(check: str, message: str) -> Finding:
    """Something that is in order."""
    return Finding(check, Severity.FINE, message)
