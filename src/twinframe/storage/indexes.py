"""Indexes on properties: optional abilities of stores besides the storage interface."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from twinframe.errors import InvalidArgument
from twinframe.storage.base import GraphSession, GraphStore, WriteFunction

_NAME: Final = r"[A-Za-z][A-Za-z0-9_]{0,511}"
PropertyName = Annotated[str, Field(pattern=rf"^{_NAME}$")]
"""The name of a property that a setting says to index."""


def check_property(name: str) -> None:
    """Raise `InvalidArgument` unless `name` can be the name of a property."""
    # SEC: the name becomes SQL text.
    if not re.fullmatch(_NAME, name, re.ASCII):
        raise InvalidArgument(
            f"{name!r} is no name of a property: letters, digits and _, a letter first. "
            "Members of components and maps cannot be indexed."
        )


class IndexOrigin(StrEnum):
    """Why there is an index, or `WANTED`, where there is none."""

    DECLARED = "declared"
    COMMAND = "command"
    AUTOMATIC = "automatic"
    WANTED = "wanted"


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What is known about the index of a property, or about one that queries asked for.

    `used` counts runs of queries that used it, `asked` those that would have, `uses` are what for.
    Either is None where no such runs are counted. `entities` is `twins` or
    `relationships`; `size` is in bytes; `seconds` is how long making it took; `hindrance` says why
    a wanted index is not made.
    """

    name: str
    entities: str
    origin: IndexOrigin
    used: int | None = None
    asked: int | None = None
    uses: tuple[str, ...] = ()
    last: datetime | None = None
    size: int = 0
    seconds: float | None = None
    hindrance: str = ""


class PropertyIndexes(ABC):
    """The ability to index properties. Calls may block; queries continue meanwhile."""

    @abstractmethod
    def list_indexes(self) -> Sequence[str]:
        """The indexed properties of twins, in alphabetical order."""

    @abstractmethod
    def report_indexes(self) -> Sequence[IndexReport]:
        """Report all indexes of properties, then those that queries asked for."""

    @abstractmethod
    def create_index(self, name: str) -> bool:
        """Index the property `name` of all twins; return False when it was indexed already.

        Writes may wait until it is made. An impossible property name raises `InvalidArgument`.
        """

    @abstractmethod
    def drop_index(self, name: str) -> None:
        """Drop the index of the property `name`; `InvalidArgument` when there is none."""


class IndexUpkeep(ABC):
    """The ability to make and drop indexes by itself, as queries ask for them."""

    @abstractmethod
    def is_index_upkeep_due(self, session: GraphSession) -> bool:
        """Return whether `plan_index_upkeep` should be called now: point reads at most."""

    @abstractmethod
    def plan_index_upkeep(self, session: GraphSession) -> Sequence[WriteFunction[None]]:
        """Return the writes that bring the indexes in line with the queries, in their order.

        Each is one transaction. One that is lost is planned again when it is still needed.
        """


def find_index_upkeep(store: GraphStore) -> IndexUpkeep | None:
    """Return the store itself if it has the ability."""
    return store if isinstance(store, IndexUpkeep) else None
