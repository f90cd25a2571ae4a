"""The records of the catalog of many nodes, and what a server keeps of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from twinframe.control.hosting.catalog import CatalogEntry, parse_entry
from twinframe.errors import StorageDamaged
from twinframe.storage.control import Record, RecordKind

GRAPH: Final = RecordKind("hosted_graph")
ADDRESS: Final = RecordKind("hosted_address", ("gone",))
USE: Final = RecordKind("hosted_use", ("graph", "process"))
PROCESS: Final = RecordKind("hosted_process")
STATISTICS: Final = RecordKind("hosted_statistics", ("graph",))
COUNT: Final = RecordKind("hosted_count", ("graph",))
MOVE: Final = RecordKind("hosted_move", ("graph",))
KINDS: Final = (GRAPH, ADDRESS, USE, PROCESS, STATISTICS, COUNT, MOVE)
OF_GRAPHS: Final = (USE, STATISTICS, COUNT)
"""Those that go with their graph."""


class CatalogView:
    """What is served, as of `version`; the objects of unchanged entries stay the same."""

    def __init__(
        self,
        version: int = 0,
        entries: Mapping[str, CatalogEntry] | None = None,
        damaged: Mapping[str, StorageDamaged] | None = None,
    ) -> None:
        self.version = version
        self.entries = entries or {}
        self.damaged = damaged or {}

    def find(self, resource_id: str) -> CatalogEntry | None:
        """Find an entry. Raises `StorageDamaged` for a damaged one."""
        error = self.damaged.get(resource_id)
        if error is not None:
            raise StorageDamaged(error.message)
        return self.entries.get(resource_id)

    def take(self, records: Iterable[Record], known: CatalogView) -> CatalogView:
        """Return the view after these changes; entries equal to known ones are those objects."""
        entries, damaged, version = dict(self.entries), dict(self.damaged), self.version
        for record in records:
            version = max(version, record.version)
            entries.pop(record.id, None)
            damaged.pop(record.id, None)
            try:
                entry = parse_address(record)
            except StorageDamaged as error:
                damaged[record.id] = error
                continue
            if entry is not None:
                former = known.entries.get(record.id)
                entries[record.id] = entry if former is None or former != entry else former
        return CatalogView(version, entries, damaged)


def parse_address(record: Record | None) -> CatalogEntry | None:
    """Parse the entry of an address; None where nothing is served."""
    if record is None or record.keys["gone"] is not None:
        return None
    return parse_entry(record.body, f"of the address {record.id}")
