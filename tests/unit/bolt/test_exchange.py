"""Logins by a client's id and secret: tokens, refusals, and an endpoint that does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qs

import httpx2
import pytest

from twinframe.bolt.exchange import TokenExchange
from twinframe.bolt.failures import LoginUnavailable
from twinframe.errors import Unauthenticated

ENDPOINT = "https://issuer.example/oauth/token"


def build(answer: Callable[[httpx2.Request], httpx2.Response]) -> TokenExchange:
    return TokenExchange(ENDPOINT, "twins", 5.0, transport=httpx2.MockTransport(answer))


def test_a_token_serves_all_logins_of_the_same_credentials() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={"access_token": f"token-{len(asked)}"})

    async def talk() -> list[str]:
        exchange = build(answer)
        found = [await exchange.fetch("a b", "s:/", "10.0.0.1") for _ in range(3)]
        found.append(await exchange.fetch("a b", "s:/", "10.0.0.1", anew=True))
        return [*found, await exchange.fetch("a b", "other", "10.0.0.1")]

    assert asyncio.run(talk()) == ["token-1", "token-1", "token-1", "token-2", "token-3"]
    form = parse_qs(asked[0].content.decode())
    assert form == {"grant_type": ["client_credentials"], "audience": ["twins"]}
    assert httpx2.BasicAuth("a+b", "s%3A%2F")._auth_header == asked[0].headers["Authorization"]


def test_a_client_that_keeps_failing_has_to_wait_and_asks_nobody_meanwhile() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(401, json={"error": "invalid_client"})

    async def talk() -> list[str]:
        exchange, messages = build(answer), []
        for _ in range(20):
            with pytest.raises(Unauthenticated) as caught:
                await exchange.fetch("a", "wrong", "10.0.0.1")
            messages.append(caught.value.message)
        with pytest.raises(Unauthenticated):
            await exchange.fetch("a", "wrong", "10.0.0.2")  # others do not wait
        return messages

    messages = asyncio.run(talk())
    assert len(asked) == 5 + 1
    assert "try again in" in messages[-1]


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(500),
        httpx2.Response(200, content=b"x"),
        httpx2.Response(200, json=[]),
        httpx2.Response(200, json={"access_token": 7}),
        httpx2.Response(200, content=b" " * 100_000),
        httpx2.Response(302, headers={"Location": "https://elsewhere.example"}),
    ],
    ids=["500", "no JSON", "no object", "no text", "too long", "elsewhere"],
)
def test_an_endpoint_that_gives_no_token_is_no_refusal(answer: httpx2.Response) -> None:
    with pytest.raises(LoginUnavailable):
        asyncio.run(build(lambda _: answer).fetch("a", "b", "10.0.0.1"))


def test_an_endpoint_that_cannot_be_reached_is_no_refusal() -> None:
    def fail(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with pytest.raises(LoginUnavailable):
        asyncio.run(build(fail).fetch("a", "b", "10.0.0.1"))
