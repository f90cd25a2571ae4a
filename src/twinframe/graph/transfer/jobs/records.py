"""Stores jobs as entries of the graph: finds, stores, lists and deletes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from twinframe.errors import DeleteJobNotFound, JobNotFound
from twinframe.graph.background.leases import delete_lease
from twinframe.graph.transfer.jobs.documents import (
    DELETIONS,
    IMPORTS,
    PENDING,
    DeleteJob,
    ImportJob,
    Job,
    dump_deletion,
    dump_import,
    load_deletion,
    load_import,
)
from twinframe.storage.base import GraphSession, GraphTransaction

JOB_LEASE: Final = "job"
"""The kind of background work of all jobs; its keys are those of the pending entries."""
_PAGE: Final = 100

J = TypeVar("J", bound=Job)


def find_import(session: GraphSession, job_id: str) -> ImportJob | None:
    """The import job, or None."""
    body = session.read_entry(IMPORTS, job_id)
    return None if body is None else load_import(body)


def require_import(session: GraphSession, job_id: str) -> ImportJob:
    """The import job, or `JobNotFound`."""
    job = find_import(session, job_id)
    if job is None:
        raise JobNotFound(job_id)
    return job


def find_deletion(session: GraphSession, job_id: str) -> DeleteJob | None:
    """The delete job, or None."""
    body = session.read_entry(DELETIONS, job_id)
    return None if body is None else load_deletion(body)


def require_deletion(session: GraphSession, job_id: str) -> DeleteJob:
    """The delete job, or `DeleteJobNotFound`."""
    job = find_deletion(session, job_id)
    if job is None:
        raise DeleteJobNotFound(job_id)
    return job


def list_imports(session: GraphSession) -> list[ImportJob]:
    """All import jobs, the oldest first."""
    return _list(session, IMPORTS, load_import)


def list_deletions(session: GraphSession) -> list[DeleteJob]:
    """All delete jobs, the oldest first."""
    return _list(session, DELETIONS, load_deletion)


def list_later(
    jobs: Iterable[ImportJob | DeleteJob], after: str, now: int
) -> list[tuple[str, bytes]]:
    """Return key and text of each kept job after the key `after`."""
    keyed = ((f"{job.created:020}/{job.id}", job) for job in jobs if not job.is_expired(now))
    return [(key, job.render()) for key, job in keyed if key > after]


def put_job(transaction: GraphTransaction, job: ImportJob | DeleteJob) -> None:
    """Store a job, with its pending entry if it is unfinished."""
    if isinstance(job, ImportJob):
        transaction.put_entry(IMPORTS, job.id, dump_import(job))
    else:
        transaction.put_entry(DELETIONS, job.id, dump_deletion(job))
    if job.status.is_final:
        transaction.delete_entry(PENDING, job.pending_key)
        delete_lease(transaction, f"{JOB_LEASE}/{job.pending_key}")
    else:
        transaction.put_entry(PENDING, job.pending_key, b"{}")


def list_pending(session: GraphSession, limit: int) -> list[str]:
    """Keys of unfinished jobs, the oldest first."""
    return [listed.key for listed in session.read_entries(PENDING, after=None, limit=limit)]


def parse_pending_key(key: str) -> tuple[str, str]:
    """Return the name of a job's class and its id."""
    _, kind, job_id = key.split("/", 2)
    return kind, job_id


def forget_import(transaction: GraphTransaction, job_id: str) -> None:
    """Delete a finished import job with its log."""
    transaction.delete_entry(IMPORTS, job_id)
    forget_log(transaction, job_id)


def forget_deletion(transaction: GraphTransaction, job_id: str) -> None:
    """Delete a finished delete job."""
    transaction.delete_entry(DELETIONS, job_id)


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
