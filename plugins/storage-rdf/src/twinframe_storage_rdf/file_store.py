"""A graph on disk behind a store process: an `RdfStore` with backups."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from twinframe.errors import ConfigurationError, StorageDamaged, StorageError
from twinframe.storage.backups import Backups
from twinframe.storage.epochs import renew_epoch
from twinframe_storage_rdf.copies import (
    install_copy,
    measure_directory,
    read_archive,
    write_archive,
)
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.storeprocess.engine import ProcessEngine


class RdfFileStore(RdfStore, Backups):
    """The graph of these names in a directory of its own."""

    def __init__(self, engine: ProcessEngine, names: GraphNames, place: Path) -> None:
        super().__init__(engine, names, shared=True, place=place)
        self._process = engine

    def back_up(self, target: Path) -> None:
        """Let the process link its files at one moment and archive them; writes continue
        meanwhile.
        """
        snapshot = self._process.files.place / f"backup-{uuid.uuid4().hex}"
        try:
            self._process.back_up(snapshot)
            write_archive(snapshot, target)
        finally:
            shutil.rmtree(snapshot, ignore_errors=True)

    def restore(self, source: Path, timeout: float) -> None:
        """Verify a copy of the backup next to the store, then swap the two."""
        files = self._process.files
        files.place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._process.alone(timeout):
            shutil.rmtree(files.draft, ignore_errors=True)
            try:
                read_archive(source, files.draft)
                self._prepare(files.draft, source)
                install_copy(files.draft, files.store, files.old)
            finally:
                shutil.rmtree(files.draft, ignore_errors=True)
            if self.scratch is not None:
                shutil.rmtree(self.scratch, ignore_errors=True)

    def measure(self) -> int:
        """Return the size of all files of the store."""
        return measure_directory(self._process.files.store)

    def _prepare(self, draft: Path, source: Path) -> None:
        """Begin a new epoch in the draft.

        Raises `StorageDamaged` when it is another graph, or damaged.
        """
        engine = OxigraphEngine(draft)
        store = RdfStore(engine, self.names, shared=False, may_begin=False)
        try:
            store.open()
            faults = store.verify()
            if not faults:
                _renew_epoch(store)
            engine.flush()
        except (ConfigurationError, StorageError) as error:
            raise StorageDamaged(f"{source} is no backup of this graph: {error.message}") from error
        finally:
            store.close()
        if faults:
            raise StorageDamaged(f"{source} is damaged: {'; '.join(faults[:3])}")


def _renew_epoch(store: RdfStore) -> None:
    (outcome,) = store.write([renew_epoch])
    if outcome.error is not None:
        raise outcome.error
