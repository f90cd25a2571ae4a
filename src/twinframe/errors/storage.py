"""Errors of the store. Their messages are the operator's, who may be told where things are."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from twinframe.errors.base import TwinframeError

_PLACE: Final = re.compile(r"[/\\]")
"""What a message that names a file, a folder or an address has in it."""


class StorageError(TwinframeError):
    """The store could not do its work. Drivers translate engine errors into these.

    `told` is what clients are told in place of a message that names a place.
    """

    code = "StorageError"
    told: ClassVar[str] = "The store could not do this. The log of the service says why."

    @property
    def public(self) -> str:
        """SEC: messages of engines and drivers name files and servers; those are no client's."""
        return self.told if _PLACE.search(self.message) else self.message


class StorageBusy(StorageError):
    """The store did not come free within the bounded wait; nothing was done; try again."""

    code = "StorageBusy"
    told = "The store is in use and did not come free in time; try again."


class StorageUnanswered(StorageError):
    """A store elsewhere gave no answer to a write, which may be made, now or yet: read first."""

    code = "StorageUnanswered"
    told = "The store gave no answer to the write, which may be made, now or yet: read first."


class StorageFull(StorageError):
    """No space is left for the write; nothing was changed; reads go on."""

    code = "InsufficientStorage"
    told = "No space is left in the store; nothing was changed, reads go on."


class StorageDamaged(StorageError):
    """The stored data fails its own checks; no further writes are taken until it is restored."""

    code = "StorageDamaged"
    told = "What is stored is damaged. The log of the service says where, and what to do."
