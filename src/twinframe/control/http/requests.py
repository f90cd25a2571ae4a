"""The requests at the control plane's responders: bodies, pages, idempotency keys, query
parameters, and the answers.

Resource bodies are parsed by `control.resources.requests`, which keeps the given texts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar, cast

import orjson
from falcon.asgi import Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from twinframe.control.http.api_context import ControlApiContext
from twinframe.control.records.actors import Actor
from twinframe.control.records.idempotency import RequestKey, parse_request_key
from twinframe.control.records.listing import Listed, Slice
from twinframe.errors import ErrorDetail, InvalidArgument, ValidationFailed
from twinframe.errors.nearest import render_hint
from twinframe.http.bodies import check_count
from twinframe.http.guard import read_raw_path
from twinframe.http.messages import (
    JSON_TYPES,
    check_media_type,
    read_exchange,
    write_no_content,
)
from twinframe.http.operations import Responder
from twinframe.model.json import parse_json
from twinframe.model.values import JsonValue

_LONGEST_FIGURE = 10
_MOST_VALUES = 10_000


class Form(BaseModel):
    """Base of request bodies: members of the stated types, and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


F = TypeVar("F", bound=Form)
T = TypeVar("T")


class Call:
    """One request at a responder of the control plane, and its answer."""

    def __init__(self, api: ControlApiContext, request: Request, response: Response) -> None:
        self.api = api
        self.plane = api.plane
        self.actor = cast("Actor", request.context.actor)
        self.request = request
        self.response = response
        self._body = b""

    @property
    def part(self) -> Slice:
        """The part of a listing that `limit` and `offset` select. Raises `InvalidArgument`."""
        settings = self.api.settings
        limit = self._read_figure("limit", settings.page_size)
        if limit > settings.max_page_size:
            raise InvalidArgument(f"limit is from 1 to {settings.max_page_size}, not {limit}.")
        return Slice(limit, self._read_figure("offset", 0))

    @property
    def key(self) -> RequestKey | None:
        """The Idempotency-Key of the request, whose body was read; None without the header."""
        key = self.request.get_header("Idempotency-Key")
        if key is None:
            return None
        path = read_raw_path(read_exchange(self.request).scope).decode("ascii")
        return parse_request_key(key, f"{self.request.method} {path}", self._body)

    async def read_body(self) -> bytes:
        """Read the bytes of a JSON body. Raises `InvalidArgument` for one with too many values."""
        check_media_type(self.request.content_type, JSON_TYPES)
        self._body = await read_exchange(self.request).read_body()
        await check_count(self._body, _MOST_VALUES, "of the control plane")
        return self._body

    async def read_document(self) -> JsonValue:
        """Read a JSON body. Raises `InputError`."""
        return parse_json(await self.read_body(), self.api.json_limits)

    async def read_form(self, form: type[F]) -> F:
        """Read the members of a body. Raises `ValidationFailed` with all errors in `details`."""
        document = await self.read_document()
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

    def read_text(self, name: str) -> str | None:
        """Return a query parameter; None if it is absent."""
        text: str | None = self.request.get_param(name)
        return text

    def read_position(self, name: str) -> int | None:
        """Return a whole number from the query; None if it is absent. Raises `InvalidArgument`."""
        return None if self.read_text(name) is None else self._read_figure(name, 0)

    def read_choice(self, name: str, known: Collection[str], default: str) -> str:
        """Return one of the known words from the query.

        Raises `InvalidArgument` with the nearest word.
        """
        text = self.read_text(name) or default
        if text not in known:
            raise InvalidArgument(f"{name} is not {text[:100]!r}. {render_hint(text, known)}")
        return text

    def read_required(self, name: str) -> str:
        """Return a required query parameter. Raises `InvalidArgument` if it is missing."""
        text = self.read_text(name)
        if not text:
            raise InvalidArgument(f"The query parameter {name} is missing.")
        return text

    def write(self, view: Mapping[str, object], status: int = 200) -> None:
        """Answer with an object."""
        self.response.status = status
        self.response.data = orjson.dumps(view)

    def write_created(self, view: Mapping[str, object], location: str) -> None:
        """Answer 201 with a new object and its location."""
        self.response.set_header("location", location)
        self.write(view, 201)

    def write_page(self, name: str, listed: Listed[T], build: Callable[[T], object]) -> None:
        """Answer with a part of a listing."""
        part = listed.wanted
        items = [build(item) for item in listed.items]
        view = {name: items, "total": listed.total, "limit": part.limit, "offset": part.offset}
        self.write(view)

    def write_nothing(self) -> None:
        """Answer 204."""
        write_no_content(self.response)

    def _read_figure(self, name: str, default: int) -> int:
        text = self.read_text(name)
        if text is None:
            return default
        if text.isascii() and text.isdigit() and len(text) <= _LONGEST_FIGURE:
            return int(text)
        raise InvalidArgument(f"{name} must be a whole number, not {text[:100]!a}.")


def respond(run: Callable[..., Awaitable[None]]) -> Responder:
    """Build the responder of a route from a function of the call and the names in the path."""

    async def responder(
        api: ControlApiContext, request: Request, response: Response, **names: str
    ) -> None:
        await run(Call(api, request, response), **names)

    return responder


def _render_finding(finding: ErrorDetails, form: type[Form]) -> str:
    place = ".".join(str(part) for part in finding["loc"])
    if finding["type"] == "extra_forbidden":
        return f"{place} is no member of this body. {render_hint(place, form.model_fields)}"
    return f"{place}: {finding['msg']}."
