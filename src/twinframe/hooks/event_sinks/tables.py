"""The tables of data history, and the interface of sinks that store events as rows of them.

SPEC: the vendor's data history: names and order of the columns of its three tables in Azure Data
Explorer, of property events with the removals recorded.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from twinframe.hooks.event_sinks.base import Sink


class ColumnKind(enum.Enum):
    """What the texts of a column are: `TIME` is RFC 3339, `JSON` a JSON value."""

    TEXT = "text"
    TIME = "time"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name, and its columns in their order."""

    name: str
    columns: tuple[tuple[str, ColumnKind], ...]


class TableRow(NamedTuple):
    """One row: a text, or None, for each column of the table."""

    table: Table
    values: tuple[str | None, ...]

    @property
    def time(self) -> str:
        """When the change was stored, in UTC."""
        found = self.values[self.table.columns.index(TIME_STAMP)]
        assert found is not None  # noqa: S101  (for the type: this column is never empty)
        return found

    @property
    def size(self) -> int:
        """The characters of its texts."""
        return sum(len(value) for value in self.values if value is not None)


TIME_STAMP: Final = ("TimeStamp", ColumnKind.TIME)
_SERVICE: Final = ("ServiceId", ColumnKind.TEXT)
_ACTION: Final = ("Action", ColumnKind.TEXT)
_MODEL: Final = ("ModelId", ColumnKind.TEXT)
_RELATIONSHIP: Final = ("RelationshipId", ColumnKind.TEXT)

PROPERTY_EVENTS: Final = Table(
    "AdtPropertyEvents",
    (
        TIME_STAMP,
        ("SourceTimeStamp", ColumnKind.TIME),
        _SERVICE,
        ("Id", ColumnKind.TEXT),
        _MODEL,
        ("Key", ColumnKind.TEXT),
        ("Value", ColumnKind.JSON),
        ("RelationshipTarget", ColumnKind.TEXT),
        _RELATIONSHIP,
        _ACTION,
    ),
)
TWIN_EVENTS: Final = Table(
    "AdtTwinLifeCycleEvents",
    (("TwinId", ColumnKind.TEXT), _ACTION, TIME_STAMP, _SERVICE, _MODEL),
)
RELATIONSHIP_EVENTS: Final = Table(
    "AdtRelationshipLifeCycleEvents",
    (
        _RELATIONSHIP,
        ("Name", ColumnKind.TEXT),
        _ACTION,
        TIME_STAMP,
        _SERVICE,
        ("Source", ColumnKind.TEXT),
        ("Target", ColumnKind.TEXT),
    ),
)
TABLES: Final = (PROPERTY_EVENTS, TWIN_EVENTS, RELATIONSHIP_EVENTS)


class TableSink(Sink):
    """An endpoint that stores rows of the tables, many at a time.

    It gets at most about `rows` rows in one call, and waits for them for at most `seconds`.
    """

    rows: int
    seconds: float

    @abstractmethod
    async def write(self, name: str, rows: Sequence[TableRow]) -> None:
        """Return once the rows are stored for good under this name.

        Rows under a name that was written before are the same again, as after a crash: they take
        the place of the former ones. Another name is never the same. A reader sees rows as a whole
        or not. Raises `DeliveryFailed`; the call is then made again with the same rows.
        """
