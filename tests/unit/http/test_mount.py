"""A server beside the API: what is for it, and what is not, and that it hears of the drain."""

from __future__ import annotations

import asyncio

import pytest

from twinframe.http.application import Mount
from twinframe.http.exchange import Receive, Scope, Send
from twinframe.http.guard import Guard
from twinframe.settings import ServerSettings


class Named:
    """Notes the paths it is asked for; serves those below `/mcp`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def serves(self, scope: Scope) -> bool:
        return bool(scope["path"].startswith("/mcp"))

    def begin_drain(self) -> None:
        self.asked.append("drain")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.append(scope.get("path", scope["type"]))


async def be_silent(*_args: object) -> None:
    """Neither receives nor sends."""


@pytest.mark.parametrize(
    ("scope", "mounted"),
    [
        ({"type": "http", "path": "/mcp"}, True),
        ({"type": "http", "path": "/models"}, False),
        ({"type": "lifespan"}, False),
    ],
)
def test_each_request_goes_to_whom_it_is_for(scope: Scope, mounted: bool) -> None:
    api, beside = Named(), Named()
    asyncio.run(Mount(api, beside)(scope, be_silent, be_silent))  # type: ignore[arg-type]
    assert bool(beside.asked) is mounted
    assert bool(api.asked) is not mounted


def test_a_drain_is_told_to_whoever_wants_to_know() -> None:
    beside = Named()
    guard = Guard(beside, ServerSettings())
    guard.on_drain(beside.begin_drain)
    guard.begin_drain()
    assert guard.draining
    assert beside.asked == ["drain"]
