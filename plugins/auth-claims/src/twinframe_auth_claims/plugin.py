"""The entry point of this distribution: a permission provider that reads a claim of the token."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import ClassVar

from twinframe import hookimpl
from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.model.values import JsonValue
from twinframe.settings import AuthorizationSettings

_LOG = logging.getLogger(__name__)


class ClaimsProvider(PermissionProvider):
    """Takes the permissions from one claim: an array of strings, or one space-separated string.

    `claim` is a claim's name (also a URL), or a dotted path into claims that are objects, such as
    `realm_access.roles`. A claim of exactly that name comes first.
    """

    reads_claims_alone: ClassVar[bool] = True

    def __init__(self, claim: str) -> None:
        self._claim = claim

    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        """The permissions of the claim; empty when it is absent or of another form."""
        value = find_claim(caller.claims, self._claim)
        if isinstance(value, str):
            return frozenset(value.split(" ")) - {""}
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return frozenset(item for item in value if isinstance(item, str))
        if value is not None:
            # SEC: a claim of mixed content is not understood, so none of it counts.
            _LOG.warning(
                "The permissions claim is neither text nor an array of texts; it grants nothing.",
                extra={"claim": self._claim, "subject": caller.subject},
            )
        return frozenset()


def find_claim(claims: Mapping[str, JsonValue], path: str) -> JsonValue:
    """The claim named `path`, or reached by it as a dotted path; None if there is none.

    Of several readings of the dots the one with the longest first name wins.
    """
    if path in claims:
        return claims[path]
    end = path.rfind(".")
    while end > 0:
        inner = claims.get(path[:end])
        if isinstance(inner, dict):
            return find_claim(inner, path[end + 1 :])
        end = path.rfind(".", 0, end)
    return None


@hookimpl
def twinframe_permission_provider(authorization: AuthorizationSettings) -> PermissionProvider:
    """A provider that reads the claim `Authorization__PermissionsClaimName`."""
    return ClaimsProvider(authorization.permissions_claim_name)
