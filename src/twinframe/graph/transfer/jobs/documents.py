"""Jobs as values, with their stored form and their form on the wire.

SPEC: status words and members are the vendor's; the other counters are ours.
"""

from __future__ import annotations

import enum
import logging
from dataclasses import dataclass
from typing import Any, Final

import orjson

from twinframe.errors import ErrorDetail, TwinframeError
from twinframe.graph.transfer.progress import BEGIN, Progress, load_progress
from twinframe.model.clock import render_update_time

_log: Final = logging.getLogger(__name__)

IMPORTS: Final = "import-job"
DELETIONS: Final = "delete-job"
PENDING: Final = "job-pending"
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
    """The members of all jobs; times are nanoseconds since 1970, `finished` 0 until then."""

    id: str
    created: int
    purge: int
    status: Status = Status.NOT_STARTED
    acted: int = 0
    finished: int = 0
    error: JobError | None = None

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

    `identity` is that of its source when it began, empty before; `logged` counts the pieces of its
    log. `is_read`: its file was read to the end; `is_told`: its log was written.
    """

    source: str
    target: str
    progress: Progress = BEGIN
    identity: str = ""
    logged: int = 0
    is_read: bool = False
    is_told: bool = False

    def render(self) -> bytes:
        """Render its form on the wire."""
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
                "relationshipsCreated": progress.relationships,
                "errorCount": progress.errors,
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


def dump_import(job: ImportJob) -> bytes:
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
        }
    )


def load_import(body: bytes) -> ImportJob:
    """The job of an entry."""
    stored = orjson.loads(body)
    return ImportJob(**{**_load(stored), "progress": load_progress(stored["progress"])})


def dump_deletion(job: DeleteJob) -> bytes:
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


def load_deletion(body: bytes) -> DeleteJob:
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
    }


def _load(stored: dict[str, Any]) -> dict[str, Any]:
    error = stored["error"]
    if error is not None:
        details = tuple(ErrorDetail(**detail) for detail in error.get("details", ()))
        error = JobError(error["code"], error["message"], details)
    return {**stored, "status": Status(stored["status"]), "error": error}
