"""Jobs as a kind of background work, which runs the oldest unfinished one."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias

from twinframe.errors import StorageError, TwinframeError
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.series.runner import PointRunner
from twinframe.graph.transfer.jobs.deletions import DeletionRun
from twinframe.graph.transfer.jobs.imports import HandedOver, ImportRun
from twinframe.graph.transfer.jobs.records import (
    JOB_LEASE,
    ImportJob,
    JobError,
    list_pending,
    parse_pending_key,
)
from twinframe.graph.transfer.locations.locations import JobLocations
from twinframe.runtime.leases import LeaseLost
from twinframe.storage.base import GraphSession

_log = logging.getLogger(__name__)

_UNFORESEEN: Final = JobError(
    TwinframeError.code, "The job ended with an internal error; the log of the service names it."
)


RunApart: TypeAlias = Callable[[str, Lease], Awaitable[None]]
"""Runs a job in a process of its own, as `JobRunner.run` does.

Raises `StorageError` when the process ends before the job, and `OSError` when it cannot start.
"""
_ROWS_HERE: Final = 10_000
"""Rows of an import after which it is long. PERF: a process takes a second to start."""


class JobRunner:
    """Imports and deletions, one at a time, by any worker.

    Long imports are continued by `run_apart`, if it is given. PERF: in the worker itself, the
    threads of an import wait for the interpreter lock with the event loop and the other writes: the
    99th percentile of requests beside it was five times that without an import.
    """

    name = JOB_LEASE

    def __init__(
        self,
        context: GraphContext,
        locations: JobLocations,
        run_apart: RunApart | None = None,
        points: PointRunner | None = None,
    ) -> None:
        self._points = points
        self._context = context
        self._locations = locations
        self._run_apart = run_apart

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """Return the oldest unfinished job. SPEC: the vendor runs one job of a graph at a time."""
        return list_pending(session, 1)

    async def run(self, key: str, lease: Lease) -> None:
        """Run the job to its end. An unforeseen error ends it too: it would block all others."""
        kind, job_id = parse_pending_key(key)
        run: ImportRun | DeletionRun = DeletionRun(self._context, job_id, lease)
        if kind == ImportJob.__name__:
            most = None if self._run_apart is None else _ROWS_HERE
            run = ImportRun(self._context, self._locations, job_id, lease, most, self._points)
        try:
            await run.run()
        except HandedOver:
            await self._continue_apart(key, lease)
        except (LeaseLost, StorageError):
            raise
        except Exception:  # noqa: BLE001  (the job runner survives whatever a job does)
            _log.exception("The job %s failed.", job_id)
            await run.fail(_UNFORESEEN)

    async def _continue_apart(self, key: str, lease: Lease) -> None:
        assert self._run_apart is not None  # noqa: S101  # only then imports are handed over
        try:
            await self._run_apart(key, lease)
        except OSError as error:
            _log.warning("No process for the job %s could be started: %s", key, error)
            await JobRunner(self._context, self._locations).run(key, lease)
