"""Jobs as values and as entries of the graph: finds, stores, lists and deletes them.

SPEC: status words and members on the wire are the vendor's; the other counters are ours.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import orjson

from twinframe.errors import DeleteJobNotFound, ErrorDetail, JobNotFound, TwinframeError
from twinframe.graph.background.leases import delete_lease
from twinframe.graph.transfer.progress import BEGIN, Progress, load_progress
from twinframe.graph.transfer.uploads.records import release_upload
from twinframe.model.clock import render_update_time
from twinframe.storage.base import GraphSession, GraphTransaction

_log: Final = logging.getLogger(__name__)

_IMPORTS: Final = "import-job"
_DELETIONS: Final = "delete-job"
_PENDING: Final = "job-pending"
"""Kinds of entries: jobs by id; and of each unfinished one another entry, by its creation time."""


class Status(enum.Enum):
    """The status of a job."""

    NOT_STARTED = "notstarted"
    RUNNING = "running"
    FAILED = "failed"
    SUCCEEDED = "succeeded"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether it only changes by a caller's request."""
        return self in (Status.FAILED, Status.SUCCEEDED, Status.CANCELLED)


@dataclass(frozen=True, slots=True)
class JobError:
    """The reason why a job failed."""

    code: str
    message: str
    details: tuple[ErrorDetail, ...] = ()

    def render(self) -> dict[str, Any]:
        """Render its form on the wire."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            error["details"] = [{"code": x.code, "message": x.message} for x in self.details]
        return error


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The members of all jobs; times are nanoseconds since 1970, `finished` 0 until then.

    `who` asked for it, and made its changes; empty if that is not known.
    """

    id: str
    created: int
    purge: int
    status: Status = Status.NOT_STARTED
    acted: int = 0
    finished: int = 0
    error: JobError | None = None
    who: str = ""

    @property
    def pending_key(self) -> str:
        """The key of its entry while it is unfinished, in the order of creation."""
        return f"{self.created:020}/{type(self).__name__}/{self.id}"

    def is_expired(self, now: int) -> bool:
        """Return whether the retention of finished jobs is over for it."""
        return self.status.is_final and self.purge <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportJob(Job):
    """An import.

    `target` is empty where the log is kept with the job alone. `identity` is that of its source
    when it began, empty before; `logged` counts the pieces of its log. `is_read`: its file was read
    to the end; `is_told`: its log was written. `read` of `size` bytes were read, 0 if that is not
    known. `history`: the history of the file is imported, too.
    """

    source: str
    target: str
    progress: Progress = BEGIN
    identity: str = ""
    logged: int = 0
    is_read: bool = False
    is_told: bool = False
    read: int = 0
    size: int = 0
    history: bool = True

    def render(self, *, with_first: bool = False) -> bytes:
        """Render its form on the wire; `with_first`: with the ids of the first twins.

        PERF: lists of jobs are without them: clients that follow one read the list every second.
        """
        progress = self.progress
        return orjson.dumps(
            {
                "id": self.id,
                "inputBlobUri": self.source,
                "outputBlobUri": self.target,
                **_render_state(self),
                "lastActionDateTime": render_update_time(self.acted),
                "modelsCreated": progress.models,
                "twinsCreated": progress.twins,
                "twinsReplaced": progress.replaced,
                "relationshipsCreated": progress.relationships,
                "errorCount": progress.errors,
                "modelsSkipped": progress.skipped,
                "changesCreated": progress.changes,
                "pointsCreated": progress.points,
                "linesRead": progress.line,
                "bytesRead": self.read,
                "totalBytes": self.size,
                **({"firstTwins": progress.first} if with_first else {}),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob(Job):
    """A deletion of the whole graph, which fails at the `deadline` if it has not ended."""

    deadline: int
    relationships: int = 0
    twins: int = 0
    models: int = 0

    def render(self) -> bytes:
        """Render its form on the wire."""
        return orjson.dumps(
            {
                "id": self.id,
                **_render_state(self),
                "relationshipsDeleted": self.relationships,
                "twinsDeleted": self.twins,
                "modelsDeleted": self.models,
            }
        )


def _render_state(job: Job) -> dict[str, Any]:
    """SPEC: unknown members are left out, as in the vendor's recordings; and so is the end of a
    cancelled job, which is its `lastActionDateTime`.
    """
    state: dict[str, Any] = {
        "status": job.status.value,
        "createdDateTime": render_update_time(job.created),
        "purgeDateTime": render_update_time(job.purge),
    }
    if job.finished and job.status is not Status.CANCELLED:
        state["finishedDateTime"] = render_update_time(job.finished)
    if job.error is not None:
        state["error"] = job.error.render()
    return state


def build_error(error: TwinframeError) -> JobError:
    """Build a job's failure from the error. SPEC: models that are no DTDL have their own code."""
    code = "DTDLParsingError" if error.code == "DTDLParserError" else error.code
    if error.public != error.message:
        _log.warning("A job failed: %s: %s", error.code, error.message)
    return JobError(code, error.public, error.details[:10])


def _dump_import(job: ImportJob) -> bytes:
    """The body of its entry."""
    return orjson.dumps(
        {
            **_dump(job),
            "source": job.source,
            "target": job.target,
            "progress": job.progress.render(),
            "identity": job.identity,
            "logged": job.logged,
            "is_read": job.is_read,
            "is_told": job.is_told,
            "read": job.read,
            "size": job.size,
            "history": job.history,
        }
    )


def _load_import(body: bytes) -> ImportJob:
    """The job of an entry."""
    stored = orjson.loads(body)
    return ImportJob(**{**_load(stored), "progress": load_progress(stored["progress"])})


def _dump_deletion(job: DeleteJob) -> bytes:
    """The body of its entry."""
    return orjson.dumps(
        {
            **_dump(job),
            "deadline": job.deadline,
            "relationships": job.relationships,
            "twins": job.twins,
            "models": job.models,
        }
    )


def _load_deletion(body: bytes) -> DeleteJob:
    """The job of an entry."""
    return DeleteJob(**_load(orjson.loads(body)))


def _dump(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "created": job.created,
        "purge": job.purge,
        "status": job.status.value,
        "acted": job.acted,
        "finished": job.finished,
        "error": None if job.error is None else job.error.render(),
        "who": job.who,
    }


def _load(stored: dict[str, Any]) -> dict[str, Any]:
    error = stored["error"]
    if error is not None:
        details = tuple(ErrorDetail(**detail) for detail in error.get("details", ()))
        error = JobError(error["code"], error["message"], details)
    return {**stored, "status": Status(stored["status"]), "error": error}


JOB_LEASE: Final = "job"
"""The kind of background work of all jobs; its keys are those of the pending entries."""
_PAGE: Final = 100
_LOG_PAGE: Final = 10

J = TypeVar("J", bound=Job)


def find_import(session: GraphSession, job_id: str) -> ImportJob | None:
    """The import job, or None."""
    body = session.read_entry(_IMPORTS, job_id)
    return None if body is None else _load_import(body)


def require_import(session: GraphSession, job_id: str) -> ImportJob:
    """The import job, or `JobNotFound`."""
    job = find_import(session, job_id)
    if job is None:
        raise JobNotFound(job_id)
    return job


def find_deletion(session: GraphSession, job_id: str) -> DeleteJob | None:
    """The delete job, or None."""
    body = session.read_entry(_DELETIONS, job_id)
    return None if body is None else _load_deletion(body)


def require_deletion(session: GraphSession, job_id: str) -> DeleteJob:
    """The delete job, or `DeleteJobNotFound`."""
    job = find_deletion(session, job_id)
    if job is None:
        raise DeleteJobNotFound(job_id)
    return job


def list_imports(session: GraphSession) -> list[ImportJob]:
    """All import jobs, the oldest first."""
    return _list(session, _IMPORTS, _load_import)


def list_deletions(session: GraphSession) -> list[DeleteJob]:
    """All delete jobs, the oldest first."""
    return _list(session, _DELETIONS, _load_deletion)


def list_later(
    jobs: Iterable[ImportJob | DeleteJob], after: str, now: int
) -> list[tuple[str, bytes]]:
    """Return key and text of each kept job after the key `after`."""
    keyed = ((f"{job.created:020}/{job.id}", job) for job in jobs if not job.is_expired(now))
    return [(key, job.render()) for key, job in keyed if key > after]


def put_job(transaction: GraphTransaction, job: ImportJob | DeleteJob) -> None:
    """Store a job, with its pending entry if it is unfinished."""
    if isinstance(job, ImportJob):
        transaction.put_entry(_IMPORTS, job.id, _dump_import(job))
    else:
        transaction.put_entry(_DELETIONS, job.id, _dump_deletion(job))
    if job.status.is_final:
        transaction.delete_entry(_PENDING, job.pending_key)
        delete_lease(transaction, f"{JOB_LEASE}/{job.pending_key}")
    else:
        transaction.put_entry(_PENDING, job.pending_key, b"{}")


def list_pending(session: GraphSession, limit: int) -> list[str]:
    """Keys of unfinished jobs, the oldest first."""
    return [listed.key for listed in session.read_entries(_PENDING, after=None, limit=limit)]


def parse_pending_key(key: str) -> tuple[str, str]:
    """Return the name of a job's class and its id."""
    _, kind, job_id = key.split("/", 2)
    return kind, job_id


def forget_import(transaction: GraphTransaction, job_id: str) -> None:
    """Delete a finished import job with its log, and its upload if there is one."""
    job = find_import(transaction, job_id)
    if job is not None:
        release_upload(transaction, job.source, job_id)
    transaction.delete_entry(_IMPORTS, job_id)
    forget_log(transaction, job_id)


def forget_deletion(transaction: GraphTransaction, job_id: str) -> None:
    """Delete a finished delete job."""
    transaction.delete_entry(_DELETIONS, job_id)


def purge_expired(transaction: GraphTransaction, now: int) -> None:
    """Delete finished jobs whose retention is over."""
    for job in list_imports(transaction):
        if job.is_expired(now):
            forget_import(transaction, job.id)
    for deletion in list_deletions(transaction):
        if deletion.is_expired(now):
            forget_deletion(transaction, deletion.id)


def append_log(transaction: GraphTransaction, job: ImportJob, text: bytes) -> int:
    """Store a piece of a job's log; return the number of pieces."""
    transaction.put_entry(_name_log(job.id), f"{job.logged:08}", text)
    return job.logged + 1


def read_log(session: GraphSession, job_id: str) -> Iterator[bytes]:
    """The pieces of a job's log, in order."""
    after: str | None = None
    while page := session.read_entries(_name_log(job_id), after=after, limit=_PAGE):
        for listed in page:
            yield listed.item
        after = page[-1].key


def read_log_page(
    session: GraphSession, job_id: str, after: str | None
) -> tuple[list[bytes], str | None]:
    """Return some pieces of a job's log after the piece `after`, and which one was the last."""
    page = session.read_entries(_name_log(job_id), after=after, limit=_LOG_PAGE)
    return [listed.item for listed in page], page[-1].key if page else after


def forget_log(transaction: GraphTransaction, job_id: str) -> None:
    """Delete a job's log."""
    kind = _name_log(job_id)
    while page := transaction.read_entries(kind, after=None, limit=_PAGE):
        for listed in page:
            transaction.delete_entry(kind, listed.key)


def _name_log(job_id: str) -> str:
    return f"import-log/{job_id}"


def _list(session: GraphSession, kind: str, load: Callable[[bytes], J]) -> list[J]:
    jobs: list[J] = []
    after: str | None = None
    while page := session.read_entries(kind, after=after, limit=_PAGE):
        jobs += [load(listed.item) for listed in page]
        after = page[-1].key
    return sorted(jobs, key=lambda job: (job.created, job.id))
