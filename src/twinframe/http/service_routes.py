"""The routes that every plane has, open to everybody: health, discovery, the OpenAPI document and
the explorer.
"""

from __future__ import annotations

from typing import Any

from twinframe.http import discovery, discovery_routes, explorer_routes, health
from twinframe.http.graph import schemas
from twinframe.http.operations import Answer, Route

_FOUND_FIRST: tuple[Route, ...] = (
    Route(
        "GET",
        "/health/live",
        "Health_Live",
        "Whether the worker answers",
        None,
        health.read_live,
        Answer(200, "It does.", schemas.Health),
        "Service",
    ),
    Route(
        "GET",
        "/health/ready",
        "Health_Ready",
        "Whether the service should get requests",
        None,
        health.read_ready,
        Answer(200, "It should.", schemas.Health),
        "Service",
        errors={503: ""},
    ),
    Route(
        "GET",
        f"/{discovery.WELL_KNOWN}/{discovery.DOCUMENT}",
        "Service_ProtectedResource",
        "Who signs tokens for this service (RFC 9728)",
        None,
        discovery_routes.read_document,
        Answer(200, "The document.", dict[str, Any]),
        "Service",
        errors={404: "NotFound"},
    ),
)


def build_explorer_routes(prefix: str = "", name: str = "Service") -> tuple[Route, ...]:
    """Return the routes of the document and the explorer below `prefix`; `name` begins their
    ids.
    """
    return (
        Route(
            "GET",
            f"{prefix}/openapi.json",
            f"{name}_OpenApi",
            "This document",
            None,
            explorer_routes.read_document,
            Answer(200, "An OpenAPI 3.1 document.", dict[str, Any]),
            "Service",
        ),
        Route(
            "GET",
            f"{prefix}/swagger",
            f"{name}_Explorer",
            "The interactive explorer",
            None,
            explorer_routes.read_page,
            Answer(200, "A page.", str, media_type="text/html"),
            "Service",
            errors={404: "NotFound"},
        ),
        Route(
            "GET",
            f"{prefix}/swagger/assets/{{name}}",
            f"{name}_ExplorerAsset",
            "A file of the explorer",
            None,
            explorer_routes.read_asset,
            Answer(200, "The file.", str, media_type="application/octet-stream"),
            "Service",
            errors={400: "InvalidArgument", 404: "NotFound"},
        ),
    )


SERVICE_ROUTES: tuple[Route, ...] = (*_FOUND_FIRST, *build_explorer_routes())
