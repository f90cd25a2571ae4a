"""An issuer that answers in memory and remembers who was asked; no socket is involved."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import httpx2

from tests.unit.access.authentication.token_factory import TokenFactory
from twinframe.access.authentication.issuer import IssuerAddress, IssuerKeys
from twinframe.access.authentication.key_cache import KeyAges, KeyCache
from twinframe.access.authentication.tokens import (
    BearerAuthenticator,
    TokenPolicy,
    TokenVerifier,
    VerifiedTokens,
)


@dataclass
class FakeClock:
    """A clock that stands until it is told to go on; it serves as wall and as monotonic clock."""

    time: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds


Answer = Callable[[httpx2.Request], httpx2.Response]


@dataclass
class IssuerDouble:
    """Metadata and keys of a token factory. `answer`, when set, answers in its place."""

    factory: TokenFactory
    answer: Answer | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def readings(self) -> int:
        """How often the keys were asked for."""
        return sum(url.endswith("jwks.json") for url in self.asked)

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request, as `httpx2.MockTransport` asks it."""
        self.asked.append(str(request.url))
        if self.answer is not None:
            return self.answer(request)
        return self.serve(request)

    def serve(self, request: httpx2.Request) -> httpx2.Response:
        """The honest answer."""
        base = self.factory.issuer
        if str(request.url) == f"{base}.well-known/openid-configuration":
            return json_answer({"issuer": base, "jwks_uri": f"{base}jwks.json"})
        if str(request.url) == f"{base}jwks.json":
            return json_answer(self.factory.jwks())
        return httpx2.Response(404)


def json_answer(document: object, kind: str = "application/json") -> httpx2.Response:
    """A 200 with this document."""
    return bytes_answer(json.dumps(document).encode(), kind)


def bytes_answer(body: bytes, kind: str = "application/json") -> httpx2.Response:
    """A 200 with these bytes, which come in parts as from a socket."""
    return httpx2.Response(200, headers={"Content-Type": kind}, content=_send(body))


async def _send(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 65_536):
        yield body[start : start + 65_536]


def build_key_cache(
    issuer: IssuerDouble,
    clock: Callable[[], float],
    ages: KeyAges | None = None,
    address: IssuerAddress | None = None,
) -> KeyCache:
    """The cache of keys of this issuer."""
    found = address or IssuerAddress(issuer.factory.issuer, issuer.factory.issuer)
    reader = IssuerKeys(found, 5.0, httpx2.MockTransport(issuer.handle))
    return KeyCache(reader.read, ages or KeyAges(), clock)


def build_authenticator(
    issuer: IssuerDouble, clock: FakeClock, keys: KeyCache | None = None
) -> BearerAuthenticator:
    """An authenticator for the tokens of this issuer, all of it but the socket."""
    factory = issuer.factory
    policy = TokenPolicy(
        factory.issuer,
        frozenset((factory.audience, factory.resource)),
        frozenset(("RS256", "PS256", "ES256", "EdDSA")),
    )
    source = keys or build_key_cache(issuer, clock)
    return BearerAuthenticator(
        TokenVerifier(policy, source, clock),
        source,
        VerifiedTokens(100, policy.leeway, clock, clock),
    )
