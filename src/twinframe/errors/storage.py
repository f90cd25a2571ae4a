"""Errors of the store, whose messages may name files and servers and are for the operator.

Clients get `told` instead.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

from twinframe.errors.base import TwinframeError

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
