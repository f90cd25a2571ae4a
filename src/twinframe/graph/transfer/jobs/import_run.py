"""Runs one import job from its stored progress to its end.

Rows, progress and log of a chunk are one transaction that checks the lease: whenever a worker dies,
another continues after the last chunk, and each line is stored, with its events, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from twinframe.errors import LocationFailed, StorageError, TwinframeError, ValidationFailed
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.service_writes import ServiceWrite
from twinframe.graph.transfer.importing import Importer
from twinframe.graph.transfer.jobs.documents import ImportJob, JobError, Status, build_error
from twinframe.graph.transfer.jobs.records import (
    append_log,
    find_import,
    put_job,
    read_log,
    require_import,
)
from twinframe.graph.transfer.locations.base import OpenSource
from twinframe.graph.transfer.locations.locations import JobLocations
from twinframe.graph.transfer.log import ImportLog
from twinframe.graph.transfer.progress import Finding, Progress
from twinframe.runtime.leases import LeaseLost
from twinframe.storage.base import GraphSession, GraphTransaction

_LOOK_SECONDS: Final = 1.0


class _CancelAsked(TwinframeError):
    """The caller of the job has cancelled it."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """The final status of a job, and its reason; `is_read`: its file was read to the end."""

    status: Status
    error: JobError | None = None
    is_read: bool = False


class ImportRun:
    """One import job, run by this worker."""

    def __init__(
        self, context: GraphContext, locations: JobLocations, job_id: str, lease: Lease
    ) -> None:
        self._context = context
        self._locations = locations
        self._job_id = job_id
        self._lease = lease
        self._log = ImportLog(job_id, context.write_clock)
        self._identity = ""

    async def run(self) -> None:
        """Continue to the end.

        Errors that another worker might not have are raised: `StorageError`, `LeaseLost`.
        """
        job = await self._begin()
        if job is None or job.status.is_final:
            return
        ending = _Ending(Status.CANCELLED)
        if job.status is Status.RUNNING:
            ending = await self._read_file(job)
        await self._conclude(ending)

    async def fail(self, error: JobError) -> None:
        """End the job with this error."""
        await self._conclude(_Ending(Status.FAILED, error))

    async def _begin(self) -> ImportJob | None:
        def apply(transaction: GraphTransaction) -> ImportJob | None:
            self._lease.check(transaction)
            job = find_import(transaction, self._job_id)
            if job is None or job.status is not Status.NOT_STARTED:
                return job
            text = self._log.render_status("Started", None, afterLine=job.progress.line)
            job = replace(
                job,
                status=Status.RUNNING,
                acted=self._context.write_clock(),
                logged=append_log(transaction, job, text),
            )
            put_job(transaction, job)
            return job

        return await self._context.write(ServiceWrite(apply))

    async def _read_file(self, job: ImportJob) -> _Ending:
        jobs = self._context.settings.jobs
        try:
            if not job.is_read:
                async with self._open(job) as source:
                    importer = Importer(self._context, self._keep)
                    run = importer.run(source.stream, job.progress, jobs.pause)
                    await self._until_cancelled(asyncio.create_task(run))
        except _CancelAsked:
            return _Ending(Status.CANCELLED)
        except (LeaseLost, StorageError):
            raise
        except TwinframeError as error:
            return _Ending(Status.FAILED, build_error(error))
        job = await self._context.runner.read(self._require)
        if job.progress.errors:
            message = (
                f"{job.progress.errors} lines were refused; the log at outputBlobUri names them. "
                "All others are stored."
            )
            refused = JobError(ValidationFailed.code, message)
            return _Ending(Status.FAILED, refused, is_read=True)
        return _Ending(Status.SUCCEEDED, is_read=True)

    async def _until_cancelled(self, run: asyncio.Task[Progress]) -> None:
        """Await `run`; raise `_CancelAsked` even while a slow source blocks it."""
        try:
            while not (await asyncio.wait([run], timeout=_LOOK_SECONDS))[0]:
                job = await self._context.runner.read(self._require)
                if job.status is Status.CANCELLING:
                    raise _CancelAsked(f"The import job {self._job_id} is to be cancelled.")
            await run
        finally:
            if not run.done():
                run.cancel()
                await asyncio.wait([run])

    @asynccontextmanager
    async def _open(self, job: ImportJob) -> AsyncIterator[OpenSource]:
        opening = self._locations.find(job.source).open_source(job.source)
        source = await asyncio.to_thread(opening.__enter__)
        try:
            self._identity = source.identity
            if job.identity and source.identity != job.identity:
                raise LocationFailed(
                    "The source has changed since the job read it: put a new job for it."
                )
            yield source
        finally:
            await asyncio.to_thread(opening.__exit__, None, None, None)

    def _require(self, session: GraphSession) -> ImportJob:
        return require_import(session, self._job_id)

    def _keep(
        self, transaction: GraphTransaction, progress: Progress, findings: Sequence[Finding]
    ) -> None:
        self._lease.check(transaction)
        job = self._require(transaction)
        if job.status is Status.CANCELLING:
            raise _CancelAsked(f"The import job {self._job_id} is to be cancelled.")
        if job.progress == progress:
            return  # it is stored already: the answer to that write was lost, or nothing is new
        text = self._render_sections(job.progress, progress)
        text += b"".join(map(self._log.render_finding, findings))
        logged = append_log(transaction, job, text) if text else job.logged
        job = replace(
            job,
            progress=progress,
            acted=self._context.write_clock(),
            logged=logged,
            identity=self._identity,
        )
        put_job(transaction, job)

    def _render_sections(self, before: Progress, after: Progress) -> bytes:
        if before.section is after.section or after.section is None:
            return b""
        ended = b""
        if before.section is not None:
            ended = self._log.render_status("Succeeded", before.section)
        return ended + self._log.render_status("Started", after.section)

    async def _conclude(self, ending: _Ending) -> None:
        """Write the log to its place, then end the job."""
        job = await self._context.runner.read(self._require)
        is_told = True
        try:
            await self._write_log(job, self._render_end(job, ending))
        except (LeaseLost, StorageError):
            raise
        except TwinframeError as failure:
            is_told = False
            ending = _tell_untold(ending, failure)

        def apply(transaction: GraphTransaction) -> None:
            self._lease.check(transaction)
            now = self._context.write_clock()
            ended = replace(
                self._require(transaction),
                status=ending.status,
                error=ending.error,
                acted=now,
                finished=now,
                is_read=ending.is_read or job.is_read,
                is_told=is_told,
            )
            put_job(transaction, ended)

        await self._context.write(ServiceWrite(apply))

    async def _write_log(self, job: ImportJob, last: bytes) -> None:
        def read(session: GraphSession) -> list[bytes]:
            self._lease.check(session)
            return [*read_log(session, self._job_id), last]

        pieces = await self._context.runner.scan(read, self._context.settings.query.timeout)
        location = self._locations.find(job.target)
        await asyncio.to_thread(location.write, job.target, pieces)

    def _render_end(self, job: ImportJob, ending: _Ending) -> bytes:
        status, error = ending.status, ending.error
        counts = job.progress.render()
        del counts["section"]
        if status is Status.FAILED and error is not None:
            details = [{"code": x.code, "message": x.message} for x in error.details]
            return self._log.render_failure(error.code, error.message, details)
        section = b""
        if status is Status.SUCCEEDED and job.progress.section is not None:
            section = self._log.render_status("Succeeded", job.progress.section)
        word = "Succeeded" if status is Status.SUCCEEDED else "Cancelled"
        return section + self._log.render_status(word, None, **counts)


def _tell_untold(ending: _Ending, failure: TwinframeError) -> _Ending:
    """Return the status of a job whose log could not be written; it says that there is none."""
    if ending.status is Status.SUCCEEDED:
        return _Ending(Status.FAILED, build_error(failure), is_read=True)
    if ending.error is None:
        return ending
    message = (
        f"{ending.error.message} The log could not be written: {failure.public} When that is "
        "mended, resume the job, which writes it."
    )
    return replace(ending, error=replace(ending.error, message=message))
