"""Pydantic shapes of bulk requests and transactions, for the OpenAPI document only."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from twinframe.http.graph.schemas import (
    ETAG_EXAMPLE,
    DigitalTwin,
    ErrorBody,
    PatchOperation,
    Relationship,
    Shape,
)

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
