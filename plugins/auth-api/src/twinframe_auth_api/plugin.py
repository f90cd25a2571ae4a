"""The entry point of this distribution: its hooks. The provider itself is in `provider`."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.permissions.base import PermissionProvider
from twinframe.settings import Section
from twinframe_auth_api.provider import ApiProvider
from twinframe_auth_api.settings import ApiProviderSettings


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Authorization__ApiProvider`."""
    return ApiProviderSettings


@hookimpl
def twinframe_permission_provider(settings: Section, resource: str) -> PermissionProvider | None:
    """A provider that asks the configured service about the resource."""
    if not isinstance(settings, ApiProviderSettings):
        return None
    return ApiProvider(settings, resource=resource)
