"""Jobs as a kind of background work, which runs the oldest unfinished one."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from twinframe.errors import StorageError, TwinframeError
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.transfer.jobs.deletions import DeletionRun
from twinframe.graph.transfer.jobs.imports import ImportRun
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


class JobRunner:
    """Imports and deletions, one at a time, by any worker."""

    name = JOB_LEASE

    def __init__(self, context: GraphContext, locations: JobLocations) -> None:
        self._context = context
        self._locations = locations

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """Return the oldest unfinished job. SPEC: the vendor runs one job of a graph at a time."""
        return list_pending(session, 1)

    async def run(self, key: str, lease: Lease) -> None:
        """Run the job to its end. An unforeseen error ends it too: it would block all others."""
        kind, job_id = parse_pending_key(key)
        run: ImportRun | DeletionRun = DeletionRun(self._context, job_id, lease)
        if kind == ImportJob.__name__:
            run = ImportRun(self._context, self._locations, job_id, lease)
        try:
            await run.run()
        except (LeaseLost, StorageError):
            raise
        except Exception:  # noqa: BLE001  (the job runner survives whatever a job does)
            _log.exception("The job %s failed.", job_id)
            await run.fail(_UNFORESEEN)
