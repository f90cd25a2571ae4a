"""Import jobs: the use cases (start, read, list, cancel, resume, delete), and the run of a job.

SPEC: a job is named by its caller; one job at a time unless the operator allows more to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar, cast

from twinframe.errors import (
    InvalidArgument,
    JobAlreadyExists,
    JobLimitReached,
    JobNotFound,
    JobStateRefused,
    LocationFailed,
    StorageError,
    TooManyJobs,
    TwinframeError,
    ValidationFailed,
)
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext, ServiceWrite
from twinframe.graph.series.runner import PointRunner
from twinframe.graph.transfer.importing import Importer
from twinframe.graph.transfer.jobs.records import (
    ImportJob,
    Job,
    JobError,
    Status,
    append_log,
    build_error,
    find_import,
    forget_import,
    list_imports,
    list_later,
    list_pending,
    purge_expired,
    put_job,
    read_log,
    read_log_page,
    require_import,
)
from twinframe.graph.transfer.lines import ByteSource
from twinframe.graph.transfer.locations.base import OpenSource
from twinframe.graph.transfer.locations.locations import JobLocations
from twinframe.graph.transfer.progress import Finding, ImportLog, Progress
from twinframe.graph.transfer.uploads.records import (
    assign_upload,
    find_upload_id,
    release_upload,
)
from twinframe.model.ids import parse_job_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.runtime.leases import LeaseLost
from twinframe.storage.base import GraphSession, GraphTransaction

T = TypeVar("T")
NANO: Final = 1_000_000_000
_SOURCE: Final = "inputBlobUri"
_TARGET: Final = "outputBlobUri"
_HISTORY: Final = "history"


class ImportJobs:
    """Import jobs of a graph; background work (`JobRunner`) runs them."""

    def __init__(self, context: GraphContext, locations: JobLocations) -> None:
        self._context = context
        self._locations = locations

    async def put_job(self, job_id: str, document: JsonValue) -> bytes:
        """Accept an import; return the job.

        Errors: `InvalidArgument`, `UrlNotAllowed`, `JobAlreadyExists`, `TooManyJobs`,
        `JobLimitReached`, `UploadNotFound`, `UploadIncomplete`.
        """
        parse_job_id(job_id)
        asked = _parse_body(document)
        source, target = asked.source, asked.target
        self._locations.find(source)
        if target:
            self._locations.find(target)
        if source == target:
            raise InvalidArgument(f"{_TARGET} must not be {_SOURCE}: the log would replace it.")
        now = self._context.clock()
        purge = now + int(self._context.settings.jobs.keep_seconds * NANO)
        who = self._context.read_who()

        def apply(transaction: GraphTransaction) -> ImportJob:
            created = self._context.write_clock()
            job = ImportJob(
                id=job_id,
                created=created,
                acted=created,
                purge=purge,
                who=who,
                source=source,
                target=target,
                history=asked.history,
            )
            purge_expired(transaction, now)
            if find_import(transaction, job_id) is not None:
                raise JobAlreadyExists(job_id)
            check_unfinished(self._context, transaction)
            for old in choose_oldest(list_imports(transaction), self._context):
                forget_import(transaction, old)
            assign_upload(transaction, source, job_id)
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
        return job.render(with_first=True)

    async def open_log(self, job_id: str) -> JobLog:
        """The log of a job so far, as a stream; `InvalidArgument`, `JobNotFound`."""
        await self.read_job(job_id)
        return JobLog(self._context, job_id)

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


class JobLog:
    """The log of an import job up to now, piece by piece, with its end if it has ended."""

    def __init__(self, context: GraphContext, job_id: str) -> None:
        self._context = context
        self._job_id = job_id
        self._after: str | None = None
        self._is_over = False

    async def read(self) -> bytes:
        """Return the next lines; empty at the end. Raises `JobNotFound` if it was deleted."""
        if self._is_over:
            return b""

        def read(session: GraphSession) -> tuple[list[bytes], str | None, ImportJob]:
            pieces, last = read_log_page(session, self._job_id, self._after)
            return pieces, last, require_import(session, self._job_id)

        pieces, last, job = await self._context.runner.read(read)
        self._after = last
        if pieces:
            return b"".join(pieces)
        self._is_over = True
        if not job.status.is_final:
            return b""
        log = ImportLog(job.id, lambda: job.acted)
        return _render_end(log, job, _Ending(job.status, job.error))

    async def close(self) -> None:
        """Do nothing: pages hold no resources."""


def check_unfinished(context: GraphContext, session: GraphSession) -> None:
    """Raise `TooManyJobs` if there may be no further unfinished job."""
    most = context.settings.jobs.max_unfinished
    if len(list_pending(session, most)) >= most:
        raise TooManyJobs(
            f"{most} jobs are unfinished, as many as may be (Jobs__MaxUnfinished). "
            "Try again when one has ended."
        )


def choose_oldest(kept: Sequence[Job], context: GraphContext) -> list[str]:
    """Return the ids of the jobs to delete, longest ended first, so that one more may be kept.

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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a caller asks for: see `ImportJob`."""

    source: str
    target: str
    history: bool


def _parse_body(document: JsonValue) -> _Asked:
    if isinstance(document, dict):
        source, target = document.get(_SOURCE), document.get(_TARGET)
        history = document.get(_HISTORY, True)
        if not isinstance(history, bool):
            raise InvalidArgument(
                f"{_HISTORY} must be true or false: whether the history of the file is imported."
            )
        if isinstance(source, str) and target is None and find_upload_id(source) is not None:
            return _Asked(source, "", history)
        if isinstance(source, str) and isinstance(target, str) and target:
            return _Asked(source, target, history)
    raise InvalidArgument(
        f"An import job is an object with the strings {_SOURCE} and {_TARGET}: what to read, and "
        f"where the log goes. Of an upload, {_TARGET} may be left out."
    )


_LOOK_SECONDS: Final = 1.0


class HandedOver(TwinframeError):
    """A long import is continued by another process."""


class _CancelAsked(TwinframeError):
    """The caller of the job has cancelled it."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """The final status of a job, and its reason; `is_read`: its file was read to the end."""

    status: Status
    error: JobError | None = None
    is_read: bool = False


class ImportRun:
    """One import job, run by this worker from its stored progress.

    Rows, progress and log of a chunk are one transaction that checks the lease: whenever a worker
    dies, another continues after the last chunk, and stores each line, with its events, once.
    """

    def __init__(
        self,
        context: GraphContext,
        locations: JobLocations,
        job_id: str,
        lease: Lease,
        most_rows: int | None = None,
        points: PointRunner | None = None,
    ) -> None:
        """`run` raises `HandedOver` after `most_rows`, if that is given."""
        self._points = points
        self._context = context
        self._locations = locations
        self._job_id = job_id
        self._lease = lease
        self._most_rows = most_rows
        self._log = ImportLog(job_id, context.write_clock)
        self._identity = ""
        self._source = _Counted()

    async def run(self) -> None:
        """Continue to the end.

        Errors that another worker might not have are raised: `StorageError`, `LeaseLost`. So is
        `HandedOver`: another run of the same lease may continue after what is stored.
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
                    limit = partial(self._check_rows, job.progress)
                    context = self._context.attribute(job.who)
                    importer = Importer(
                        context, self._keep, limit, self._points, history=job.history
                    )
                    self._source = _Counted(source.stream, source.size)
                    run = importer.run(self._source, job.progress, jobs.pause)
                    await self._until_cancelled(asyncio.create_task(run))
        except _CancelAsked:
            return _Ending(Status.CANCELLED)
        except (LeaseLost, StorageError, HandedOver):
            raise
        except TwinframeError as error:
            return _Ending(Status.FAILED, build_error(error))
        job = await self._context.runner.read(self._require)
        if job.progress.errors:
            message = (
                f"{job.progress.errors} lines were refused, and the log of the job names them. "
                "All others are stored."
            )
            refused = JobError(ValidationFailed.code, message)
            return _Ending(Status.FAILED, refused, is_read=True)
        return _Ending(Status.SUCCEEDED, is_read=True)

    def _check_rows(self, start: Progress, done: Progress, _findings: Sequence[Finding]) -> None:
        """Raise `HandedOver` when the run has stored its rows."""
        if self._most_rows is not None:
            rows = done.rows - start.rows
            if rows >= self._most_rows:
                raise HandedOver(f"The import job {self._job_id} is long.")

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
    ) -> Progress | None:
        self._lease.check(transaction)
        job = self._require(transaction)
        if job.status is Status.CANCELLING:
            raise _CancelAsked(f"The import job {self._job_id} is to be cancelled.")
        if job.progress == progress:
            # It is stored already: the answer to that write was lost, or nothing is new.
            return job.progress
        text = self._render_sections(job.progress, progress)
        text += b"".join(map(self._log.render_finding, findings))
        logged = append_log(transaction, job, text) if text else job.logged
        job = replace(
            job,
            progress=progress,
            acted=self._context.write_clock(),
            logged=logged,
            identity=self._identity,
            read=self._source.taken,
            size=self._source.size,
        )
        put_job(transaction, job)
        return None

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
            await self._write_log(job, _render_end(self._log, job, ending))
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
            if ended.is_read:  # otherwise it can be resumed
                release_upload(transaction, ended.source, ended.id)

        await self._context.write(ServiceWrite(apply))

    async def _write_log(self, job: ImportJob, last: bytes) -> None:
        if not job.target:
            return

        def read(session: GraphSession) -> list[bytes]:
            self._lease.check(session)
            return [*read_log(session, self._job_id), last]

        pieces = await self._context.runner.scan(read, self._context.settings.query.timeout)
        location = self._locations.find(job.target)
        await asyncio.to_thread(location.write, job.target, pieces)


class _Counted:
    """A source that counts what is read of it; `size` is how much it has, 0 if unknown."""

    def __init__(self, stream: ByteSource | None = None, size: int = 0) -> None:
        self._stream = stream
        self.size = size
        self.taken = 0

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        assert self._stream is not None, "a source that was opened"  # noqa: S101
        piece = self._stream.read(size)
        self.taken += len(piece)
        return piece


def _render_end(log: ImportLog, job: ImportJob, ending: _Ending) -> bytes:
    """Render the last lines of a job's log."""
    status, error = ending.status, ending.error
    counts = job.progress.render()
    del counts["section"], counts["first"]
    if status is Status.FAILED and error is not None:
        details = [{"code": x.code, "message": x.message} for x in error.details]
        return log.render_failure(error.code, error.message, details)
    section = b""
    if status is Status.SUCCEEDED and job.progress.section is not None:
        section = log.render_status("Succeeded", job.progress.section)
    word = "Succeeded" if status is Status.SUCCEEDED else "Cancelled"
    return section + log.render_status(word, None, **counts)


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
