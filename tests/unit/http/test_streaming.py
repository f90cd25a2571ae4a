"""Answers that are streamed, and what becomes of them when their client leaves."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import Any, cast

import pytest

from twinframe.errors import StorageError
from twinframe.http.exchange import Exchange
from twinframe.http.streaming import stream_answer


class Left:
    """An exchange whose client leaves after some turns of the loop."""

    def __init__(self, turns: int) -> None:
        self._turns = turns

    async def wait_for_disconnect(self) -> None:
        for _turn in range(self._turns):
            await asyncio.sleep(0)


class Failing:
    """A stream whose store goes after some turns of the loop, whoever gives it up meanwhile."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self.is_closed = False

    async def read(self) -> bytes:
        for _turn in range(self._turns):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        raise StorageError("The file is gone.")

    async def close(self) -> None:
        self.is_closed = True


def run(exchange: Left, stream: Failing, *, cancelled: bool = False) -> list[dict[str, Any]]:
    """What the loop complains of when the stream is followed to its end."""
    complaints: list[dict[str, Any]] = []

    async def follow() -> None:
        pieces = [piece async for piece in stream_answer(cast(Exchange, exchange), stream)]
        assert pieces == []

    async def watch() -> None:
        handler = asyncio.get_running_loop().set_exception_handler
        handler(lambda _loop, context: complaints.append(context))
        following = asyncio.ensure_future(follow())
        if cancelled:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            following.cancel()
            await asyncio.wait((following,))
        else:
            await following
        for _turn in range(50):
            await asyncio.sleep(0)
        gc.collect()

    asyncio.run(watch())
    return complaints


def test_a_stream_that_fails_as_its_client_leaves_concerns_nobody() -> None:
    stream = Failing(turns=9)
    assert run(Left(turns=2), stream) == []
    assert stream.is_closed


def test_a_stream_that_fails_after_its_answer_was_given_up_concerns_nobody() -> None:
    stream = Failing(turns=9)
    assert run(Left(turns=1000), stream, cancelled=True) == []
    assert stream.is_closed


def test_a_stream_that_fails_while_its_client_is_there_says_so() -> None:
    with pytest.raises(StorageError, match="gone"):
        run(Left(turns=1000), Failing(turns=0))


def test_the_next_piece_is_made_when_the_client_has_taken_the_last_one() -> None:
    async def check() -> list[str]:
        happened: list[str] = []
        taken = asyncio.Event()

        class Flow:
            async def drain(self) -> None:
                await taken.wait()

        class Cycle:
            flow = Flow()

        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            happened.append(message["type"])

        scope: dict[str, Any] = {"type": "http", "method": "GET", "headers": []}
        exchange = Exchange(scope, receive, send, b"1", 100)
        exchange._cycle = Cycle()  # type: ignore[assignment]  # stands for the server's

        async def stream() -> None:
            await exchange.send({"type": "http.response.start", "status": 200, "headers": []})
            for name in ("first", "second"):
                happened.append(name)
                piece = {"type": "http.response.body", "body": b"x", "more_body": True}
                await exchange.send(piece)

        streaming = asyncio.ensure_future(stream())
        for _ in range(5):
            await asyncio.sleep(0)
        before = list(happened)
        taken.set()
        await streaming
        assert happened[-2:] == ["second", "http.response.body"]
        return before

    started = ["http.response.start", "first", "http.response.body"]
    assert asyncio.run(check()) == started
