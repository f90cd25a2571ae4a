"""The routes of bulk writes and transactions, which the vendor does not have."""

from __future__ import annotations

from typing import Final

from twinframe.http.graph import bulk, bulk_schemas
from twinframe.http.operations import Answer, Body, Parameter, Route

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
        "POST",
        "/digitaltwins",
        "Bulk_PutTwins",
        "Create or replace many twins",
        "digitaltwins/write",
        bulk.put_twins,
        Answer(200, "What became of each.", bulk_schemas.BulkTwinResult),
        "Bulk",
        _CONDITIONS,
        Body(list[bulk_schemas.BulkTwin]),
        {400: "InvalidArgument, LimitExceeded", 413: _TOO_LARGE},
        is_strict=True,
    ),
    Route(
        "POST",
        "/relationships",
        "Bulk_PutRelationships",
        "Create or replace many relationships",
        "digitaltwins/relationships/write",
        bulk.put_relationships,
        Answer(200, "What became of each.", bulk_schemas.BulkRelationshipResult),
        "Bulk",
        _CONDITIONS,
        Body(list[bulk_schemas.BulkRelationship]),
        {400: "InvalidArgument, LimitExceeded", 413: _TOO_LARGE},
        is_strict=True,
    ),
    Route(
        "POST",
        "/$transaction",
        "Transactions_Run",
        "Apply several writes, all or none; each needs its own permission too",
        "digitaltwins/write",
        bulk.run_transaction,
        Answer(200, "What each operation made.", bulk_schemas.TransactionResult),
        "Bulk",
        body=Body(bulk_schemas.Transaction),
        errors={400: _OPERATIONS, 404: _ABSENT, 412: "PreconditionFailed", 413: _TOO_LARGE},
        is_strict=True,
    ),
)
