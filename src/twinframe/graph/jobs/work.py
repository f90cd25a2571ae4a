"""Jobs as a kind of background work: the oldest unfinished one runs. It knows no transport."""

from __future__ import annotations

from collections.abc import Iterable

from twinframe.graph.background.leases import Lease
from twinframe.graph.context import GraphContext
from twinframe.graph.jobs.deletion_run import DeletionRun
from twinframe.graph.jobs.documents import ImportJob
from twinframe.graph.jobs.import_run import ImportRun
from twinframe.graph.jobs.places.places import Places
from twinframe.graph.jobs.records import JOB_LEASE, list_pending, parse_pending_key
from twinframe.storage.base import GraphSession


class JobWork:
    """Imports and deletions, one at a time, whichever worker runs it."""

    name = JOB_LEASE

    def __init__(self, context: GraphContext, places: Places) -> None:
        self._context = context
        self._places = places

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """The oldest unfinished job. SPEC: the vendor runs one job of a graph at a time."""
        return list_pending(session, 1)

    async def run(self, key: str, lease: Lease) -> None:
        """Run the job to its end."""
        kind, job_id = parse_pending_key(key)
        if kind == ImportJob.__name__:
            await ImportRun(self._context, self._places, job_id, lease).run()
        else:
            await DeletionRun(self._context, job_id, lease).run()
