"""Request parsing for the control plane's responders: bodies, pages, idempotency keys and query
parameters.

Resource bodies are parsed by `control.resources.requests`, which keeps the given texts.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from falcon.asgi import Request
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from twinframe.control.records.idempotency import RequestKey, parse_request_key
from twinframe.control.records.listing import Slice
from twinframe.errors import ErrorDetail, InvalidArgument, ValidationFailed
from twinframe.errors.nearest import render_hint
from twinframe.http.bodies import check_count
from twinframe.http.guard import read_raw_path
from twinframe.http.messages import JSON_TYPES, check_media_type, read_exchange
from twinframe.model.json import JsonLimits, parse_json
from twinframe.settings import ControlSettings

_LONGEST_FIGURE = 10
_MOST_VALUES = 10_000


class Form(BaseModel):
    """Base of request bodies: members of the stated types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


F = TypeVar("F", bound=Form)


async def read_body(request: Request) -> bytes:
    """Return the bytes of a JSON body. Raises `InvalidArgument` for one with too many values."""
    check_media_type(request.content_type, JSON_TYPES)
    body = await read_exchange(request).read_body()
    await check_count(body, _MOST_VALUES, "of the control plane")
    return body


def parse_form(body: bytes, form: type[F], limits: JsonLimits) -> F:
    """Return the members of a body. Raises `ValidationFailed` with all errors in `details`."""
    document = parse_json(body, limits)
    if not isinstance(document, dict):
        raise ValidationFailed("The body must be a JSON object.")
    try:
        return form.model_validate(document)
    except ValidationError as error:
        findings = error.errors(include_url=False)
        raise ValidationFailed(
            "The request is not valid.",
            details=tuple(
                ErrorDetail("InvalidArgument", _render_finding(finding, form))
                for finding in findings
            ),
        ) from error


def parse_key(request: Request, body: bytes) -> RequestKey | None:
    """Return the Idempotency-Key of a request with this body; None without the header."""
    key = request.get_header("Idempotency-Key")
    if key is None:
        return None
    path = read_raw_path(read_exchange(request).scope).decode("ascii")
    return parse_request_key(key, f"{request.method} {path}", body)


def parse_slice(request: Request, settings: ControlSettings) -> Slice:
    """Return the part of a listing that `limit` and `offset` select. Raises `InvalidArgument`."""
    limit = _parse_figure(request, "limit", settings.page_size)
    if limit > settings.max_page_size:
        raise InvalidArgument(f"limit is from 1 to {settings.max_page_size}, not {limit}.")
    return Slice(limit, _parse_figure(request, "offset", 0))


def parse_position(request: Request, name: str) -> int | None:
    """Return a whole number from the query; None if it is absent. Raises `InvalidArgument`."""
    return None if request.get_param(name) is None else _parse_figure(request, name, 0)


def read_choice(request: Request, name: str, known: Collection[str], default: str) -> str:
    """Return one of the known words from the query.

    Raises `InvalidArgument` with the nearest word.
    """
    text: str = request.get_param(name) or default
    if text not in known:
        hint = render_hint(text, sorted(known))
        raise InvalidArgument(f"{name} is not {text[:100]!r}. {hint}")
    return text


def read_required(request: Request, name: str) -> str:
    """Return a required query parameter. Raises `InvalidArgument` if it is missing."""
    text: str | None = request.get_param(name)
    if not text:
        raise InvalidArgument(f"The query parameter {name} is missing.")
    return text


def _parse_figure(request: Request, name: str, default: int) -> int:
    text = request.get_param(name)
    if text is None:
        return default
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_FIGURE:
        return int(text)
    raise InvalidArgument(f"{name} must be a whole number, not {text[:100]!a}.")


def _render_finding(finding: ErrorDetails, form: type[Form]) -> str:
    place = ".".join(str(part) for part in finding["loc"])
    if finding["type"] == "extra_forbidden":
        return f"{place} is no member of this body. {render_hint(place, form.model_fields)}"
    return f"{place}: {finding['msg']}."
