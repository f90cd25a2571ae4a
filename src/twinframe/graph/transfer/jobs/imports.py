"""The use cases of import jobs: start, read, list, cancel, resume, delete.

SPEC: a job is named by its caller; one job at a time unless the operator allows more to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar, cast

from twinframe.errors import (
    InvalidArgument,
    JobAlreadyExists,
    JobLimitReached,
    JobNotFound,
    JobStateRefused,
    TooManyJobs,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.transfer.jobs.documents import ImportJob, Job, Status
from twinframe.graph.transfer.jobs.records import (
    find_import,
    forget_import,
    list_imports,
    list_later,
    list_pending,
    purge_expired,
    put_job,
    require_import,
)
from twinframe.graph.transfer.locations.locations import JobLocations
from twinframe.model.ids import parse_job_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction

T = TypeVar("T")
NANO: Final = 1_000_000_000
_SOURCE: Final = "inputBlobUri"
_TARGET: Final = "outputBlobUri"


class ImportJobs:
    """Import jobs of a graph; background work (`JobRunner`) runs them."""

    def __init__(self, context: GraphContext, locations: JobLocations) -> None:
        self._context = context
        self._locations = locations

    async def put_job(self, job_id: str, document: JsonValue) -> bytes:
        """Accept an import; return the job.

        Errors: `InvalidArgument`, `UrlNotAllowed`, `JobAlreadyExists`, `TooManyJobs`,
        `JobLimitReached`.
        """
        parse_job_id(job_id)
        source, target = _parse_body(document)
        self._locations.find(source)
        self._locations.find(target)
        if source == target:
            raise InvalidArgument(f"{_TARGET} must not be {_SOURCE}: the log would replace it.")
        now = self._context.clock()
        purge = now + int(self._context.settings.jobs.keep_seconds * NANO)

        def apply(transaction: GraphTransaction) -> ImportJob:
            created = self._context.write_clock()
            job = ImportJob(
                id=job_id, created=created, acted=created, purge=purge, source=source, target=target
            )
            purge_expired(transaction, now)
            if find_import(transaction, job_id) is not None:
                raise JobAlreadyExists(job_id)
            check_unfinished(self._context, transaction)
            for old in choose_oldest(list_imports(transaction), self._context):
                forget_import(transaction, old)
            put_job(transaction, job)
            return job

        job = await self._context.write(apply)
        return job.render()

    async def read_job(self, job_id: str) -> bytes:
        """The job; `InvalidArgument`, `JobNotFound`."""
        parse_job_id(job_id)
        job = await self._context.runner.read(lambda session: require_import(session, job_id))
        if job.is_expired(self._context.clock()):
            raise JobNotFound(job_id)
        return job.render()

    async def list_jobs(self, page: PageRequest = FIRST_PAGE) -> Page[bytes]:
        """All jobs, the oldest first; `InvalidArgument`, `InvalidContinuationToken`."""
        listing = await self._context.open_listing("imports")
        after, size = listing.start(page)
        now = self._context.clock()

        def read(session: GraphSession) -> list[tuple[str, bytes]]:
            return list_later(list_imports(session), cast("str", after or ""), now)[: size + 1]

        found = await self._context.runner.read(read)
        return listing.page(found, size)

    async def cancel_job(self, job_id: str) -> bytes:
        """Request its end: stored lines are kept.

        Errors: `JobNotFound`, `JobStateRefused` when it has ended.
        """

        def change(job: ImportJob) -> ImportJob:
            if job.status.is_final:
                raise JobStateRefused(
                    f"The import job {job_id} has ended already ({job.status.value})."
                )
            begun = job.status is not Status.NOT_STARTED
            return replace(job, status=Status.CANCELLING if begun else Status.CANCELLED)

        return await self._change(job_id, change)

    async def resume_job(self, job_id: str) -> bytes:
        """Resume a job that failed or was cancelled, after the lines it has stored.

        Errors: `JobNotFound`, `JobStateRefused`, `TooManyJobs`.
        """

        def change(job: ImportJob) -> ImportJob:
            if job.status not in (Status.FAILED, Status.CANCELLED):
                raise JobStateRefused(
                    f"The import job {job_id} is {job.status.value}: only those that failed or "
                    "were cancelled can go on."
                )
            if job.is_read and job.is_told:
                raise JobStateRefused(
                    f"The import job {job_id} has read its file to the end. Import the lines that "
                    "were refused as a file of their own."
                )
            return replace(job, status=Status.NOT_STARTED, error=None, finished=0, is_told=False)

        return await self._change(job_id, change)

    async def delete_job(self, job_id: str) -> None:
        """Delete a job that has ended; `JobNotFound`, `JobStateRefused` if it has not."""
        parse_job_id(job_id)

        def apply(transaction: GraphTransaction) -> None:
            job = require_import(transaction, job_id)
            if not job.status.is_final:
                raise JobStateRefused(
                    f"The import job {job_id} is {job.status.value}. Cancel it first."
                )
            forget_import(transaction, job_id)

        await self._context.write(apply)

    async def _change(self, job_id: str, change: Callable[[ImportJob], ImportJob]) -> bytes:
        parse_job_id(job_id)

        def apply(transaction: GraphTransaction) -> ImportJob:
            before = require_import(transaction, job_id)
            job = replace(change(before), acted=self._context.write_clock())
            if before.status.is_final and not job.status.is_final:
                check_unfinished(self._context, transaction)
            put_job(transaction, job)
            return job

        job = await self._context.write(apply)
        return job.render()


def check_unfinished(context: GraphContext, session: GraphSession) -> None:
    """Raise `TooManyJobs` if there may be no further unfinished job."""
    most = context.settings.jobs.max_unfinished
    if len(list_pending(session, most)) >= most:
        raise TooManyJobs(
            f"{most} jobs are unfinished, as many as may be (Jobs__MaxUnfinished). "
            "Try again when one has ended."
        )


def choose_oldest(kept: Sequence[Job], context: GraphContext) -> list[str]:
    """Return the ids of the jobs to delete so that one more may be kept: those that ended longest
    ago.

    `JobLimitReached` when too few have ended. NOTE: without this, a client that imports every ten
    minutes reaches a thousand jobs within a week and is then refused for weeks, and callers cannot
    delete delete jobs.
    """
    most = context.settings.jobs.max_kept
    excess = max(len(kept) + 1 - most, 0)
    ended = sorted((job for job in kept if job.status.is_final), key=lambda job: job.acted)
    if len(ended) < excess:
        raise JobLimitReached(
            f"{most} jobs are kept, as many as may be (Jobs__MaxKept), and too few of them have "
            "ended. Try again when one has."
        )
    return [job.id for job in ended[:excess]]


def _parse_body(document: JsonValue) -> tuple[str, str]:
    if isinstance(document, dict):
        source, target = document.get(_SOURCE), document.get(_TARGET)
        if isinstance(source, str) and isinstance(target, str):
            return source, target
    raise InvalidArgument(
        f"An import job is an object with the strings {_SOURCE} and {_TARGET}: what to read, and "
        "where the log goes."
    )
