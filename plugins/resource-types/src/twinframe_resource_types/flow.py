"""The resource type `Platform.Flow`: its settings. It provisions nothing yet."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from twinframe.resourcetypes.base import ResourceSettings, ResourceType


class FlowSettings(ResourceSettings):
    """What an operator may ask of a flow engine. `retention_days` is kept history in days.

    The names of processing modes are the product's own; None leaves the choice to it.
    """

    max_concurrent_flows: Annotated[int, Field(ge=1, le=10_000)] = 10
    retention_days: Annotated[int, Field(ge=1, le=3650)] = 30
    processing_mode: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class FlowType(ResourceType):
    """A data-flow engine."""

    name = "Platform.Flow"
    settings_model = FlowSettings
