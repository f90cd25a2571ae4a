"""The finding of a check: its severity, message and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from twinframe.errors.masking import mask_secrets


class Severity(StrEnum):
    """The severity of a finding."""

    ERROR = "error"
    """The service does not start, or will fail or lose data in use."""
    WARNING = "warning"
    """The service works, but an operator should know of the problem."""
    FINE = "fine"
    """The item was checked and is fine."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`check` names the check (`disk space`), `message` its result, `fix` the remedy.

    `fix` is empty where nothing is to be done, or where the message itself says it.
    """

    check: str
    severity: Severity
    message: str
    fix: str = ""

    def __post_init__(self) -> None:
        # SEC: findings quote settings, which include addresses with passwords.
        object.__setattr__(self, "message", mask_secrets(self.message))
        object.__setattr__(self, "fix", mask_secrets(self.fix))


def build_error(check: str, message: str, fix: str = "") -> Finding:
    """A finding that must be mended."""
    return Finding(check, Severity.ERROR, message, fix)


def build_warning(check: str, message: str, fix: str = "") -> Finding:
    """Build a finding that an operator should know of."""
    return Finding(check, Severity.WARNING, message, fix)


def build_fine(check: str, message: str) -> Finding:
    """Build a finding that everything is fine."""
    return Finding(check, Severity.FINE, message)
