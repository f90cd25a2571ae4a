"""Periodic upkeep of hosted graphs, by one process of all: backups and deletion of old data."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from twinframe.control.hosting.backups import is_due, make_backup, prune_backups
from twinframe.control.hosting.catalog import Catalog, CatalogEntry
from twinframe.control.hosting.databases import tidy_moves
from twinframe.control.hosting.journal import prune_journal
from twinframe.errors import ConfigurationError, TwinframeError
from twinframe.hooks.installation import Installation
from twinframe.runtime.locks import try_acquire_lock

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 60.0
_NICE: Final = 10


class HostedUpkeep:
    """Maintains all graphs of the catalog, unless another process of the machine already does.

    It runs in a thread of its own with the lowest priority.
    """

    def __init__(self, installation: Installation, catalog: Catalog) -> None:
        self._installation = installation
        self._catalog = catalog
        self._settings = installation.settings.hosting
        self._lock: int | None = None
        self._task: asyncio.Task[None] | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._ending = threading.Event()

    async def start(self) -> None:
        """Start."""
        self._threads = ThreadPoolExecutor(1, "twinframe-upkeep", initializer=_step_down)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop, after a backup in progress."""
        self._ending.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._threads is not None:
            await asyncio.to_thread(self._threads.shutdown)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        pause = min(_LOOK_SECONDS, self._settings.backup_interval / 4)
        while True:
            try:
                await loop.run_in_executor(self._threads, self.look_after_all)
            except (TwinframeError, OSError) as error:
                _log.warning("Upkeep of the hosted graphs failed: %s", error)
            await asyncio.sleep(pause)

    def look_after_all(self) -> None:
        """Do the work that is due, if this process is the one to do it."""
        if not self._is_chosen():
            return
        self._catalog.tidy()
        tidy_moves(self._installation, self._catalog)
        for entry in self._catalog.list_served():
            if self._ending.is_set():
                return
            try:
                self._look_after(entry)
            except (TwinframeError, OSError) as error:
                _log.warning("Upkeep of the graph %s failed: %s", entry.resource_id, error)

    def _look_after(self, entry: CatalogEntry) -> None:
        directory = self._catalog.build_directory(entry.resource_id, entry.incarnation)
        days = entry.settings.backup_retention_days
        if is_due(directory, days, self._settings.backup_interval):
            try:
                made = make_backup(
                    self._installation,
                    self._catalog,
                    entry,
                    history=self._settings.backup_history,
                )
                _log.info("The graph %s is backed up in %s.", entry.resource_id, made)
            except ConfigurationError as error:  # a storage without backups: reported once a round
                _log.warning("%s", error.message)
        prune_backups(directory, days)
        settings = self._settings
        prune_journal(directory, settings.audit_retention_days, settings.statistics_retention_days)

    def _is_chosen(self) -> bool:
        if self._lock is None:
            self._lock = try_acquire_lock(Path(self._settings.directory) / "upkeep.lock")
        return self._lock is not None


def _step_down() -> None:
    if sys.platform == "linux":  # elsewhere priorities are of processes only
        present = os.getpriority(os.PRIO_PROCESS, 0)
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(present + _NICE, 19))
