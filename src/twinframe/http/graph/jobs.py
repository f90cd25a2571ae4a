"""Responders for `/jobs`."""

from __future__ import annotations

from typing import Final

from falcon.asgi import Request, Response

from twinframe.errors import InvalidArgument
from twinframe.graph.transfer.jobs.deletions import USUAL_MINUTES
from twinframe.http.edge import Edge
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


async def put_import(edge: Edge, request: Request, response: Response, job_id: str) -> None:
    """PUT: 201 with the job, not started."""
    document = await read_json(edge, request, edge.bodies.limits.query)
    response.data = await edge.graph.import_jobs.put_job(job_id, document)
    response.status = 201


async def read_import(edge: Edge, _request: Request, response: Response, job_id: str) -> None:
    """GET: the job."""
    response.data = await edge.graph.import_jobs.read_job(job_id)


async def list_imports(edge: Edge, request: Request, response: Response) -> None:
    """GET: a page of import jobs, the oldest first."""
    page = await edge.graph.import_jobs.list_jobs(read_page_request(request))
    _write_page(edge, request, response, page)


async def cancel_import(edge: Edge, _request: Request, response: Response, job_id: str) -> None:
    """POST: 200 with the job, which is being cancelled."""
    response.data = await edge.graph.import_jobs.cancel_job(job_id)


async def resume_import(edge: Edge, _request: Request, response: Response, job_id: str) -> None:
    """POST: 200 with the job, not yet restarted."""
    response.data = await edge.graph.import_jobs.resume_job(job_id)


async def delete_import(edge: Edge, _request: Request, response: Response, job_id: str) -> None:
    """DELETE: 204; the id is free again."""
    await edge.graph.import_jobs.delete_job(job_id)
    write_no_content(response)


# --- deletions ------------------------------------------------------------------------------------


async def start_deletion(edge: Edge, request: Request, response: Response) -> None:
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
    job_id, job = await edge.graph.delete_jobs.start_job(asked, number)
    response.status = 202
    response.data = job
    url = edge.links.build_delete_job(read_exchange(request), job_id, read_api_version(request))
    response.set_header("operation-location", url)
    response.set_header("retry-after", _POLL_SECONDS)


async def read_deletion(edge: Edge, _request: Request, response: Response, job_id: str) -> None:
    """GET: the job, and while it runs the time of the next poll."""
    response.data, has_ended = await edge.graph.delete_jobs.read_job(job_id)
    if not has_ended:
        response.set_header("retry-after", _POLL_SECONDS)


async def list_deletions(edge: Edge, request: Request, response: Response) -> None:
    """GET: a page of delete jobs, the oldest first."""
    page = await edge.graph.delete_jobs.list_jobs(read_page_request(request))
    _write_page(edge, request, response, page)


def _write_page(edge: Edge, request: Request, response: Response, page: Page[bytes]) -> None:
    next_link = build_next_link(edge, request, page, {})
    response.data = b'{"value":%b,"nextLink":%b}' % (render_array(page.items), next_link)
