"""The resource type `Platform.Compass`, without settings; an external product implements it."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.hooks.resource_types.base import ResourceSettings, ResourceType
from twinframe.settings import Section
from twinframe_resource_types.product import Fees, ProductType
from twinframe_resource_types.settings import ProductSettings


class CompassType(ProductType):
    """An assistant over graphs."""

    name = "Platform.Compass"
    settings_model = ResourceSettings
    fees = Fees(pro=1_900, enterprise=19_900)


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys under `Resources__Compass__...`."""
    return ProductSettings


@hookimpl
def twinframe_resource_types(settings: ProductSettings) -> Sequence[ResourceType]:
    """This type."""
    return (CompassType(settings),)
