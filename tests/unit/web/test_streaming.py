"""Answers that are streamed, and what becomes of them when their client leaves."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, cast

import pytest

from twinframe.errors import StorageError
from twinframe.web.exchange import Exchange
from twinframe.web.streaming import stream_answer


class Left:
    """An exchange whose client leaves after some turns of the loop."""

    def __init__(self, turns: int) -> None:
        self._turns = turns

    async def wait_for_departure(self) -> None:
        for _turn in range(self._turns):
            await asyncio.sleep(0)


class Failing:
    """A stream whose store has gone."""

    def __init__(self) -> None:
        self.is_closed = False

    async def read(self) -> bytes:
        raise StorageError("The file is gone.")

    async def close(self) -> None:
        self.is_closed = True


def run(turns: int) -> tuple[list[dict[str, Any]], Failing]:
    """What the loop complains of when a stream fails as its client leaves."""
    complaints: list[dict[str, Any]] = []
    stream = Failing()

    async def follow() -> None:
        handler = asyncio.get_running_loop().set_exception_handler
        handler(lambda _loop, context: complaints.append(context))
        exchange = cast(Exchange, Left(turns))
        assert [piece async for piece in stream_answer(exchange, stream)] == []
        gc.collect()

    asyncio.run(follow())
    return complaints, stream


def test_a_stream_that_fails_as_its_client_leaves_concerns_nobody() -> None:
    complaints, stream = run(turns=0)
    assert complaints == []
    assert stream.is_closed


def test_a_stream_that_fails_while_its_client_is_there_says_so() -> None:
    with pytest.raises(StorageError, match="gone"):
        run(turns=1000)
