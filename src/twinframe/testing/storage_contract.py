"""The contract of graph stores, as tests to inherit.

A driver's test file has a class `TestMyStore(GraphStoreContract)` with a method `make_store(self,
place: Path) -> GraphStore`, such as `return MyStore(place / "graph")`.
"""

from __future__ import annotations

from twinframe.testing.contracts.bulk import BulkContract
from twinframe.testing.contracts.entries import EntryContract
from twinframe.testing.contracts.history import HistoryContract
from twinframe.testing.contracts.models import ModelContract
from twinframe.testing.contracts.outbox import OutboxContract
from twinframe.testing.contracts.reader import ReaderContract
from twinframe.testing.contracts.relationships import RelationshipContract
from twinframe.testing.contracts.removal import RemovalContract
from twinframe.testing.contracts.twins import TwinContract
from twinframe.testing.contracts.writes import WriteContract


class GraphStoreContract(
    TwinContract,
    RelationshipContract,
    ModelContract,
    WriteContract,
    EntryContract,
    OutboxContract,
    HistoryContract,
    BulkContract,
    ReaderContract,
    RemovalContract,
):
    """All parts together; `make_store` is what a driver supplies."""
