"""Import and delete jobs at `/jobs`: shapes, responders and routes."""

from __future__ import annotations

from typing import Final, Literal

from falcon.asgi import Request, Response
from pydantic import Field

from twinframe.errors import InvalidArgument
from twinframe.graph.transfer.jobs.deletions import USUAL_MINUTES
from twinframe.http.api_context import GraphApiContext
from twinframe.http.graph import schemas
from twinframe.http.graph.history import NDJSON
from twinframe.http.graph.schemas import ErrorBody, Shape
from twinframe.http.messages import (
    read_api_version,
    read_exchange,
    read_json,
    read_page_request,
    write_no_content,
    write_page,
)
from twinframe.http.operations import PAGE_SIZE, TOKEN, Answer, Body, Parameter, Route
from twinframe.http.streaming import leave_out_stream, stream_answer


class NewImportJob(Shape):
    """What to import, and where the log goes."""

    input_blob_uri: str = Field(alias="inputBlobUri", examples=["file:///data/campus.ndjson"])
    output_blob_uri: str = Field(
        "",
        alias="outputBlobUri",
        description="May be left out where the input is an upload; the log is at `…/log`, too.",
        examples=["file:///data/campus.log"],
    )
    history: bool = Field(True, description="Import the history of the file, too.")


class JobState(Shape):
    """What all jobs tell of themselves."""

    id: str
    created_date_time: str = Field(alias="createdDateTime")
    finished_date_time: str = Field("", alias="finishedDateTime")
    purge_date_time: str = Field(alias="purgeDateTime", description="When it is forgotten.")
    error: ErrorBody | None = Field(None, description="Why it failed.")


class ImportJob(JobState, NewImportJob):
    """A bulk import; the counts are what is stored, and the lines that were refused."""

    status: Literal["notstarted", "running", "failed", "succeeded", "cancelling", "cancelled"]
    last_action_date_time: str = Field(alias="lastActionDateTime")
    models_created: int = Field(alias="modelsCreated")
    twins_created: int = Field(alias="twinsCreated")
    twins_replaced: int = Field(
        alias="twinsReplaced", description="Those of `twinsCreated` that existed already."
    )
    relationships_created: int = Field(alias="relationshipsCreated")
    error_count: int = Field(alias="errorCount")
    models_skipped: int = Field(alias="modelsSkipped", description="There already, and the same.")
    changes_created: int = Field(alias="changesCreated", description="Of the history.")
    points_created: int = Field(alias="pointsCreated", description="Values over time.")
    lines_read: int = Field(alias="linesRead")
    bytes_read: int = Field(alias="bytesRead")
    total_bytes: int = Field(alias="totalBytes", description="Of the input; 0 if that is unknown.")
    first_twins: list[str] = Field(
        [],
        alias="firstTwins",
        description="The ids of the first twins that were stored, at most 100; not in lists of "
        "jobs.",
    )


class DeleteJob(JobState):
    """A bulk deletion of the whole graph; the counts are what is gone."""

    status: Literal["notstarted", "running", "failed", "succeeded"]
    relationships_deleted: int = Field(alias="relationshipsDeleted")
    twins_deleted: int = Field(alias="twinsDeleted")
    models_deleted: int = Field(alias="modelsDeleted")


# SPEC: the vendor's SDK polls a delete job after these seconds, after 30 without the header.
_POLL_SECONDS: Final = "1"

# --- imports --------------------------------------------------------------------------------------


async def put_import(
    api: GraphApiContext, request: Request, response: Response, job_id: str
) -> None:
    """PUT: 201 with the job, not started."""
    document = await read_json(api, request, api.bodies.limits.query)
    response.data = await api.graph.import_jobs.put_job(job_id, document)
    response.status = 201


async def read_import(
    api: GraphApiContext, _request: Request, response: Response, job_id: str
) -> None:
    """GET: the job."""
    response.data = await api.graph.import_jobs.read_job(job_id)


async def list_imports(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: a page of import jobs, the oldest first."""
    page = await api.graph.import_jobs.list_jobs(read_page_request(request))
    write_page(api, request, response, page, page.items)


async def cancel_import(
    api: GraphApiContext, _request: Request, response: Response, job_id: str
) -> None:
    """POST: 200 with the job, which is being cancelled."""
    response.data = await api.graph.import_jobs.cancel_job(job_id)


async def resume_import(
    api: GraphApiContext, _request: Request, response: Response, job_id: str
) -> None:
    """POST: 200 with the job, not yet restarted."""
    response.data = await api.graph.import_jobs.resume_job(job_id)


async def read_log(api: GraphApiContext, request: Request, response: Response, job_id: str) -> None:
    """GET: the log of the job so far, as lines."""
    log = await api.graph.import_jobs.open_log(job_id)
    response.content_type = NDJSON
    if request.method == "HEAD":
        leave_out_stream(response)
        return
    exchange = read_exchange(request)
    await exchange.read_body()
    response.stream = stream_answer(exchange, log)


async def delete_import(
    api: GraphApiContext, _request: Request, response: Response, job_id: str
) -> None:
    """DELETE: 204; the id is free again."""
    await api.graph.import_jobs.delete_job(job_id)
    write_no_content(response)


# --- deletions ------------------------------------------------------------------------------------


async def start_deletion(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: 202 with the job and its URL.

    SEC: the deletion cannot be undone, so a request with a body, which was meant for something
    else, is refused.
    """
    if (await read_exchange(request).read_body()).strip():
        raise InvalidArgument("This takes no body: it deletes the whole graph.")
    minutes = request.get_param("timeoutInMinutes")
    if not minutes:
        number = USUAL_MINUTES
    elif minutes.isascii() and minutes.isdigit() and len(minutes) < 10:
        number = int(minutes)
    else:
        raise InvalidArgument(f"timeoutInMinutes must be a number of minutes, not {minutes!a}.")
    asked = request.get_header("operation-id")
    job_id, job = await api.graph.delete_jobs.start_job(asked, number)
    response.status = 202
    response.data = job
    url = api.links.build_delete_job(read_exchange(request), job_id, read_api_version(request))
    response.set_header("operation-location", url)
    response.set_header("retry-after", _POLL_SECONDS)


async def read_deletion(
    api: GraphApiContext, _request: Request, response: Response, job_id: str
) -> None:
    """GET: the job, and while it runs the time of the next poll."""
    response.data, has_ended = await api.graph.delete_jobs.read_job(job_id)
    if not has_ended:
        response.set_header("retry-after", _POLL_SECONDS)


async def list_deletions(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: a page of delete jobs, the oldest first."""
    page = await api.graph.delete_jobs.list_jobs(read_page_request(request))
    write_page(api, request, response, page, page.items)


_TAG: Final = "Jobs"
_MINUTES = Parameter("timeoutInMinutes", "query", "15 to 1440; 720 if it is missing.", int)
_OPERATION = Parameter("operation-id", "header", "Id of the job; one is made if it is missing.")
_IMPORTS = "/jobs/imports"
_IMPORT = f"{_IMPORTS}/{{job_id}}"
_DELETIONS = "/jobs/deletions"
_IMPORT_JOB = Answer(200, "The job.", ImportJob)
_LISTED = "BadRequest, InvalidArgument"
_BUSY = {429: "TooManyRequests"}
_NO_IMPORT = {404: "JobNotFound"}
_STATE = {400: "InvalidArgument, ValidationFailed", **_NO_IMPORT}

JOB_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        f"GET {_IMPORTS}",
        "ImportJobs_List",
        "List import jobs",
        "jobs/imports/read",
        list_imports,
        Answer(200, "A page.", schemas.Listing[ImportJob]),
        _TAG,
        (PAGE_SIZE, TOKEN),
        errors={400: _LISTED},
    ),
    Route(
        f"GET {_IMPORT}",
        "ImportJobs_GetById",
        "Read an import job",
        "jobs/imports/read",
        read_import,
        _IMPORT_JOB,
        _TAG,
        errors=_NO_IMPORT,
    ),
    Route(
        f"PUT {_IMPORT}",
        "ImportJobs_Add",
        "Start an import",
        "jobs/imports/write",
        put_import,
        Answer(201, "The job.", ImportJob),
        _TAG,
        body=Body(NewImportJob),
        errors={
            400: "InvalidArgument, JobLimitReached, UrlNotAllowed",
            404: "UploadNotFound",
            409: "JobIdAlreadyExists, UploadIncomplete",
            **_BUSY,
        },
    ),
    Route(
        f"POST {_IMPORT}/cancel",
        "ImportJobs_Cancel",
        "Cancel an import; what is stored stays",
        "jobs/imports/cancel",
        cancel_import,
        _IMPORT_JOB,
        _TAG,
        errors=_STATE,
    ),
    Route(
        f"POST {_IMPORT}/resume",
        "ImportJobs_Resume",
        "Let an import go on that failed or was cancelled",
        "jobs/imports/write",
        resume_import,
        _IMPORT_JOB,
        _TAG,
        errors={**_STATE, **_BUSY},
        is_strict=True,
    ),
    Route(
        f"GET {_IMPORT}/log",
        "ImportJobs_ReadLog",
        "Read the log of an import: its sections and its refused lines",
        "jobs/imports/read",
        read_log,
        Answer(200, "The lines up to now.", str, media_type=NDJSON),
        _TAG,
        errors={400: "InvalidArgument", **_NO_IMPORT},
        is_strict=True,
    ),
    Route(
        f"DELETE {_IMPORT}",
        "ImportJobs_Delete",
        "Forget an import job that has ended",
        "jobs/imports/delete",
        delete_import,
        Answer(204, "Done."),
        _TAG,
        errors=_STATE,
    ),
    Route(
        f"POST {_DELETIONS}",
        "DeleteJobs_Add",
        "Delete the whole graph",
        "jobs/deletions/write",
        start_deletion,
        Answer(
            202,
            "The job.",
            DeleteJob,
            {"Operation-Location": "The URL of the job.", "Retry-After": "Seconds till a look."},
        ),
        _TAG,
        (_MINUTES, _OPERATION),
        errors={400: "InvalidArgument, JobLimitReached, ValidationFailed", **_BUSY},
    ),
    Route(
        f"GET {_DELETIONS}",
        "DeleteJobs_List",
        "List delete jobs",
        "jobs/deletions/read",
        list_deletions,
        Answer(200, "A page.", schemas.Listing[DeleteJob]),
        _TAG,
        (PAGE_SIZE, TOKEN),
        errors={400: _LISTED},
    ),
    Route(
        f"GET {_DELETIONS}/{{job_id}}",
        "DeleteJobs_GetById",
        "Read a delete job",
        "jobs/deletions/read",
        read_deletion,
        Answer(
            200,
            "The job.",
            DeleteJob,
            {"Retry-After": "Seconds till the next look, while it goes on."},
        ),
        _TAG,
        errors={404: "DeleteJobNotFound"},
    ),
)
