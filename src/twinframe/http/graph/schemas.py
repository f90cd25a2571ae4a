"""Pydantic shapes of the data plane's bodies, for the OpenAPI document only.

Twins and relationships are validated against their DTDL models by the use cases; here they are open
objects with the members that every one of them has.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

T = TypeVar("T")

ETAG_EXAMPLE = 'W/"0a8f2c51-9f2e-4b6a-8a57-3d1f5e1f9b11"'


class Shape(BaseModel):
    """Base of all shapes: members may be given by their Python names.

    PERF: they are built when the document is, by whoever asks for it; 25 ms that no start needs.
    """

    model_config = ConfigDict(populate_by_name=True, defer_build=True)


class OpenShape(Shape):
    """A shape with further members, defined by a DTDL model."""

    model_config = ConfigDict(populate_by_name=True, extra="allow")


class TwinMetadata(OpenShape):
    """When each property was written, and the model."""

    model: str = Field(alias="$model", examples=["dtmi:example:Room;1"])
    last_update_time: str = Field("", alias="$lastUpdateTime")


class DigitalTwin(OpenShape):
    """A twin: its properties and components stand beside these members."""

    dt_id: str = Field("", alias="$dtId", description="Given by the URL; ignored in a request.")
    etag: str = Field("", alias="$etag", description="Set by the service.", examples=[ETAG_EXAMPLE])
    metadata: TwinMetadata = Field(alias="$metadata")


class DigitalTwinComponent(OpenShape):
    """A component: its properties stand beside `$metadata`."""

    metadata: dict[str, Any] = Field(default_factory=dict, alias="$metadata")


class Relationship(OpenShape):
    """A relationship: its properties stand beside these members."""

    relationship_id: str = Field("", alias="$relationshipId", description="Given by the URL.")
    etag: str = Field("", alias="$etag", description="Set by the service.", examples=[ETAG_EXAMPLE])
    source_id: str = Field("", alias="$sourceId", description="Given by the URL.")
    relationship_name: str = Field(alias="$relationshipName")
    target_id: str = Field(alias="$targetId")


class IncomingRelationship(Shape):
    """A relationship seen from its target."""

    relationship_id: str = Field(alias="$relationshipId")
    source_id: str = Field(alias="$sourceId")
    relationship_name: str = Field(alias="$relationshipName")
    relationship_link: str = Field(alias="$relationshipLink")


class DigitalTwinsModelData(Shape):
    """A stored model; `model` only where the definition was asked for."""

    id: str = Field(examples=["dtmi:example:Room;1"])
    description: dict[str, str] = Field(default_factory=dict)
    display_name: dict[str, str] = Field(default_factory=dict, alias="displayName")
    decommissioned: bool = False
    upload_time: str = Field(alias="uploadTime")
    model: dict[str, Any] | None = None


class WholeModelData(DigitalTwinsModelData):
    """A stored model; all but its own members only with `includeBaseModelContents`.

    `model` has the contents and schemas of its bases beside its own then; `bases` are all that it
    extends, nearest first.
    """

    bases: list[str] | None = None
    properties: list[dict[str, Any]] | None = None
    relationships: list[dict[str, Any]] | None = None
    components: list[dict[str, Any]] | None = None
    telemetries: list[dict[str, Any]] | None = None
    commands: list[dict[str, Any]] | None = None


class PatchOperation(Shape):
    """One operation of a JSON Patch (RFC 6902); add, replace and remove are supported."""

    op: Literal["add", "replace", "remove"]
    path: str = Field(examples=["/temperature"])
    value: JsonValue = None


class QuerySpecification(Shape):
    """A query, or the token of its next page."""

    # NOTE: as a whole, or Swagger UI composes a body of each field's example.
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "SELECT TOP(10) * FROM DIGITALTWINS T WHERE IS_DEFINED(T.name)"}]
        }
    )

    query: str | None = None
    parameters: dict[str, JsonValue] | None = Field(
        None, description="Values of the query's parameters, by name without `$`."
    )
    continuation_token: str | None = Field(None, alias="continuationToken")
    as_of: str | int | None = Field(
        None,
        alias="asOf",
        description="Answer as of this moment: a date and time with an offset, or the position of "
        "an event.",
        examples=["2026-03-01T14:05:00Z"],
    )


class CypherStatement(Shape):
    """A statement of Cypher that may write; `rehearse` runs it and keeps nothing."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "MATCH (r:Room) WITH r LIMIT 1 SET r.name = $name RETURN r.name",
                    "parameters": {"name": "Lounge"},
                    "rehearse": True,
                }
            ]
        }
    )

    query: str
    parameters: dict[str, JsonValue] | None = Field(
        None, description="Values of the statement's parameters, by name without `$`."
    )
    rehearse: bool = Field(False, description="Answer as if it had run, and change nothing.")


class Statistics(Shape):
    """What a statement changed."""

    nodes_created: int = Field(alias="nodesCreated")
    nodes_deleted: int = Field(alias="nodesDeleted")
    relationships_created: int = Field(alias="relationshipsCreated")
    relationships_deleted: int = Field(alias="relationshipsDeleted")
    properties_set: int = Field(alias="propertiesSet")
    labels_added: int = Field(alias="labelsAdded")
    labels_removed: int = Field(alias="labelsRemoved")


class CypherResult(Shape):
    """All rows of a statement, and what it changed."""

    columns: list[str]
    value: list[dict[str, Any]]
    statistics: Statistics
    rehearsed: bool


class QueryWarning(Shape):
    """A name of the query that no stored model knows; line and column count from 1."""

    code: str = Field(examples=["UnknownProperty"])
    message: str
    line: int
    column: int
    suggestion: str | None


class QueryResult(Shape):
    """One page of rows; the first may carry warnings."""

    value: list[dict[str, Any]]
    continuation_token: str | None = Field(alias="continuationToken")
    warnings: list[QueryWarning] | None = Field(
        None, description="Present where names of the query are unknown to the models."
    )


class Listing(Shape, Generic[T]):
    """One page of a listing; `nextLink` is null on the last."""

    value: list[T]
    next_link: str | None = Field(alias="nextLink")


class EventRoute(Shape):
    """Sends the events that pass a filter to an endpoint."""

    id: str = ""
    endpoint_name: str = Field(alias="endpointName")
    filter: str


class Health(Shape):
    """State of the service."""

    status: str


class ErrorDetail(Shape):
    """One finding; `target` is a JSON pointer into what was refused."""

    code: str
    message: str
    target: str | None = None


class ErrorBody(ErrorDetail):
    """What was wrong."""

    details: list[ErrorDetail] | None = None


class ErrorResponse(Shape):
    """The body of every error but one."""

    error: ErrorBody


class Problem(Shape):
    """RFC 7807, for a patch whose elements are not objects."""

    type: str
    title: str
    status: int
    errors: dict[str, list[str]]
