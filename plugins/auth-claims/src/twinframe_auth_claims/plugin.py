"""The entry point of this distribution: the hook that supplies its permission provider."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.access.permissions import PermissionProvider
from twinframe.settings import AuthorizationSettings
from twinframe_auth_claims.provider import ClaimsProvider


@hookimpl
def twinframe_permission_provider(authorization: AuthorizationSettings) -> PermissionProvider:
    """A provider that reads the claim `Authorization__PermissionsClaimName`."""
    return ClaimsProvider(authorization.permissions_claim_name)
