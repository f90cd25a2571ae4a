"""The resource type `Platform.Assembler` with its settings; an external product implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from twinframe import hookimpl
from twinframe.hooks.resource_types.base import ResourceSettings, ResourceType
from twinframe.settings import Section
from twinframe_resource_types.product import Fees, ProductType
from twinframe_resource_types.settings import ProductSettings

ProductName = Annotated[str, Field(min_length=1, max_length=64)]


class AssemblerSettings(ResourceSettings):
    """Settings of an assembler. `confidence_threshold` lies within 0 and 1.

    The product defines the names of complexities and formats; None leaves the choice to it.
    """

    model_complexity: ProductName | None = None
    output_format: ProductName | None = None
    confidence_threshold: Annotated[float, Field(ge=0, le=1)] = 0.8


class AssemblerType(ProductType):
    """A service that drafts models and twins from documents."""

    name = "Platform.Assembler"
    settings_model = AssemblerSettings
    fees = Fees(pro=3_900, enterprise=39_900)


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys under `Resources__Assembler__...`."""
    return ProductSettings


@hookimpl
def twinframe_resource_types(settings: ProductSettings) -> Sequence[ResourceType]:
    """This type."""
    return (AssemblerType(settings),)
