"""The resource type `Platform.Graph`: its settings. It provisions nothing yet."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from twinframe.resourcetypes.base import ResourceSettings, ResourceType


class GraphSettings(ResourceSettings):
    """What an operator may ask of a graph. `database_name` empty takes the resource's id."""

    database_name: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,62})?$")] = ""
    max_concurrent_connections: Annotated[int, Field(ge=1, le=10_000)] = 100
    backup_retention_days: Annotated[int, Field(ge=0, le=3650)] = 7
    enable_audit_logging: bool = False
    enable_analytics: bool = False


class GraphType(ResourceType):
    """A digital-twin graph."""

    name = "Platform.Graph"
    settings_model = GraphSettings
