"""Bulk writes and transactions, which the vendor does not have: shapes, responders and routes.

A bulk request that could be parsed is answered with 200 and a result for each item. A refused
transaction is answered as the single call of the operation at fault would be.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

import orjson
from falcon.asgi import Request, Response
from pydantic import Field

from twinframe.errors import StorageError
from twinframe.graph.twins.bulk import ItemResult
from twinframe.http.access import authorize_parts
from twinframe.http.api_context import GraphApiContext
from twinframe.http.bodies import BodyLimit
from twinframe.http.errors import build_error_body
from twinframe.http.graph.schemas import (
    ETAG_EXAMPLE,
    DigitalTwin,
    ErrorBody,
    PatchOperation,
    Relationship,
    Shape,
)
from twinframe.http.messages import read_conditions, read_exchange, read_json
from twinframe.http.operations import Answer, Body, Parameter, Route
from twinframe.model.etags import parse_put_condition
from twinframe.model.values import JsonValue
from twinframe.settings import BulkSettings

_CONDITION = Field(None, alias="ifMatch", description="As `If-Match`.", examples=[ETAG_EXAMPLE])
_NEW = Field(None, alias="ifNoneMatch", description="`*`: only create, never replace.")


class BulkTwin(DigitalTwin):
    """A twin as it is put, named by its `$dtId`."""

    dt_id: str = Field(alias="$dtId")


class BulkRelationship(Relationship):
    """A relationship as it is put, named by `$sourceId` and `$relationshipId`."""

    relationship_id: str = Field(alias="$relationshipId")
    source_id: str = Field(alias="$sourceId")


class ItemOutcome(Shape):
    """What became of one item: `etag` when it was stored, else `error`, as a single PUT's."""

    is_success: bool = Field(alias="isSuccess")
    status: int = Field(description="The HTTP status of the same single PUT.")
    etag: str | None
    error_message: str | None = Field(alias="errorMessage")
    error: ErrorBody | None


class TwinOutcome(ItemOutcome):
    """What became of one twin."""

    digital_twin_id: str | None = Field(alias="digitalTwinId")


class RelationshipOutcome(ItemOutcome):
    """What became of one relationship."""

    source_id: str | None = Field(alias="sourceId")
    relationship_id: str | None = Field(alias="relationshipId")


class _BulkResult(Shape):
    success_count: int = Field(alias="successCount")
    failure_count: int = Field(alias="failureCount")
    has_failures: bool = Field(alias="hasFailures")


class BulkTwinResult(_BulkResult):
    """What became of each twin, in the order of the request."""

    results: list[TwinOutcome]


class BulkRelationshipResult(_BulkResult):
    """What became of each relationship, in the order of the request."""

    results: list[RelationshipOutcome]


class _OfTwin(Shape):
    twin_id: str = Field(alias="twinId")


class _OfRelationship(Shape):
    source_id: str = Field(alias="sourceId")
    relationship_id: str = Field(alias="relationshipId")


class PutTwinOperation(_OfTwin):
    """Create or replace a twin."""

    op: Literal["putTwin"]
    document: DigitalTwin
    if_none_match: Literal["*"] | None = _NEW
    if_match: str | None = _CONDITION


class PatchTwinOperation(_OfTwin):
    """Patch a twin."""

    op: Literal["patchTwin"]
    patch: list[PatchOperation]
    if_match: str | None = _CONDITION


class DeleteTwinOperation(_OfTwin):
    """Delete a twin that has no relationships by then."""

    op: Literal["deleteTwin"]
    if_match: str | None = _CONDITION


class PatchComponentOperation(_OfTwin):
    """Patch a component; the etag is the twin's."""

    op: Literal["patchComponent"]
    component: str
    patch: list[PatchOperation]
    if_match: str | None = _CONDITION


class PutRelationshipOperation(_OfRelationship):
    """Create or replace a relationship."""

    op: Literal["putRelationship"]
    document: Relationship
    if_none_match: Literal["*"] | None = _NEW
    if_match: str | None = _CONDITION


class PatchRelationshipOperation(_OfRelationship):
    """Patch the properties of a relationship."""

    op: Literal["patchRelationship"]
    patch: list[PatchOperation]
    if_match: str | None = _CONDITION


class DeleteRelationshipOperation(_OfRelationship):
    """Delete a relationship."""

    op: Literal["deleteRelationship"]
    if_match: str | None = _CONDITION


AnyOperation = Annotated[
    PutTwinOperation
    | PatchTwinOperation
    | DeleteTwinOperation
    | PatchComponentOperation
    | PutRelationshipOperation
    | PatchRelationshipOperation
    | DeleteRelationshipOperation,
    Field(discriminator="op"),
]


class Transaction(Shape):
    """Operations that are applied in order, all of them or none."""

    operations: list[AnyOperation]


class OperationOutcome(Shape):
    """What an operation made: the new etag, null for what was deleted."""

    status: int = Field(description="The HTTP status of the same single call.")
    etag: str | None


class TransactionResult(Shape):
    """What each operation made, in the order of the request."""

    results: list[OperationOutcome]


logger = logging.getLogger(__name__)

PERMISSIONS: Final[Mapping[str, str]] = {
    "putTwin": "digitaltwins/write",
    "patchTwin": "digitaltwins/write",
    "deleteTwin": "digitaltwins/delete",
    "patchComponent": "digitaltwins/write",
    "putRelationship": "digitaltwins/relationships/write",
    "patchRelationship": "digitaltwins/relationships/write",
    "deleteRelationship": "digitaltwins/relationships/delete",
}
"""The permission that each operation of a transaction needs: that of its single call."""

_STATUS: Final[Mapping[str, int]] = {"putTwin": 200, "putRelationship": 200}
_TWIN: Final = ("digitalTwinId",)
_RELATIONSHIP: Final = ("sourceId", "relationshipId")


async def put_twins(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: create or replace twins; 200 with a result for each."""
    bulk = api.graph.bulk
    documents = await _read_body(api, request, bulk.limits)
    condition = parse_put_condition(*read_conditions(request))
    results = await bulk.put_twins(documents, condition)
    response.data = _render_results(results, _TWIN)


async def put_relationships(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: create or replace relationships; 200 with a result for each."""
    bulk = api.graph.bulk
    documents = await _read_body(api, request, bulk.limits)
    condition = parse_put_condition(*read_conditions(request))
    results = await bulk.put_relationships(documents, condition)
    response.data = _render_results(results, _RELATIONSHIP)


async def run_transaction(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: apply the operations; 200 with the new etag of each."""
    transactions = api.graph.transactions
    operations = await transactions.parse(await _read_body(api, request, transactions.limits))
    needed = dict.fromkeys(PERMISSIONS[operation.name] for operation in operations)
    await authorize_parts(read_exchange(request), needed)
    etags = await transactions.run(operations)
    results = [
        {"status": _STATUS.get(operation.name, 204), "etag": etag}
        for operation, etag in zip(operations, etags, strict=True)
    ]
    response.data = orjson.dumps({"results": results})


async def _read_body(api: GraphApiContext, request: Request, limits: BulkSettings) -> JsonValue:
    return await read_json(api, request, BodyLimit(limits.max_body_bytes, "Bulk__MaxBodyBytes"))


def _render_results(results: Sequence[ItemResult], names: tuple[str, ...]) -> bytes:
    failed = [result.error for result in results if result.error is not None]
    stopped = next((error for error in failed if isinstance(error, StorageError)), None)
    if stopped is not None:
        logger.warning("A bulk write ended early: %s: %s", stopped.code, stopped.message)
    return orjson.dumps(
        {
            "results": [
                dict(zip(names, result.key, strict=True)) | _build_outcome(result)
                for result in results
            ],
            "successCount": len(results) - len(failed),
            "failureCount": len(failed),
            "hasFailures": bool(failed),
        }
    )


def _build_outcome(result: ItemResult) -> dict[str, object]:
    status, error = 200, None
    if result.error is not None:
        status, error = build_error_body(result.error)
    return {
        "isSuccess": error is None,
        "status": status,
        "etag": result.etag,
        "errorMessage": None if error is None else error["message"],
        "error": error,
    }


_CONDITIONS = (
    Parameter("If-None-Match", "header", "`*`: only create, never replace any."),
    Parameter("If-Match", "header", "`*`, or the ETag that each must have: only replace."),
)
_TOO_LARGE = "RequestBodyTooLarge"
_OPERATIONS = (
    "InvalidArgument, InvalidRelationship, JsonPatchInvalid, LimitExceeded, ModelDecommissioned, "
    "OperationNotAllowed, RelationshipsNotDeleted, ValidationFailed"
)
_ABSENT = "DigitalTwinNotFound, RelationshipNotFound, TargetDigitalTwinNotFound"

BULK_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "POST /digitaltwins",
        "Bulk_PutTwins",
        "Create or replace many twins",
        "digitaltwins/write",
        put_twins,
        Answer(200, "What became of each.", BulkTwinResult),
        "Bulk",
        _CONDITIONS,
        Body(list[BulkTwin]),
        {400: "InvalidArgument, LimitExceeded", 413: _TOO_LARGE},
        is_strict=True,
    ),
    Route(
        "POST /relationships",
        "Bulk_PutRelationships",
        "Create or replace many relationships",
        "digitaltwins/relationships/write",
        put_relationships,
        Answer(200, "What became of each.", BulkRelationshipResult),
        "Bulk",
        _CONDITIONS,
        Body(list[BulkRelationship]),
        {400: "InvalidArgument, LimitExceeded", 413: _TOO_LARGE},
        is_strict=True,
    ),
    Route(
        "POST /$transaction",
        "Transactions_Run",
        "Apply several writes, all or none; each needs its own permission too",
        "digitaltwins/write",
        run_transaction,
        Answer(200, "What each operation made.", TransactionResult),
        "Bulk",
        body=Body(Transaction),
        errors={400: _OPERATIONS, 404: _ABSENT, 412: "PreconditionFailed", 413: _TOO_LARGE},
        is_strict=True,
    ),
)
