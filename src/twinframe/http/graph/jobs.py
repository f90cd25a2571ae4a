"""Responders for `/jobs`."""

from __future__ import annotations

from typing import Final

from falcon.asgi import Request, Response

from twinframe.errors import InvalidArgument
from twinframe.graph.transfer.jobs.deletions import USUAL_MINUTES
from twinframe.http.api_context import GraphApiContext
from twinframe.http.messages import (
    build_next_link,
    read_api_version,
    read_exchange,
    read_json,
    read_page_request,
    render_array,
    write_no_content,
)
from twinframe.model.pages import Page

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
    _write_page(api, request, response, page)


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
    _write_page(api, request, response, page)


def _write_page(
    api: GraphApiContext, request: Request, response: Response, page: Page[bytes]
) -> None:
    next_link = build_next_link(api, request, page, {})
    response.data = b'{"value":%b,"nextLink":%b}' % (render_array(page.items), next_link)
