"""The mapping of twinframe's errors to HTTP answers, in the vendor's formats.

The control plane has a format of its own in `control.http.errors`, and MCP in `mcp.errors`.
"""

from __future__ import annotations

import http
from dataclasses import dataclass, replace
from typing import ClassVar

import orjson

from twinframe.errors import (
    AccessError,
    Conflict,
    EmptyBody,
    ErrorDetail,
    HistoryNotKept,
    InputError,
    JsonPatchInvalid,
    MemoryExhausted,
    NotFound,
    OperationRefused,
    PatchNotObjects,
    PermissionMissing,
    PreconditionFailed,
    QuotaExceeded,
    RateExceeded,
    ScopeMissing,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    StorageUnanswered,
    TooManyJobs,
    TwinframeError,
    Unauthenticated,
    Unsupported,
    ValidationFailed,
)

JSON = "application/json; charset=utf-8"
PROBLEM_JSON = "application/problem+json; charset=utf-8"

# --- errors of HTTP itself ----------------------------------------------------------------------


class HttpError(TwinframeError):
    """An error of HTTP itself, not of a use case. `status` is its HTTP status."""

    status: ClassVar[int] = 400


class BadRequestTarget(HttpError):
    """The request target is not a path of well-formed, percent-encoded UTF-8 segments."""

    code = "InvalidArgument"


class RouteNotFound(HttpError):
    """No operation has this path."""

    code = "NotFound"
    status = 404


class MethodNotAllowed(HttpError):
    """The path exists, but not for this method; `allowed` names the ones that do."""

    code = "MethodNotAllowed"
    status = 405

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(f"{method} is not allowed here. Allowed: {', '.join(allowed)}.")
        self.allowed = allowed


class BodyTooLarge(HttpError):
    """The request body is larger than `setting` allows: `limit` bytes."""

    code = "RequestBodyTooLarge"
    status = 413

    def __init__(self, limit: int, setting: str) -> None:
        super().__init__(f"The request body is larger than the limit of {limit} bytes ({setting}).")
        self.limit = limit
        self.setting = setting


class NotAcceptable(HttpError):
    """The answer cannot be given in any form that `Accept` names."""

    code = "NotAcceptable"
    status = 406


class UnsupportedMediaType(HttpError):
    """The body's media type, charset or content coding is not one this operation reads."""

    code = "UnsupportedMediaType"
    status = 415


class ServiceEnding(HttpError):
    """The worker ends, and the request took longer than `Server__GracefulTimeout` allows."""

    code = "ServiceUnavailable"
    status = 503

    def __init__(self) -> None:
        super().__init__(
            "The service ends and gave up this request, which took longer than "
            "Server__GracefulTimeout. Whether a write was done is not known: read before you "
            "repeat it."
        )


class ClientDisconnected(HttpError):
    """The client left before its body was complete, so no answer is sent."""

    code = "ClientDisconnected"
    status = 499


# --- answers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An HTTP error answer: `headers` holds lower-case names, `content-type` included."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...]


_STATUS: dict[type[TwinframeError], int] = {
    InputError: 400,
    Unsupported: 501,
    HistoryNotKept: 410,
    Unauthenticated: 401,
    AccessError: 403,
    NotFound: 404,
    QuotaExceeded: 403,
    TooManyJobs: 429,
    Conflict: 409,
    PreconditionFailed: 412,
    RateExceeded: 429,
    MemoryExhausted: 503,
    StorageBusy: 503,
    StorageUnanswered: 504,
    StorageFull: 507,
    StorageDamaged: 500,
    StorageError: 503,
}

# SEC: a refusal for one caller must not be cached for another.
_NO_STORE = ("cache-control", "no-store")
_REFUSED = (("content-type", JSON), _NO_STORE)
_REFUSED_PROBLEM = (("content-type", PROBLEM_JSON), _NO_STORE)

_RETRY_AFTER_SECONDS = "1"
_VALIDATION_MESSAGE = "Invalid twin specified"  # SPEC: the vendor puts every reason in `details`


def find_status(kind: type[TwinframeError]) -> int:
    """Return the HTTP status of an error class: that of its nearest mapped base class, else 500."""
    if issubclass(kind, HttpError):
        return kind.status
    return next((_STATUS[base] for base in kind.__mro__ if base in _STATUS), 500)


def build_status(error: TwinframeError) -> int:
    """Return the HTTP status of an error: 429 for an exceeded rate, 403 for another quota."""
    if isinstance(error, OperationRefused):
        return build_status(error.reason)
    if isinstance(error, QuotaExceeded) and error.retry_after is not None:
        return 429
    return find_status(type(error))


def build_retry_after(error: TwinframeError) -> str:
    """Return the seconds after which to try again: those of the error, else one."""
    if isinstance(error, QuotaExceeded | RateExceeded | TooManyJobs):
        known = error.retry_after
        return _RETRY_AFTER_SECONDS if known is None else str(known)
    return _RETRY_AFTER_SECONDS


def build_answer(
    error: TwinframeError, *, patches_twin: bool = False, request_id: str = ""
) -> ErrorAnswer:
    """Return the HTTP answer to an error.

    `patches_twin` means that the request patched a whole twin: the vendor's problem document for a
    patch of non-objects then has one more member and names the request by its id.
    """
    if isinstance(error, OperationRefused):
        return _build_refused_operation(error)
    if isinstance(error, PatchNotObjects):
        return _build_problem(error, patches_twin, request_id)
    if isinstance(error, PermissionMissing):
        return _build_forbidden(error)
    if isinstance(error, ScopeMissing):
        return _build_scope_missing(error)
    status = build_status(error)
    message, details = error.public, error.details
    if isinstance(error, ValidationFailed):
        details = details or (ErrorDetail(error.code, message),)
        message = _VALIDATION_MESSAGE
    headers = [("content-type", JSON)]
    if not isinstance(error, EmptyBody):  # SPEC: recorded: the answer to no body has no code header
        headers.append(("x-ms-error-code", error.code))
    if isinstance(error, QuotaExceeded | RateExceeded):
        headers.append(_NO_STORE)
    if status in (429, 503):
        headers.append(("retry-after", build_retry_after(error)))
    if isinstance(error, MethodNotAllowed):
        headers.append(("allow", ", ".join(error.allowed)))
    return ErrorAnswer(status, render_envelope(error.code, message, details), tuple(headers))


def build_single(error: TwinframeError) -> TwinframeError:
    """Return the error of one part of a request, in a form that always has the envelope."""
    if not isinstance(error, PatchNotObjects):
        return error
    places = ", ".join(str(position) for position in error.positions)
    return JsonPatchInvalid(f"{error.message} These are none: {places}.")


def build_error_body(error: TwinframeError) -> tuple[int, dict[str, object]]:
    """Return status and `error` member of the answer to one part of a request."""
    answer = build_answer(build_single(error))
    body: dict[str, dict[str, object]] = orjson.loads(answer.body)
    return answer.status, body["error"]


def _build_refused_operation(error: OperationRefused) -> ErrorAnswer:
    """Answer as the single call would, with the operation's position in message and `index`."""
    answer = build_answer(build_single(error.reason))
    body = orjson.loads(answer.body)
    body["error"]["message"] = f"Operation {error.index} ({error.name}): {body['error']['message']}"
    body["error"]["index"] = error.index
    return replace(answer, body=orjson.dumps(body))


def build_http_answer(status: int, title: str | None, description: str | None) -> ErrorAnswer:
    """Return the answer to an error of the web framework: its status and texts in our envelope."""
    code = "".join(word.capitalize() for word in http.HTTPStatus(status).phrase.split())
    message = description or title or http.HTTPStatus(status).description
    headers = (("content-type", JSON), ("x-ms-error-code", code))
    return ErrorAnswer(status, render_envelope(code, message), headers)


def render_envelope(code: str, message: str, details: tuple[ErrorDetail, ...] = ()) -> bytes:
    """Return the vendor's error body: `{"error":{"code","message"[,"details"]}}`.

    A detail is `{"code","message"[,"target"]}`; `target` is its location in the request.
    """
    error: dict[str, object] = {"code": code, "message": render_text(message)}
    if details:
        error["details"] = [
            {
                "code": detail.code,
                "message": render_text(detail.message),
                **({"target": render_text(detail.target)} if detail.target else {}),
            }
            for detail in details
        ]
    return orjson.dumps({"error": error})


def render_text(text: str) -> str:
    """Return text that UTF-8 can encode: a lone surrogate quoted from a bad input becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _build_forbidden(error: PermissionMissing) -> ErrorAnswer:
    body = {
        "type": "https://tools.ietf.org/html/rfc7231#section-6.5.3",
        "title": "Forbidden",
        "status": 403,
        "detail": error.message,
    }
    return ErrorAnswer(403, orjson.dumps(body), _REFUSED_PROBLEM)


def _build_scope_missing(error: ScopeMissing) -> ErrorAnswer:
    body = {
        "error": "insufficient_scope",
        "error_description": error.message,
        "scope": " ".join(error.scopes),
    }
    return ErrorAnswer(403, orjson.dumps(body), _REFUSED)


def _build_problem(error: PatchNotObjects, patches_twin: bool, request_id: str) -> ErrorAnswer:
    # SPEC: RFC 7807 as the vendor's model binding writes it when patch elements are no objects.
    reasons: dict[str, list[str]] = {
        f"[{position}]": [render_text(error.message)] for position in error.positions
    }
    if patches_twin:
        reasons["jsonPatchDocument"] = ["The jsonPatchDocument field is required."]
    body = orjson.dumps(
        {
            "errors": reasons,
            "type": "https://tools.ietf.org/html/rfc7231#section-6.5.1",
            "title": "One or more validation errors occurred.",
            "status": 400,
            "detail": None,
            "instance": None,
            "extensions": {"traceId": request_id},
        }
    )
    return ErrorAnswer(400, body, (("content-type", PROBLEM_JSON),))
