"""The root of the error tree, and one finding inside an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class TwinframeError(Exception):
    """Root of the error tree. `code` is stable and part of the public interface; `message` is for
    people.

    `details` are further errors of the same request, in order of discovery.
    """

    code: ClassVar[str] = "InternalError"

    def __init__(self, message: str, *, details: tuple[ErrorDetail, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    @property
    def public(self) -> str:
        """Return the message for clients; `message` itself is also for the operator."""
        return self.message


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One finding inside an error: what is wrong, where, and what would be right.

    `target` is the position as a JSON pointer (RFC 6901) into the twin, the relationship or the
    list of models that was refused, for programs that highlight it; empty if there is none.
    """

    code: str
    message: str
    target: str = ""
