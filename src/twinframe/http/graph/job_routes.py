"""The routes of import and delete jobs; their responders are in `jobs`."""

from __future__ import annotations

from typing import Final

from twinframe.http.graph import job_schemas, jobs, schemas
from twinframe.http.operations import Answer, Body, Parameter, Route

_TAG: Final = "Jobs"
_PAGE_SIZE = Parameter("max-items-per-page", "header", "Most items of the page.", int)
_TOKEN = Parameter("continuationToken", "query", "Where to go on; part of a nextLink.")
_MINUTES = Parameter("timeoutInMinutes", "query", "15 to 1440; 720 if it is missing.", int)
_OPERATION = Parameter("operation-id", "header", "Id of the job; one is made if it is missing.")
_IMPORTS = "/jobs/imports"
_IMPORT = f"{_IMPORTS}/{{job_id}}"
_DELETIONS = "/jobs/deletions"
_IMPORT_JOB = Answer(200, "The job.", job_schemas.ImportJob)
_LISTED = "BadRequest, InvalidArgument"
_BUSY = {429: "TooManyRequests"}
_NO_IMPORT = {404: "JobNotFound"}
_STATE = {400: "InvalidArgument, ValidationFailed", **_NO_IMPORT}

JOB_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        _IMPORTS,
        "ImportJobs_List",
        "List import jobs",
        "jobs/imports/read",
        jobs.list_imports,
        Answer(200, "A page.", schemas.Listing[job_schemas.ImportJob]),
        _TAG,
        (_PAGE_SIZE, _TOKEN),
        errors={400: _LISTED},
    ),
    Route(
        "GET",
        _IMPORT,
        "ImportJobs_GetById",
        "Read an import job",
        "jobs/imports/read",
        jobs.read_import,
        _IMPORT_JOB,
        _TAG,
        errors=_NO_IMPORT,
    ),
    Route(
        "PUT",
        _IMPORT,
        "ImportJobs_Add",
        "Start an import",
        "jobs/imports/write",
        jobs.put_import,
        Answer(201, "The job.", job_schemas.ImportJob),
        _TAG,
        body=Body(job_schemas.NewImportJob),
        errors={
            400: "InvalidArgument, JobLimitReached, UrlNotAllowed",
            409: "JobIdAlreadyExists",
            **_BUSY,
        },
    ),
    Route(
        "POST",
        f"{_IMPORT}/cancel",
        "ImportJobs_Cancel",
        "Cancel an import; what is stored stays",
        "jobs/imports/cancel",
        jobs.cancel_import,
        _IMPORT_JOB,
        _TAG,
        errors=_STATE,
    ),
    Route(
        "POST",
        f"{_IMPORT}/resume",
        "ImportJobs_Resume",
        "Let an import go on that failed or was cancelled",
        "jobs/imports/write",
        jobs.resume_import,
        _IMPORT_JOB,
        _TAG,
        errors={**_STATE, **_BUSY},
        is_strict=True,
    ),
    Route(
        "DELETE",
        _IMPORT,
        "ImportJobs_Delete",
        "Forget an import job that has ended",
        "jobs/imports/delete",
        jobs.delete_import,
        Answer(204, "Done."),
        _TAG,
        errors=_STATE,
    ),
    Route(
        "POST",
        _DELETIONS,
        "DeleteJobs_Add",
        "Delete the whole graph",
        "jobs/deletions/write",
        jobs.start_deletion,
        Answer(
            202,
            "The job.",
            job_schemas.DeleteJob,
            {"Operation-Location": "The URL of the job.", "Retry-After": "Seconds till a look."},
        ),
        _TAG,
        (_MINUTES, _OPERATION),
        errors={400: "InvalidArgument, JobLimitReached, ValidationFailed", **_BUSY},
    ),
    Route(
        "GET",
        _DELETIONS,
        "DeleteJobs_List",
        "List delete jobs",
        "jobs/deletions/read",
        jobs.list_deletions,
        Answer(200, "A page.", schemas.Listing[job_schemas.DeleteJob]),
        _TAG,
        (_PAGE_SIZE, _TOKEN),
        errors={400: _LISTED},
    ),
    Route(
        "GET",
        f"{_DELETIONS}/{{job_id}}",
        "DeleteJobs_GetById",
        "Read a delete job",
        "jobs/deletions/read",
        jobs.read_deletion,
        Answer(
            200,
            "The job.",
            job_schemas.DeleteJob,
            {"Retry-After": "Seconds till the next look, while it goes on."},
        ),
        _TAG,
        errors={404: "DeleteJobNotFound"},
    ),
)
