"""The use cases of delete jobs, which empty a graph: start, read, list.

SPEC: a caller cannot cancel or delete such a job.
"""

from __future__ import annotations

import uuid
from typing import Final, cast

from twinframe.errors import DeleteJobNotFound, JobStateRefused
from twinframe.graph.context.context import GraphContext
from twinframe.graph.transfer.jobs.documents import DeleteJob
from twinframe.graph.transfer.jobs.imports import NANO, check_unfinished, choose_oldest
from twinframe.graph.transfer.jobs.records import (
    find_deletion,
    forget_deletion,
    list_deletions,
    list_later,
    purge_expired,
    put_job,
    require_deletion,
)
from twinframe.model.ids import parse_job_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.storage.base import GraphSession, GraphTransaction

LEAST_MINUTES: Final = 15
MOST_MINUTES: Final = 24 * 60
USUAL_MINUTES: Final = 12 * 60


class DeleteJobs:
    """Delete jobs of a graph; background work (`JobRunner`) runs them."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def start_job(
        self, job_id: str | None = None, minutes: int = USUAL_MINUTES
    ) -> tuple[str, bytes]:
        """Accept a deletion of all relationships, twins and models; return the job's id, and the
        job.

        Without an id a new one is generated. Errors: `InvalidArgument`, `JobStateRefused` for a
        time that is out of range or a taken id, `TooManyJobs`, `JobLimitReached`.
        """
        job_id = parse_job_id(job_id) if job_id else str(uuid.uuid4())
        if not LEAST_MINUTES <= minutes <= MOST_MINUTES:
            raise JobStateRefused(
                f"timeoutInMinutes must be from {LEAST_MINUTES} to {MOST_MINUTES}, not {minutes}."
            )
        now = self._context.clock()
        purge = now + int(self._context.settings.jobs.keep_seconds * NANO)
        deadline = now + minutes * 60 * NANO

        def apply(transaction: GraphTransaction) -> DeleteJob:
            created = self._context.write_clock()
            job = DeleteJob(
                id=job_id, created=created, acted=created, purge=purge, deadline=deadline
            )
            purge_expired(transaction, now)
            if find_deletion(transaction, job_id) is not None:
                raise JobStateRefused(f"A delete job with the ID {job_id} exists already.")
            check_unfinished(self._context, transaction)
            for old in choose_oldest(list_deletions(transaction), self._context):
                forget_deletion(transaction, old)
            put_job(transaction, job)
            return job

        job = await self._context.write(apply)
        return job_id, job.render()

    async def read_job(self, job_id: str) -> tuple[bytes, bool]:
        """Return the job, and whether it has ended; `InvalidArgument`, `DeleteJobNotFound`."""
        parse_job_id(job_id)
        job = await self._context.runner.read(lambda session: require_deletion(session, job_id))
        if job.is_expired(self._context.clock()):
            raise DeleteJobNotFound(job_id)
        return job.render(), job.status.is_final

    async def list_jobs(self, page: PageRequest = FIRST_PAGE) -> Page[bytes]:
        """All jobs, the oldest first; `InvalidArgument`, `InvalidContinuationToken`."""
        listing = await self._context.open_listing("deletions")
        after, size = listing.start(page)
        now = self._context.clock()

        def read(session: GraphSession) -> list[tuple[str, bytes]]:
            return list_later(list_deletions(session), cast("str", after or ""), now)[: size + 1]

        found = await self._context.runner.read(read)
        return listing.page(found, size)
