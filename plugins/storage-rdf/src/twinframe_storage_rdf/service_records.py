"""Entries and outbox of a graph on triples: there are none yet. It keeps nothing."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe.errors import StorageError
from twinframe.storage.base import GraphSession, GraphTransaction, Listed, OutboxEvent

_MISSING = "This storage keeps no entries and no events of the service yet."


class ServiceReads(GraphSession):
    """Reads of what cannot be written: nothing is there."""

    def read_entry(self, kind: str, key: str) -> bytes | None:
        """None."""
        return None

    def read_entries(self, kind: str, *, after: str | None, limit: int) -> Sequence[Listed[bytes]]:
        """None."""
        return ()

    def read_events(self, *, after: int, limit: int) -> Sequence[tuple[int, OutboxEvent]]:
        """None."""
        return ()

    def read_event_bounds(self) -> tuple[int, int]:
        """There never was one."""
        return 0, 0


class ServiceWrites(GraphTransaction):
    """Refuses what it could not keep."""

    def put_entry(self, kind: str, key: str, body: bytes) -> None:
        """Refused."""
        raise StorageError(_MISSING)

    def delete_entry(self, kind: str, key: str) -> bool:
        """There is none."""
        return False

    def append_events(self, events: Sequence[OutboxEvent]) -> None:
        """Refused, unless there are none."""
        if events:
            raise StorageError(_MISSING)

    def delete_events(self, *, up_to: int, limit: int) -> int:
        """There are none."""
        return 0
