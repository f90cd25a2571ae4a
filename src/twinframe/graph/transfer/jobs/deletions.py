"""Delete jobs, which empty a graph: the use cases (start, read, list), and the run of a job.

SPEC: a caller cannot cancel or delete such a job.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Final, TypeVar, cast

from twinframe.errors import (
    DeleteJobNotFound,
    JobStateRefused,
    MemoryExhausted,
    MemoryLimitExceeded,
    QueryTimeout,
    StorageError,
    TwinframeError,
)
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext, ServiceWrite
from twinframe.graph.transfer.jobs.imports import NANO, check_unfinished, choose_oldest
from twinframe.graph.transfer.jobs.records import (
    DeleteJob,
    JobError,
    Status,
    build_error,
    find_deletion,
    forget_deletion,
    list_deletions,
    list_later,
    purge_expired,
    put_job,
    require_deletion,
)
from twinframe.graph.twins.changes import erase_models, erase_relationships, erase_twins
from twinframe.model.ids import parse_job_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.runtime.leases import LeaseLost
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
        """Accept a deletion of all relationships, twins and models; return id and job.

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
        deadline, who = now + minutes * 60 * NANO, self._context.read_who()

        def apply(transaction: GraphTransaction) -> DeleteJob:
            created = self._context.write_clock()
            job = DeleteJob(
                id=job_id, created=created, acted=created, purge=purge, who=who, deadline=deadline
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


_FOUND_AT_ONCE: Final = 20_000
T = TypeVar("T")


class DeletionRun:
    """One delete job, run by this worker: relationships, then twins, then models, in chunks.

    A worker that takes over continues with what is left.
    """

    def __init__(self, context: GraphContext, job_id: str, lease: Lease) -> None:
        self._context = context
        self._job_id = job_id
        self._lease = lease

    async def run(self) -> None:
        """Continue to the end. Errors: `StorageError`, `LeaseLost`."""
        job = await self._context.write(ServiceWrite(self._begin))
        if job is None or job.status.is_final:
            return
        self._context = self._context.attribute(job.who)
        try:
            await self._delete(job)
        except (LeaseLost, StorageError):
            raise
        except TwinframeError as error:
            await self._end(Status.FAILED, build_error(error))
        else:
            await self._end(Status.SUCCEEDED, None)

    async def fail(self, error: JobError) -> None:
        """End the job with this error."""
        await self._end(Status.FAILED, error)

    def _begin(self, transaction: GraphTransaction) -> DeleteJob | None:
        self._lease.check(transaction)
        job = find_deletion(transaction, self._job_id)
        if job is not None and job.status is Status.NOT_STARTED:
            job = replace(job, status=Status.RUNNING, acted=self._context.write_clock())
            put_job(transaction, job)
        return job

    async def _delete(self, job: DeleteJob) -> None:
        """Delete until nothing is left: other writers may add to the graph meanwhile."""
        while True:
            edges = await self._find(_find_relationships)
            if edges:
                await self._erase(job, edges, self._erase_relationships)
                continue
            twins = await self._find(_find_twins)
            if twins:
                await self._erase(job, twins, self._erase_twins)
                continue
            if await self._context.write(ServiceWrite(self._erase_models)):
                return

    async def _find(self, read: Callable[[GraphSession], list[T]]) -> list[T]:
        return await self._context.runner.scan(read, self._context.settings.query.timeout)

    async def _erase(
        self,
        job: DeleteJob,
        keys: Sequence[T],
        erase: Callable[[GraphTransaction, Sequence[T]], None],
    ) -> None:
        jobs = self._context.settings.jobs
        remaining: Iterator[T] = iter(keys)
        rows = jobs.chunk_rows
        while chunk := list(islice(remaining, rows)):
            if self._context.clock() >= job.deadline:
                raise QueryTimeout("The deletion did not end within its timeoutInMinutes.")
            try:
                await self._context.write(ServiceWrite(partial(_call, erase, chunk)))
            except (MemoryExhausted, MemoryLimitExceeded):
                # A store may keep the deleted items in memory until they are committed.
                if len(chunk) == 1:
                    raise
                rows = len(chunk) // 2
                remaining = chain(chunk, remaining)
            await asyncio.sleep(jobs.pause)

    def _erase_relationships(
        self, transaction: GraphTransaction, keys: Sequence[tuple[str, str]]
    ) -> None:
        job = self._check(transaction)
        gone = erase_relationships(self._context, transaction, keys)
        put_job(transaction, replace(job, relationships=job.relationships + gone))

    def _erase_twins(self, transaction: GraphTransaction, twin_ids: Sequence[str]) -> None:
        job = self._check(transaction)
        gone = erase_twins(self._context, transaction, twin_ids)
        put_job(transaction, replace(job, twins=job.twins + gone))

    def _erase_models(self, transaction: GraphTransaction) -> bool:
        """Delete all models, unless a twin was added, which would be left without its model."""
        job = self._check(transaction)
        if next(iter(transaction.iterate_twins()), None) is not None:
            return False
        gone = erase_models(self._context, transaction)
        put_job(transaction, replace(job, models=job.models + gone))
        return True

    def _check(self, transaction: GraphTransaction) -> DeleteJob:
        self._lease.check(transaction)
        job = require_deletion(transaction, self._job_id)
        return replace(job, acted=self._context.write_clock())

    async def _end(self, status: Status, error: JobError | None) -> None:
        def apply(transaction: GraphTransaction) -> None:
            job = replace(self._check(transaction), status=status, error=error)
            put_job(transaction, replace(job, finished=job.acted))

        await self._context.write(ServiceWrite(apply))


def _find_relationships(session: GraphSession) -> list[tuple[str, str]]:
    some = islice(session.iterate_relationships(), _FOUND_AT_ONCE)
    return [(each.source_id, each.relationship_id) for each in some]


def _find_twins(session: GraphSession) -> list[str]:
    return [twin.twin_id for twin in islice(session.iterate_twins(), _FOUND_AT_ONCE)]


def _call(
    erase: Callable[[GraphTransaction, Sequence[T]], None],
    keys: Sequence[T],
    transaction: GraphTransaction,
) -> None:
    erase(transaction, keys)
