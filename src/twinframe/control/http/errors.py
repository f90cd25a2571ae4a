"""The only mapping of errors to answers of the control plane: `{"error"}`, with details for 400.

The 401 is that of the data plane.
"""

from __future__ import annotations

from typing import Any

import falcon
import orjson
from falcon.asgi import Request, Response

from twinframe.errors import ScopeMissing, TwinframeError
from twinframe.http.application import log_error, write_answer
from twinframe.http.errors import (
    JSON,
    ErrorAnswer,
    MethodNotAllowed,
    RouteNotFound,
    build_retry_after,
    build_status,
    render_text,
)


def build_answer(error: TwinframeError) -> ErrorAnswer:
    """Build the answer to an error.

    SPEC: 400 has `details`, one text, and `findings`, its parts; all others have `error` alone.
    """
    status = build_status(error)
    # SEC: what one caller may not do or see must not be cached for another.
    headers = [("content-type", JSON), ("cache-control", "no-store")]
    if isinstance(error, MethodNotAllowed):
        headers.append(("allow", ", ".join(error.allowed)))
    if isinstance(error, ScopeMissing):  # SPEC: RFC 6750 section 3.1
        scopes = " ".join(error.scopes)
        headers.append(("www-authenticate", f'Bearer error="insufficient_scope", scope="{scopes}"'))
    if status in (429, 503):
        headers.append(("retry-after", build_retry_after(error)))
    return ErrorAnswer(status, render_body(status, error), tuple(headers))


def render_body(status: int, error: TwinframeError) -> bytes:
    """The body of an error answer."""
    body: dict[str, Any] = {"error": render_text(error.public)}
    if status == 400:
        body |= _build_details([render_text(detail.message) for detail in error.details], body)
    return orjson.dumps(body)


def _build_details(findings: list[str], body: dict[str, Any]) -> dict[str, Any]:
    findings = findings or [body["error"]]
    return {"details": " ".join(findings), "findings": findings}


async def write_error(
    _request: Request, response: Response, error: TwinframeError, _params: dict[str, Any]
) -> None:
    """Answer with an error of ours."""
    log_error(error)
    write_answer(response, build_answer(error))


async def write_http_error(
    request: Request, response: Response, error: falcon.HTTPError, _params: dict[str, Any]
) -> None:
    """Answer with an error that Falcon itself raised, in our form."""
    if error.status_code == 404:
        found = RouteNotFound(
            f"No operation is at {request.path!a}. All operations stand at /api/v1/swagger."
        )
        write_answer(response, build_answer(found))
        return
    body: dict[str, Any] = {"error": error.description or error.title or ""}
    if error.status_code == 400:
        body |= _build_details([], body)
    headers = (("content-type", JSON), ("cache-control", "no-store"))
    write_answer(response, ErrorAnswer(error.status_code, orjson.dumps(body), headers))
