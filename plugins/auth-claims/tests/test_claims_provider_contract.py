"""The published contract, kept by this provider for every form of a claim's name and value."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from twinframe.access.permissions import Caller, PermissionProvider
from twinframe.model.values import JsonValue
from twinframe.testing.permission_contract import (
    Grants,
    OpenFailing,
    PermissionProviderContract,
)
from twinframe_auth_claims.plugin import ClaimsProvider

WRONG: Mapping[str, JsonValue] = {
    "a number": 5,
    "true": True,
    "an object": {"digitaltwins/read": True},
    "mixed types": ["digitaltwins/read", 1],
    "with null": ["digitaltwins/read", None],
    "nested": [["digitaltwins/read"]],
}


class TestClaims(PermissionProviderContract):
    """The default claim with an array."""

    path: tuple[str, ...] = ("permissions",)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[PermissionProvider]:
        provider = ClaimsProvider(".".join(self.path))
        yield provider
        await provider.close()

    @asynccontextmanager
    async def failing(self, value: JsonValue) -> AsyncIterator[tuple[PermissionProvider, Caller]]:
        async with self.opened() as provider:
            yield provider, Caller("ann", self.build_claims(value))

    def open_provider(self, grants: Grants) -> AbstractAsyncContextManager[PermissionProvider]:
        return self.opened()

    def open_failing(self) -> Mapping[str, OpenFailing]:
        return {name: partial(self.failing, value) for name, value in WRONG.items()}

    def build_caller(self, subject: str, grants: Grants) -> Caller:
        held = grants.get(subject)
        if held is None:
            return Caller(subject)
        return Caller(subject, self.build_claims(self.build_value(held)))

    def build_claims(self, value: JsonValue) -> dict[str, JsonValue]:
        claims: dict[str, JsonValue] = {self.path[-1]: value}
        for name in reversed(self.path[:-1]):
            claims = {name: claims}
        return claims

    def build_value(self, held: frozenset[str]) -> JsonValue:
        return list(held)


class TestTextClaims(TestClaims):
    """One text, separated by blanks."""

    def build_value(self, held: frozenset[str]) -> JsonValue:
        return " ".join(held)


class TestDottedClaims(TestClaims):
    """A path into objects."""

    path = ("resource_access", "twins", "roles")


class TestUrlClaims(TestClaims):
    """A name that is a URL."""

    path = ("https://id.example.com/claims/v1.0/permissions",)


class TestClaimsBelowAUrl(TestTextClaims):
    """A path that begins with a URL."""

    path = ("https://id.example.com", "permissions")
