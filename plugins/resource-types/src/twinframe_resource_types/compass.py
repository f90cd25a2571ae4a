"""The resource type `Platform.Compass`, which has no settings. It provisions nothing yet."""

from __future__ import annotations

from twinframe.resourcetypes.base import ResourceSettings, ResourceType


class CompassType(ResourceType):
    """An assistant over graphs."""

    name = "Platform.Compass"
    settings_model = ResourceSettings
