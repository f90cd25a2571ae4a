from __future__ import annotations

import asyncio

import pytest

from tests.unit.access.authentication.issuer_double import (
    FakeClock,
    IssuerDouble,
    build_authenticator,
    build_key_cache,
)
from tests.unit.access.authentication.token_factory import TokenFactory
from twinframe.access.authentication.key_cache import KeyAges
from twinframe.access.authentication.port import MISSING, AnyOf
from twinframe.access.authentication.tokens import read_bearer
from twinframe.errors import Unauthenticated


def refusal(*values: bytes, name: bytes = b"authorization") -> str:
    """Why these Authorization headers are refused."""
    with pytest.raises(Unauthenticated) as caught:
        read_bearer([(b"host", b"h"), *((name, value) for value in values)])
    return caught.value.reason


@pytest.mark.parametrize(
    "value", [b"Bearer t", b"bearer t", b"BEARER t", b"Bearer   t  ", b" Bearer t"]
)
def test_one_token_of_scheme_bearer_in_any_case_is_read(value: bytes) -> None:
    assert read_bearer([(b"x", b"y"), (b"authorization", value)]) == b"t"


def test_a_request_without_the_header_has_no_credentials() -> None:
    assert refusal() == MISSING


@pytest.mark.parametrize(
    "name", [b"proxy-authorization", b"x-authorization", b"cookie", b"x-access-token"]
)
def test_no_other_header_is_looked_at(name: bytes) -> None:
    assert refusal(b"Bearer t", name=name) == MISSING


@pytest.mark.parametrize(
    "values",
    [
        (b"Bearer t", b"Bearer t"),
        (b"Bearer t", b"Basic dTpw"),
        (b"", b"Bearer t"),
        (b"Bearer t", b""),
    ],
)
def test_two_headers_are_refused_even_when_one_is_good(values: tuple[bytes, ...]) -> None:
    assert refusal(*values) == "more than one Authorization header was sent"


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"t",
        b"Basic dTpw",
        b"DPoP t",
        b"Digest x",
        b"Bearert",
        b"Bearer:t",
        b"Bearer\tt",
        b"Bearer\xa0t",
        b"Bearer=t",
        b"token t",
        b"\xff\xfe Bearer t",
        b'"Bearer" t',
    ],
)
def test_another_scheme_is_refused_and_is_not_no_credentials(value: bytes) -> None:
    assert refusal(value) == "the Authorization header is not of scheme Bearer"


@pytest.mark.parametrize("value", [b"Bearer", b"Bearer ", b"bearer     ", b"Bearer\t"])
def test_the_scheme_alone_is_refused(value: bytes) -> None:
    assert refusal(value) == "the Authorization header has no token"


@pytest.mark.parametrize(
    "value", [b"Bearer a b", b"Bearer a,b", b"Bearer a, Bearer b", b"Bearer a\tb", b"Bearer a,"]
)
def test_two_tokens_in_one_header_are_refused(value: bytes) -> None:
    assert refusal(value) == "the Authorization header has more than one token"


class World:
    """An authenticator, its issuer and its clock."""

    def __init__(self, ages: KeyAges | None = None) -> None:
        self.clock = FakeClock()
        self.factory = TokenFactory(clock=self.clock)
        self.issuer = IssuerDouble(self.factory)
        self.keys = build_key_cache(self.issuer, self.clock, ages)
        self.authenticator = build_authenticator(self.issuer, self.clock, self.keys)

    async def subject(self, token: bytes) -> str:
        headers = [(b"authorization", b"Bearer " + token)]
        return (await self.authenticator.authenticate(headers)).subject


def test_a_token_serves_until_its_end_and_the_leeway_and_no_longer() -> None:
    async def run() -> None:
        world = World()
        token = world.factory.token(exp=world.factory.now + 40)
        assert await world.subject(token) == "client-1@clients"
        world.clock.advance(40 + 29)
        assert await world.subject(token) == "client-1@clients"
        assert await world.subject(token) == "client-1@clients"
        world.clock.advance(1)
        with pytest.raises(Unauthenticated, match="Authentication required") as caught:
            await world.subject(token)
        assert caught.value.reason == "the token expired 30 s ago"

    asyncio.run(run())


def test_a_token_of_a_withdrawn_key_is_refused_after_the_keys_lifetime_though_it_was_verified() -> (
    None
):
    async def run() -> None:
        world = World(KeyAges(lifetime=20, max_age=3600))
        token, other = world.factory.token(), world.factory.token("ec")
        await world.subject(token)
        withdrawn = {"keys": [key for key in world.factory.jwks()["keys"] if key["kid"] != "rsa-1"]}
        object.__setattr__(world.factory, "jwks", lambda: withdrawn)
        world.clock.advance(10)
        assert await world.subject(token)
        world.clock.advance(10)
        with pytest.raises(Unauthenticated) as caught:
            await world.subject(token)
        assert caught.value.reason == "the issuer has no key 'rsa-1'"
        assert await world.subject(other)

    asyncio.run(run())


def test_an_idle_service_asks_for_the_keys_before_it_believes_old_ones() -> None:
    async def run() -> None:
        world = World(KeyAges(lifetime=300, max_age=86_400))
        await world.subject(world.factory.token())
        rest = {"keys": world.factory.jwks()["keys"][1:]}
        object.__setattr__(world.factory, "jwks", lambda: rest)
        world.clock.advance(3600)
        with pytest.raises(Unauthenticated):
            await world.subject(world.factory.token())

    asyncio.run(run())


def test_a_refused_token_is_not_remembered_as_good_by_its_neighbours() -> None:
    async def run() -> None:
        world = World()
        good = world.factory.token()
        await world.subject(good)
        for at in range(len(good)):
            with pytest.raises(Unauthenticated):
                await world.subject(good[:at])
        assert await world.subject(good)

    asyncio.run(run())


def test_a_token_is_recalled_only_in_the_form_and_for_the_time_that_it_is_accepted() -> None:
    async def run() -> None:
        world = World()
        token = world.factory.token(exp=world.factory.now + 40)
        sent = (b"authorization", b"Bearer " + token)
        recall = world.authenticator.recall
        assert recall([sent]) is None
        caller = await world.authenticator.authenticate([sent])
        assert recall([(b"host", b"a"), sent]) is caller
        for others in (
            [],
            [sent, sent],
            [sent, (b"authorization", b"")],
            [(b"authorization", token)],
            [(b"authorization", b"Basic " + token)],
            [(b"authorization", b"Bearer " + token + b",")],
            [(b"authorization", b"Bearer " + token[:-1])],
            [(b"x-authorization", sent[1])],
        ):
            assert recall(others) is None
        world.clock.advance(40 + 29)
        assert recall([sent]) is None  # after a minute it is verified again
        again = await world.authenticator.authenticate([sent])
        assert recall([sent]) is again
        world.clock.advance(1)
        assert recall([sent]) is None

    asyncio.run(run())


def test_a_token_of_a_withdrawn_key_is_not_recalled_after_the_keys_lifetime() -> None:
    async def run() -> None:
        world = World(KeyAges(lifetime=20, max_age=3600))
        token, other = world.factory.token(), world.factory.token("ec")
        assert await world.subject(token)
        assert await world.subject(other)
        withdrawn = {"keys": [key for key in world.factory.jwks()["keys"] if key["kid"] != "rsa-1"]}
        object.__setattr__(world.factory, "jwks", lambda: withdrawn)
        world.clock.advance(20)
        for each in (token, other):
            assert world.authenticator.recall([(b"authorization", b"Bearer " + each)]) is None
        assert await world.subject(other)
        assert world.authenticator.recall([(b"authorization", b"Bearer " + token)]) is None

    asyncio.run(run())


def test_another_kind_of_credentials_beside_a_token_is_refused_by_the_port() -> None:
    async def run() -> None:
        world = World()
        both = AnyOf([world.authenticator, world.authenticator])
        headers = [(b"authorization", b"Bearer " + world.factory.token())]
        with pytest.raises(Unauthenticated) as caught:
            await both.authenticate(headers)
        assert caught.value.reason == "more than one kind of credentials was sent"
        with pytest.raises(Unauthenticated) as caught:
            await both.authenticate([])
        assert caught.value.reason == MISSING

    asyncio.run(run())


def test_the_start_neither_waits_for_the_issuer_nor_fails_without_it() -> None:
    async def run() -> None:
        world = World()
        await world.authenticator.start()
        assert world.issuer.asked == []
        await world.authenticator.stop()
        await world.authenticator.stop()

    asyncio.run(run())
