"""The route table of the data plane: all its operations, with the permission that each needs.

The application, the OpenAPI document and the permission check are built from this table. Responders
are in `graph` and in the modules beside this one.
"""

from __future__ import annotations

from typing import Any

from twinframe.http.graph import models, query, relationships, schemas, twins
from twinframe.http.graph.bulk import BULK_ROUTES
from twinframe.http.graph.cypher import CYPHER_ROUTES
from twinframe.http.graph.derivations import DERIVATION_ROUTES
from twinframe.http.graph.events import EVENT_ROUTES
from twinframe.http.graph.history import HISTORY_ROUTES
from twinframe.http.graph.ingestion import INGESTION_ROUTES
from twinframe.http.graph.jobs import JOB_ROUTES
from twinframe.http.graph.permissions import PERMISSION_ROUTES
from twinframe.http.graph.series import SERIES_ROUTES
from twinframe.http.graph.triples import TRIPLE_ROUTES
from twinframe.http.graph.uploads import UPLOAD_ROUTES
from twinframe.http.graph.workspaces import WORKSPACE_ROUTES
from twinframe.http.operations import AS_OF, PAGE_SIZE, TOKEN, Answer, Body, Parameter, Route
from twinframe.http.service_routes import SERVICE_ROUTES

_ETAG = {"ETag": "The version of the document, weak."}
_NO_CONTENT = Answer(204, "Done.")
_PATCHED = Answer(204, "Patched.", headers=_ETAG)
_IF_MATCH = Parameter("If-Match", "header", "`*`, or the ETag the document must have.")
_IF_NONE_MATCH = Parameter("If-None-Match", "header", "`*`: only create, never replace.")
_PUT_IF_MATCH = Parameter("If-Match", "header", "`*`, or the ETag it must have: only replace.")
_IF_OTHER = Parameter("If-None-Match", "header", "An ETag the document must not have.")
_DEFINITION = Parameter("includeModelDefinition", "query", "Include the DTDL document.", bool)
_INHERITED = Parameter(
    "includeBaseModelContents",
    "query",
    "Include the DTDL document with all that it inherits merged in, and what it has by kind.",
    bool,
)
_PATCH = Body(list[schemas.PatchOperation], ("application/json-patch+json", "application/json"))
_TWIN = Answer(200, "The twin.", schemas.DigitalTwin, _ETAG)
_RELATIONSHIP = Answer(200, "The relationship.", schemas.Relationship, _ETAG)
_TELEMETRY = (
    Parameter("Message-Id", "header", "Id of the message; one is made if it is missing."),
    Parameter("Telemetry-Source-Time", "header", "When the message was measured."),
)

_PATCH_ERRORS = "InvalidArgument, JsonPatchInvalid, ValidationFailed"
_TWIN_PATCH_ERRORS = f"DerivedPropertyReadOnly, {_PATCH_ERRORS}"
_NO_TWIN = "DigitalTwinNotFound"
_NO_EDGE = "DigitalTwinNotFound, RelationshipNotFound"
_STALE = "PreconditionFailed"
_GONE = "HistoryNotKept"

_TWINS = "/digitaltwins/{twin_id}"
_COMPONENT = _TWINS + "/components/{component}"
_RELATIONSHIPS = _TWINS + "/relationships"
_EDGE = _RELATIONSHIPS + "/{relationship_id}"

_TWIN_ROUTES = (
    Route(
        f"GET {_TWINS}",
        "DigitalTwins_GetById",
        "Read a twin",
        "digitaltwins/read",
        twins.read_twin,
        _TWIN,
        "Twins",
        (AS_OF,),
        errors={400: "InvalidArgument", 404: _NO_TWIN, 410: _GONE},
    ),
    Route(
        f"PUT {_TWINS}",
        "DigitalTwins_Add",
        "Create or replace a twin",
        "digitaltwins/write",
        twins.put_twin,
        _TWIN,
        "Twins",
        (_IF_NONE_MATCH, _PUT_IF_MATCH),
        Body(schemas.DigitalTwin),
        {
            400: "DerivedPropertyReadOnly, InvalidArgument, ModelDecommissioned, ValidationFailed",
            412: _STALE,
        },
    ),
    Route(
        f"PATCH {_TWINS}",
        "DigitalTwins_Update",
        "Patch a twin",
        "digitaltwins/write",
        twins.patch_twin,
        _PATCHED,
        "Twins",
        (_IF_MATCH, _IF_OTHER),
        _PATCH,
        {400: _TWIN_PATCH_ERRORS, 404: _NO_TWIN, 412: _STALE},
    ),
    Route(
        f"DELETE {_TWINS}",
        "DigitalTwins_Delete",
        "Delete a twin without relationships",
        "digitaltwins/delete",
        twins.delete_twin,
        _NO_CONTENT,
        "Twins",
        (_IF_MATCH, _IF_OTHER),
        errors={400: "InvalidArgument, RelationshipsNotDeleted", 404: _NO_TWIN, 412: _STALE},
    ),
    Route(
        f"GET {_COMPONENT}",
        "DigitalTwins_GetComponent",
        "Read a component",
        "digitaltwins/read",
        twins.read_component,
        Answer(200, "The component.", schemas.DigitalTwinComponent, _ETAG),
        "Twins",
        (AS_OF,),
        errors={
            400: "InvalidArgument",
            404: "DigitalTwinNotFound, ComponentNotFound",
            410: _GONE,
        },
    ),
    Route(
        f"PATCH {_COMPONENT}",
        "DigitalTwins_UpdateComponent",
        "Patch a component",
        "digitaltwins/write",
        twins.patch_component,
        _PATCHED,
        "Twins",
        (_IF_MATCH, _IF_OTHER),
        _PATCH,
        {400: _PATCH_ERRORS, 404: _NO_TWIN, 412: _STALE},
    ),
    Route(
        f"POST {_TWINS}/telemetry",
        "DigitalTwins_SendTelemetry",
        "Send telemetry of a twin",
        "digitaltwins/write",
        twins.publish_telemetry,
        _NO_CONTENT,
        "Telemetry",
        _TELEMETRY,
        Body(dict[str, Any]),
        {400: "InvalidArgument, ValidationFailed", 404: _NO_TWIN},
    ),
    Route(
        f"POST {_COMPONENT}/telemetry",
        "DigitalTwins_SendComponentTelemetry",
        "Send telemetry of a component",
        "digitaltwins/write",
        twins.publish_telemetry,
        _NO_CONTENT,
        "Telemetry",
        _TELEMETRY,
        Body(dict[str, Any]),
        {400: "InvalidArgument, ValidationFailed", 404: "DigitalTwinNotFound, ComponentNotFound"},
    ),
)

_RELATIONSHIP_ROUTES = (
    Route(
        f"GET {_EDGE}",
        "DigitalTwins_GetRelationshipById",
        "Read a relationship",
        "digitaltwins/relationships/read",
        relationships.read_relationship,
        _RELATIONSHIP,
        "Relationships",
        (AS_OF,),
        errors={400: "InvalidArgument", 404: _NO_EDGE, 410: _GONE},
    ),
    Route(
        f"PUT {_EDGE}",
        "DigitalTwins_AddRelationship",
        "Create or replace a relationship",
        "digitaltwins/relationships/write",
        relationships.put_relationship,
        _RELATIONSHIP,
        "Relationships",
        (_IF_NONE_MATCH, _PUT_IF_MATCH),
        Body(schemas.Relationship),
        {
            400: "InvalidArgument, InvalidRelationship, OperationNotAllowed, ValidationFailed",
            404: "DigitalTwinNotFound, TargetDigitalTwinNotFound",
            412: _STALE,
        },
    ),
    Route(
        f"PATCH {_EDGE}",
        "DigitalTwins_UpdateRelationship",
        "Patch the properties of a relationship",
        "digitaltwins/relationships/write",
        relationships.patch_relationship,
        _PATCHED,
        "Relationships",
        (_IF_MATCH, _IF_OTHER),
        _PATCH,
        {400: f"InvalidRelationship, {_PATCH_ERRORS}", 404: _NO_EDGE, 412: _STALE},
    ),
    Route(
        f"DELETE {_EDGE}",
        "DigitalTwins_DeleteRelationship",
        "Delete a relationship",
        "digitaltwins/relationships/delete",
        relationships.delete_relationship,
        _NO_CONTENT,
        "Relationships",
        (_IF_MATCH, _IF_OTHER),
        errors={404: _NO_EDGE, 412: _STALE},
    ),
    Route(
        f"GET {_RELATIONSHIPS}",
        "DigitalTwins_ListRelationships",
        "List the outgoing relationships of a twin",
        "digitaltwins/relationships/read",
        relationships.list_relationships,
        Answer(200, "A page.", schemas.Listing[schemas.Relationship]),
        "Relationships",
        (
            Parameter("relationshipName", "query", "Only relationships of this name."),
            AS_OF,
            TOKEN,
            PAGE_SIZE,
        ),
        errors={400: "BadRequest, InvalidArgument", 404: _NO_TWIN, 410: _GONE},
    ),
    Route(
        f"GET {_TWINS}/incomingrelationships",
        "DigitalTwins_ListIncomingRelationships",
        "List the relationships that end at a twin",
        "digitaltwins/relationships/read",
        relationships.list_incoming,
        Answer(200, "A page.", schemas.Listing[schemas.IncomingRelationship]),
        "Relationships",
        (AS_OF, TOKEN, PAGE_SIZE),
        errors={400: "BadRequest, InvalidArgument", 404: _NO_TWIN, 410: _GONE},
    ),
)

_MODEL_ROUTES = (
    Route(
        "POST /models",
        "DigitalTwinModels_Add",
        "Upload models, all or none",
        "models/write",
        models.create_models,
        Answer(201, "What was stored.", list[schemas.DigitalTwinsModelData]),
        "Models",
        body=Body(list[dict[str, Any]]),
        errors={
            400: "DTDLParserError, InvalidArgument, LimitExceeded, ModelVersionNotSupported",
            409: "ModelIdAlreadyExists",
        },
    ),
    Route(
        "GET /models",
        "DigitalTwinModels_List",
        "List models",
        "models/read",
        models.list_models,
        Answer(200, "A page.", schemas.Listing[schemas.DigitalTwinsModelData]),
        "Models",
        (
            Parameter(
                "dependenciesFor",
                "query",
                "These models and all they depend on; may be repeated, or joined with commas.",
                list[str],
            ),
            _DEFINITION,
            AS_OF,
            TOKEN,
            PAGE_SIZE,
        ),
        errors={400: "BadRequest, InvalidArgument", 404: "ModelNotFound", 410: _GONE},
    ),
    Route(
        "DELETE /models",
        "DigitalTwinModels_DeleteAll",
        "Delete all models",
        "models/delete",
        models.delete_all_models,
        _NO_CONTENT,
        "Models",
    ),
    Route(
        "GET /models/{model_id}",
        "DigitalTwinModels_GetById",
        "Read a model",
        "models/read",
        models.read_model,
        Answer(200, "The model.", schemas.WholeModelData),
        "Models",
        (_DEFINITION, _INHERITED, AS_OF),
        errors={400: "InvalidArgument, LimitExceeded", 404: "ModelNotFound", 410: _GONE},
    ),
    Route(
        "PATCH /models/{model_id}",
        "DigitalTwinModels_Update",
        "Decommission a model",
        "models/write",
        models.decommission_model,
        _NO_CONTENT,
        "Models",
        body=_PATCH,
        errors={400: "InvalidArgument, JsonPatchInvalid", 404: "ModelNotFound"},
    ),
    Route(
        "DELETE /models/{model_id}",
        "DigitalTwinModels_Delete",
        "Delete a model",
        "models/delete",
        models.delete_model,
        _NO_CONTENT,
        "Models",
        errors={400: "InvalidArgument", 404: "ModelNotFound", 409: "ModelReferencesNotDeleted"},
    ),
)

_QUERY_ROUTES = (
    Route(
        "POST /query",
        "Query_QueryTwins",
        "Run a query",
        "query/read",
        query.run_query,
        Answer(
            200, "A page of rows.", schemas.QueryResult, {"query-charge": "What the page cost."}
        ),
        "Query",
        (PAGE_SIZE,),
        Body(schemas.QuerySpecification),
        {400: "BadRequest, InvalidArgument, SqlQueryError, TimeoutError", 410: _GONE},
    ),
)

ROUTES: tuple[Route, ...] = (
    *_TWIN_ROUTES,
    *_RELATIONSHIP_ROUTES,
    *BULK_ROUTES,
    *SERIES_ROUTES,
    *DERIVATION_ROUTES,
    *WORKSPACE_ROUTES,
    *HISTORY_ROUTES,
    *_MODEL_ROUTES,
    *_QUERY_ROUTES,
    *CYPHER_ROUTES,
    *TRIPLE_ROUTES,
    *EVENT_ROUTES,
    *INGESTION_ROUTES,
    *JOB_ROUTES,
    *UPLOAD_ROUTES,
    *PERMISSION_ROUTES,
    *SERVICE_ROUTES,
)
