"""The tokens shown to the permission service: got once, renewed in time and when refused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import pytest

from twinframe.access.permissions import Caller
from twinframe.model.values import JsonValue
from twinframe.testing.scripted_service import ScriptedRequest, ScriptedService, render_reply
from twinframe_auth_api.provider import ApiProvider
from twinframe_auth_api.settings import ApiProviderSettings

ANN = Caller("ann")
SECRET = "the-client's s3cret&more"
NOBODY: frozenset[str] = frozenset()
GRANTED = frozenset({"models/read"})


@dataclass
class Party:
    """Token endpoint and permission service in one; a token is good while it is in `good`."""

    lifetime: JsonValue = 3600
    good: set[str] = field(default_factory=set)
    fetched: list[ScriptedRequest] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    reply: bytes | None = None
    let: asyncio.Event = field(default_factory=asyncio.Event)

    async def respond(self, request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        if request.target == "/token":
            await self.let.wait()
            writer.write(self._issue(request))
        else:
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            self.checked.append(token)
            status = "200 OK" if token in self.good else "401 Unauthorized"
            writer.write(render_reply({"permissions": ["models/read"]}, status=status))
        await writer.drain()

    def _issue(self, request: ScriptedRequest) -> bytes:
        self.fetched.append(request)
        if self.reply is not None:
            return self.reply
        token = f"token-{len(self.fetched)}"
        self.good.add(token)
        answer: dict[str, JsonValue] = {"access_token": token, "token_type": "Bearer"}
        return render_reply(
            answer if self.lifetime is None else answer | {"expires_in": self.lifetime}
        )


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def staged(party: Party, **settings: object) -> AsyncIterator[tuple[ApiProvider, Clock]]:
    clock = Clock()
    async with ScriptedService(party.respond) as service:
        party.let.set()
        section = ApiProviderSettings.model_validate(
            {
                "BaseUrl": service.url,
                "TokenEndpoint": f"{service.url}/token",
                "ClientId": "twinframe",
                "ClientSecret": SECRET,
                **settings,
            }
        )
        provider = ApiProvider(section, clock)
        try:
            yield provider, clock
        finally:
            await provider.close()


def test_a_token_is_got_by_client_credentials_and_shown() -> None:
    party = Party()

    async def run() -> None:
        asked = {"Audience": "permissions-api", "Scope": "access:platform"}
        async with staged(party, **asked) as (provider, _clock):
            assert await provider.read_permissions(ANN) == GRANTED

    asyncio.run(run())
    (request,) = party.fetched
    assert request.method == "POST"
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert "authorization" not in request.headers
    assert parse_qs(request.body.decode(), strict_parsing=True) == {
        "grant_type": ["client_credentials"],
        "client_id": ["twinframe"],
        "client_secret": [SECRET],
        "audience": ["permissions-api"],
        "scope": ["access:platform"],
    }
    assert party.checked == ["token-1"]


@pytest.mark.parametrize(
    ("lifetime", "serves"),
    [(3600, 3540), (100, 90), (1, 0.9), (None, 54), (10**12, 24 * 3600 - 60)],
)
def test_a_token_serves_until_shortly_before_its_end(lifetime: JsonValue, serves: float) -> None:
    party = Party(lifetime=lifetime)

    async def run() -> None:
        async with staged(party) as (provider, clock):
            assert await provider.read_permissions(ANN) == GRANTED
            clock.now += serves - 0.001
            assert await provider.read_permissions(ANN) == GRANTED
            assert len(party.fetched) == 1
            clock.now += 0.002
            assert await provider.read_permissions(ANN) == GRANTED
            assert len(party.fetched) == 2

    asyncio.run(run())


def test_many_users_share_one_fetch() -> None:
    party = Party()

    async def run() -> None:
        async with staged(party) as (provider, _clock):
            callers = [Caller(f"user {number}") for number in range(15)]
            answers = await asyncio.gather(*map(provider.read_permissions, callers))
            assert answers == [GRANTED] * 15

    asyncio.run(run())
    assert len(party.fetched) == 1
    assert party.checked == ["token-1"] * 15


def test_a_refused_token_is_renewed_once_for_all() -> None:
    party = Party()

    async def run() -> None:
        async with staged(party) as (provider, _clock):
            await provider.read_permissions(ANN)
            party.good.clear()  # the issuer has revoked it
            callers = [Caller(f"user {number}") for number in range(8)]
            answers = await asyncio.gather(*map(provider.read_permissions, callers))
            assert answers == [GRANTED] * 8

    asyncio.run(run())
    assert len(party.fetched) == 2
    assert sorted(party.checked) == ["token-1"] * 9 + ["token-2"] * 8


def test_a_late_refusal_of_an_old_token_does_not_drop_the_new_one() -> None:
    party = Party()

    async def run() -> None:
        async with staged(party) as (provider, _clock):
            credentials = provider._credentials
            old = await credentials.read_token()
            assert credentials.forget(old)
            new = await credentials.read_token()
            assert new != old
            assert credentials.forget(old)  # there is another
            assert await credentials.read_token() == new

    asyncio.run(run())
    assert len(party.fetched) == 2


def test_a_second_refusal_is_final(caplog: pytest.LogCaptureFixture) -> None:
    party = Party()
    party.reply = render_reply({"access_token": "never-good", "token_type": "bearer"})

    async def run() -> None:
        async with staged(party) as (provider, _clock):
            assert await provider.read_permissions(ANN) == NOBODY

    asyncio.run(run())
    assert len(party.fetched) == 2
    assert len(party.checked) == 2
    assert vars(caplog.records[0])["reason"] == "status 401"


def test_a_fixed_token_that_is_refused_is_not_sent_again() -> None:
    party = Party()

    async def run() -> None:
        grant = {"TokenEndpoint": "", "ClientId": "", "ClientSecret": ""}
        async with staged(party, BearerToken="fixed", **grant) as (provider, _clock):
            assert await provider.read_permissions(ANN) == NOBODY

    asyncio.run(run())
    assert party.checked == ["fixed"]
    assert party.fetched == []


@pytest.mark.parametrize(
    "reply",
    [
        render_reply({"error": "invalid_client"}, status="401 Unauthorized"),
        render_reply({"access_token": "good", "token_type": "Bearer"}, status="500 Oops"),
        render_reply({"access_token": "good", "token_type": "Bearer"}, status="302 Found"),
        render_reply({"access_token": "good", "token_type": "DPoP"}),
        render_reply({"access_token": "good"}),
        render_reply({"token_type": "Bearer"}),
        render_reply({"access_token": "", "token_type": "Bearer"}),
        render_reply({"access_token": "good\r\nX: y", "token_type": "Bearer"}),
        render_reply({"access_token": "g\u00f6\u00f6d", "token_type": "Bearer"}),
        render_reply({"access_token": ["good"], "token_type": "Bearer"}),
        render_reply({"access_token": "x" * 20_000, "token_type": "Bearer"}),
        render_reply({"access_token": "good", "token_type": "Bearer", "expires_in": 0}),
        render_reply({"access_token": "good", "token_type": "Bearer", "expires_in": -5}),
        render_reply({"access_token": "good", "token_type": "Bearer", "expires_in": True}),
        render_reply({"access_token": "good", "token_type": "Bearer", "expires_in": "soon"}),
        render_reply({"access_token": "good", "token_type": "Bearer", "expires_in": None}),
        render_reply(["good"]),
        render_reply(b"access_token=good&token_type=bearer"),
        render_reply(b'{"access_token": "good", "access_token": "good", "token_type": "Bearer"}'),
        render_reply(b" " * 70_000),
        b"junk\r\n\r\n",
        b"",  # it never comes
    ],
    ids=lambda reply: ascii(reply[-60:]),
)
def test_a_token_answer_that_is_not_usable_grants_nothing_and_asks_nothing(
    reply: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    party = Party(reply=reply, good={"good"})

    async def run() -> None:
        async with staged(party, TimeoutSeconds=0.5) as (provider, _clock):
            assert await provider.read_permissions(ANN) == NOBODY

    asyncio.run(run())
    assert party.checked == []
    assert "the caller has no permissions" in caplog.text
    assert "s3cret" not in caplog.text + str([vars(record) for record in caplog.records])


def test_a_token_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    party = Party()

    async def run() -> None:
        async with staged(party) as (provider, _clock):
            await provider.read_permissions(ANN)
            party.reply = render_reply({"access_token": "token-x y", "token_type": "Bearer"})
            party.good.clear()
            assert await provider.read_permissions(ANN) == NOBODY

    asyncio.run(run())
    assert "token-" not in caplog.text + str([vars(record) for record in caplog.records])


def test_a_fetch_outlives_the_request_that_began_it() -> None:
    party = Party()

    async def run() -> None:
        async with staged(party) as (provider, _clock):
            party.let.clear()
            first = asyncio.ensure_future(provider.read_permissions(ANN))
            second = asyncio.ensure_future(provider.read_permissions(Caller("bob")))
            while not provider._credentials._flights._tasks:  # type: ignore[attr-defined]  # noqa: ASYNC110
                await asyncio.sleep(0)
            first.cancel()
            party.let.set()
            assert await second == GRANTED

    asyncio.run(run())
    assert len(party.fetched) == 1


def test_closing_ends_a_fetch() -> None:
    party = Party()

    async def run() -> None:
        async with staged(party) as (provider, _clock):
            party.let.clear()
            asked = asyncio.ensure_future(provider.read_permissions(ANN))
            while not provider._credentials._flights._tasks:  # type: ignore[attr-defined]  # noqa: ASYNC110
                await asyncio.sleep(0)
            await provider.close()
            assert await asked == NOBODY

    asyncio.run(run())
    assert party.checked == []


def test_failures_of_the_token_endpoint_open_the_breaker() -> None:
    party = Party(reply=render_reply({"error": "invalid_client"}, status="401 Unauthorized"))

    async def run() -> None:
        async with staged(party, BreakerFailures=2) as (provider, _clock):
            for _each in range(6):
                assert await provider.read_permissions(ANN) == NOBODY

    asyncio.run(run())
    assert len(party.fetched) == 2
