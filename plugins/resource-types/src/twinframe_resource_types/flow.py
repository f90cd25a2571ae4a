"""The resource type `Platform.Flow` with its settings; an external product implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from twinframe import hookimpl
from twinframe.hooks.resource_types.base import ResourceSettings, ResourceType
from twinframe.settings import Section
from twinframe_resource_types.product import Fees, ProductType
from twinframe_resource_types.settings import ProductSettings


class FlowSettings(ResourceSettings):
    """Settings of a flow engine. `retention_days` is how many days of history are kept.

    The product defines the names of processing modes; None leaves the choice to it.
    """

    max_concurrent_flows: Annotated[int, Field(ge=1, le=10_000)] = 10
    retention_days: Annotated[int, Field(ge=1, le=3650)] = 30
    processing_mode: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class FlowType(ProductType):
    """A data-flow engine."""

    name = "Platform.Flow"
    settings_model = FlowSettings
    fees = Fees(pro=2_900, enterprise=29_900)


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys under `Resources__Flow__...`."""
    return ProductSettings


@hookimpl
def twinframe_resource_types(settings: ProductSettings) -> Sequence[ResourceType]:
    """This type."""
    return (FlowType(settings),)
