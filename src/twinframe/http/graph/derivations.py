"""Derived properties, which the vendor does not have: their definitions and how far they are."""

from __future__ import annotations

from typing import Final

import orjson
from falcon.asgi import Request, Response
from pydantic import Field

from twinframe.graph.derivations.derivations import DerivationState
from twinframe.http.access import authorize_parts
from twinframe.http.api_context import GraphApiContext
from twinframe.http.graph import schemas
from twinframe.http.graph.schemas import Shape
from twinframe.http.messages import (
    read_conditions,
    read_exchange,
    read_json,
    read_page_request,
    write_no_content,
    write_page,
)
from twinframe.http.operations import PAGE_SIZE, TOKEN, Answer, Body, Parameter, Route
from twinframe.model.etags import parse_put_condition

_TWINS: Final = ("digitaltwins/read",)
"""SEC: errors name twins and quote values, which not everyone may read who may read models."""


class DerivationBody(Shape):
    """The definition of a derived property."""

    model: str = Field(examples=["dtmi:com:example:Building;1"])
    property: str = Field(
        description="A property of the model, which callers no longer write.",
        examples=["averageTemperature"],
    )
    match: str = Field(
        "",
        description="A Cypher pattern that begins at (this), with its WHERE.",
        examples=["(this)-[:contains*1..2]->(r:Room)"],
    )
    value: str = Field(description="A Cypher expression over it.", examples=["avg(r.temperature)"])
    settle_seconds: float | None = Field(
        None,
        alias="settleSeconds",
        description="Seconds for which changes are gathered, if not those of the settings.",
    )


class DerivationError(Shape):
    """The last value that could not be computed."""

    digital_twin_id: str = Field(alias="digitalTwinId")
    message: str
    time: str


class DerivationDocument(DerivationBody):
    """A definition, and up to where its values are true."""

    id: str
    state: str = Field(
        description="`current`; `behind` for a moment; `computing` all twins; `halted`."
    )
    halted: str | None = Field(description="Why it is not followed.")
    position: int = Field(description="The last change of the graph that its values have.")
    last_position: int = Field(alias="lastPosition", description="The last change of the graph.")
    behind: int = Field(description="Changes in between; they need not concern it.")
    time: str | None = Field(description="When the state was read that its values are true of.")
    done: int = Field(description="Twins computed since it was defined.")
    total: int = Field(description="Twins that there were then.")
    computed: int = Field(description="Values computed.")
    written: int = Field(description="Values that differed, and were written.")
    errors: int = Field(description="Values that could not be computed, and are null.")
    last_error: DerivationError | None = Field(alias="lastError")
    query: str = Field(description="The query of its values, for the twins `$ids`.")


async def put_derivation(
    api: GraphApiContext, request: Request, response: Response, derivation_id: str
) -> None:
    """PUT: 200 with the derivation."""
    await authorize_parts(read_exchange(request), _TWINS)
    document = await read_json(api, request, api.bodies.limits.query)
    condition = parse_put_condition(*read_conditions(request))
    response.data = _render(await api.graph.derivations.put(derivation_id, document, condition))


async def read_derivation(
    api: GraphApiContext, request: Request, response: Response, derivation_id: str
) -> None:
    """GET: the derivation and its progress."""
    await authorize_parts(read_exchange(request), _TWINS)
    response.data = _render(await api.graph.derivations.read(derivation_id))


async def list_derivations(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: a page of derivations."""
    await authorize_parts(read_exchange(request), _TWINS)
    page = await api.graph.derivations.list_all(read_page_request(request))
    write_page(api, request, response, page, [*map(_render, page.items)])


async def delete_derivation(
    api: GraphApiContext, _request: Request, response: Response, derivation_id: str
) -> None:
    """DELETE: 204."""
    await api.graph.derivations.delete(derivation_id)
    write_no_content(response)


def _render(state: DerivationState) -> bytes:
    derivation, progress = state.derivation, state.progress
    error = None
    if progress.error:
        error = {
            "digitalTwinId": progress.error_twin,
            "message": progress.error,
            "time": progress.error_time,
        }
    return orjson.dumps(
        {
            "id": derivation.id,
            "model": derivation.model,
            "property": derivation.property_name,
            "match": derivation.match,
            "value": derivation.value,
            "settleSeconds": derivation.settle_seconds,
            "state": state.name,
            "halted": progress.halted or None,
            "position": progress.position,
            "lastPosition": state.last,
            "behind": state.behind,
            "time": progress.time or None,
            "done": progress.done,
            "total": progress.total,
            "computed": progress.computed,
            "written": progress.written,
            "errors": progress.errors,
            "lastError": error,
            "query": state.query,
        }
    )


_TAG: Final = "Derived properties"
_DERIVATION: Final = "/derivations/{derivation_id}"
_MISSING: Final = {404: "DerivationNotFound"}
_SHOWN: Final = Answer(200, "The derivation.", DerivationDocument)

DERIVATION_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET /derivations",
        "Derivations_List",
        "List derived properties",
        "models/read",
        list_derivations,
        Answer(200, "A page.", schemas.Listing[DerivationDocument]),
        _TAG,
        (PAGE_SIZE, TOKEN),
        errors={400: "BadRequest, InvalidArgument"},
        is_strict=True,
    ),
    Route(
        f"GET {_DERIVATION}",
        "Derivations_Read",
        "Read a derived property and its progress",
        "models/read",
        read_derivation,
        _SHOWN,
        _TAG,
        errors=_MISSING,
        is_strict=True,
    ),
    Route(
        f"PUT {_DERIVATION}",
        "Derivations_Put",
        "Define a derived property",
        "models/write",
        put_derivation,
        _SHOWN,
        _TAG,
        (
            Parameter("If-None-Match", "header", "`*`: only create, never replace."),
            Parameter("If-Match", "header", "`*`: only replace, never create."),
        ),
        Body(DerivationBody),
        {
            400: "DerivationInvalid, InvalidArgument, LimitExceeded",
            412: "PreconditionFailed",
        },
        is_strict=True,
    ),
    Route(
        f"DELETE {_DERIVATION}",
        "Derivations_Delete",
        "Delete a derived property",
        "models/delete",
        delete_derivation,
        Answer(204, "Done."),
        _TAG,
        errors=_MISSING,
        is_strict=True,
    ),
)
