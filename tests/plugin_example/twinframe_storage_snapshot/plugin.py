"""A small storage plugin: the graph in memory, and a snapshot file written with every commit."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import Field

from twinframe import hookimpl
from twinframe.runtime.files import write_durably
from twinframe.settings import Section
from twinframe.storage.base import (
    GraphStore,
    GraphTransaction,
    Instance,
    ModelRecord,
    Outcome,
    RelationshipRecord,
    TwinRecord,
    WriteFunction,
)
from twinframe.storage.memory import MemoryGraph, MemoryStore


class SnapshotSettings(Section):
    """Where the snapshots lie."""

    directory: str = Field("var", description="Folder of the snapshot files.")


GRAPHS: dict[Path, MemoryGraph] = {}  # stores of one process on one file share their graph
TURN = threading.Lock()  # and take turns at writing it


class SnapshotStore(MemoryStore):
    """Writes the whole file at each commit; meant for small graphs and one worker."""

    def __init__(self, file: Path) -> None:
        self._file = file
        super().__init__(GRAPHS.setdefault(file.resolve(), MemoryGraph()))

    def open(self) -> None:
        """Read the snapshot, unless another store of this process has read it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        if self._file.exists() and not self.session().read_schema_version():
            content = orjson.loads(self._file.read_bytes())
            identity = content["instance"]
            self._graph.instance = Instance(identity["id"], bytes.fromhex(identity["secret"]))
            super().write([lambda transaction: load(transaction, content)])

    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the write functions, then put the snapshot in place before anybody is told."""
        with TURN:
            outcomes = super().write(functions)
            write_durably(self._file, orjson.dumps(dump(self)))
        return outcomes

    def remove(self, timeout: float) -> None:
        """Remove the snapshot, and what was read of it."""
        with TURN:
            self._file.unlink(missing_ok=True)
            super().remove(timeout)


def dump(store: GraphStore) -> dict[str, Any]:
    """The whole graph as JSON: its identity, models by upload, twins, relationships."""
    session = store.session()
    instance = session.read_instance()
    return {
        "instance": {"id": instance.id, "secret": instance.secret.hex()},
        "models": [
            {
                "document": record.document.decode(),
                "display_name": record.display_name.decode(),
                "description": record.description.decode(),
                "model_id": record.model_id,
                "extends": record.extends,
                "components": record.components,
                "upload_time": record.upload_time,
                "decommissioned": record.decommissioned,
            }
            for record in session.read_models(after=0, limit=1_000_000)
        ],
        "twins": [dict(node.document) for node in session.scan_nodes(None)],
        "relationships": [dict(found.document) for found in session.scan_relationships(())],
    }


def load(transaction: GraphTransaction, content: dict[str, Any]) -> None:
    """Write what `dump` gave into an empty graph."""
    transaction.put_models([
        ModelRecord(
            model_id=model["model_id"],
            document=model["document"].encode(),
            display_name=model["display_name"].encode(),
            description=model["description"].encode(),
            extends=tuple(model["extends"]),
            components=tuple(model["components"]),
            upload_time=model["upload_time"],
            decommissioned=model["decommissioned"],
        )
        for model in content["models"]
    ])  # fmt: skip
    for twin in content["twins"]:
        transaction.put_twin(TwinRecord(
            twin["$dtId"], twin["$metadata"]["$model"], twin["$etag"], orjson.dumps(twin)
        ))  # fmt: skip
    for edge in content["relationships"]:
        transaction.put_relationship(RelationshipRecord(
            edge["$sourceId"], edge["$relationshipId"], edge["$relationshipName"],
            edge["$targetId"], edge["$etag"], orjson.dumps(edge),
        ))  # fmt: skip


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys under `Storage__Snapshot__...`."""
    return SnapshotSettings


@hookimpl
def twinframe_graph_store(settings: SnapshotSettings, graph: str) -> GraphStore:
    """The store of one graph; the service opens it in each worker."""
    return SnapshotStore(Path(settings.directory) / f"{graph}.json")
