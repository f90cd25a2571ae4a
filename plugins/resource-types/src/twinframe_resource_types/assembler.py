"""The resource type `Platform.Assembler`: its settings. It provisions nothing yet."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from twinframe.resourcetypes.base import ResourceSettings, ResourceType

ProductName = Annotated[str, Field(min_length=1, max_length=64)]


class AssemblerSettings(ResourceSettings):
    """What an operator may ask of an assembler. `confidence_threshold` lies within 0 and 1.

    The names of complexities and formats are the product's own; None leaves the choice to it.
    """

    model_complexity: ProductName | None = None
    output_format: ProductName | None = None
    confidence_threshold: Annotated[float, Field(ge=0, le=1)] = 0.8


class AssemblerType(ResourceType):
    """A service that drafts models and twins from documents."""

    name = "Platform.Assembler"
    settings_model = AssemblerSettings
