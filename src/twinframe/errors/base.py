"""The root of the error tree and its first branches, and the errors of stores.

Messages of stores may name files and servers and are for the operator: clients get `told` instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final


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


_PLACE: Final = re.compile(r"[/\\]")
"""Characters by which a message may name a file, a folder or an address."""


class StorageError(TwinframeError):
    """The store could not do its work. Drivers translate engine errors into these.

    `told` is the message for clients, in place of one that names a file or a server.
    """

    code = "StorageError"
    told: ClassVar[str] = "The store could not do this. The log of the service says why."

    @property
    def public(self) -> str:
        """SEC: messages of engines and drivers name files and servers, which clients must not
        see.
        """
        return self.told if _PLACE.search(self.message) else self.message


class StorageBusy(StorageError):
    """The store was busy for longer than the wait limit; nothing was done; try again."""

    code = "StorageBusy"
    told = "The store is in use and did not come free in time; try again."


class StorageMoved(StorageBusy):
    """The graph was moved to another database during a read or write, which runs again there."""

    told = "The graph was moved to another database meanwhile; try again."


class StorageUnanswered(StorageError):
    """A remote store did not answer a write, which may or may not take effect: read before
    repeating it.
    """

    code = "StorageUnanswered"
    told = "The store gave no answer to the write, which may be made, now or yet: read first."


class StorageFull(StorageError):
    """There is no disk space for the write; nothing was changed; reads still work."""

    code = "InsufficientStorage"
    told = "No space is left in the store; nothing was changed, reads go on."


class StorageDamaged(StorageError):
    """The stored data failed a check; writes are refused until the data are restored."""

    code = "StorageDamaged"
    told = "What is stored is damaged. The log of the service says where, and what to do."


class InputError(TwinframeError):
    """The request itself is wrong; repeating it unchanged cannot succeed."""

    code = "InvalidArgument"


class NotFound(TwinframeError):
    """The object or address that the request names does not exist."""

    code = "NotFound"


class Conflict(TwinframeError):
    """The request is well formed, but the present state does not allow it."""

    code = "Conflict"
