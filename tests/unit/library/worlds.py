"""Graphs opened as a library, the synchronous and the awaiting form behind the same calls."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import twinframe
from tests.waiting import PATIENCE, join

ROOM, LAMP, DRIVER = (f"dtmi:com:example:library:{name};1" for name in ("Room", "Lamp", "Driver"))

MODELS: list[dict[str, Any]] = [
    {
        "@context": "dtmi:dtdl:context;3",
        "@id": ROOM,
        "@type": "Interface",
        "contents": [
            {"@type": "Property", "name": "name", "schema": "string"},
            {"@type": "Property", "name": "area", "schema": "double"},
            {"@type": "Property", "name": "seats", "schema": "integer"},
            {"@type": "Property", "name": "built", "schema": "dateTime"},
            {"@type": "Relationship", "name": "has", "target": LAMP},
            {"@type": "Relationship", "name": "next", "target": ROOM},
        ],
    },
    {
        "@context": "dtmi:dtdl:context;3",
        "@id": LAMP,
        "@type": "Interface",
        "contents": [
            {"@type": "Property", "name": "level", "schema": "integer"},
            {"@type": "Component", "name": "driver", "schema": DRIVER},
        ],
    },
    {
        "@context": "dtmi:dtdl:context;3",
        "@id": DRIVER,
        "@type": "Interface",
        "contents": [{"@type": "Property", "name": "firmware", "schema": "string"}],
    },
]


def room(**members: Any) -> dict[str, Any]:
    """The body of a room."""
    return {"$metadata": {"$model": ROOM}, **members}


def lamp(**members: Any) -> dict[str, Any]:
    """The body of a lamp."""
    return {"$metadata": {"$model": LAMP}, "driver": {"firmware": "1"}, **members}


class AwaitedCalls:
    """Awaiting operations, each call of which runs on a loop in another thread."""

    def __init__(self, operations: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._graph = operations
        self._loop = loop

    def _run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._graph, name)

        def call(*given: Any, **named: Any) -> Any:
            found = method(*given, **named)
            return self._run(_gather(found) if inspect.isasyncgen(found) else found)

        return call

    @contextmanager
    def transaction(self, **named: Any) -> Iterator[AwaitedCalls]:
        """A transaction in the same form."""
        stack = AsyncExitStack()
        opened = self._run(stack.enter_async_context(self._graph.transaction(**named)))
        try:
            yield AwaitedCalls(opened, self._loop)
        except BaseException as error:
            self._run(stack.__aexit__(type(error), error, None))
            raise
        self._run(stack.aclose())


class Awaited(AwaitedCalls):
    """A graph of the awaiting form, and the loop."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._stack = AsyncExitStack()
        self._graph = self._run(
            self._stack.enter_async_context(twinframe.open_async(*given, **named))
        )

    def close(self) -> None:
        """Close the graph and its loop."""
        self._run(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        join(self._thread)
        self._loop.close()


async def _gather(rows: Any) -> list[Any]:
    return [row async for row in rows]
