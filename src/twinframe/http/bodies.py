"""Parses JSON request bodies within their size and memory limits, large ones in a thread."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from twinframe.errors import TwinframeError
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.large_json import (
    LargeLimits,
    check_values,
    may_have_more,
    parse_large_json,
)
from twinframe.model.values import JsonValue
from twinframe.runtime.memory import Hold, MemoryAccount, Part
from twinframe.settings import Settings

# PERF: parsing takes about 13 us a KiB; beyond this it would block the event loop for a
# millisecond, and switching to the thread and back costs a tenth of that.
LARGE_BODY: Final = 64 * 1024
_NICE: Final = 5


class BodyLimit(NamedTuple):
    """The most bytes of a body, and the setting of that limit."""

    bytes: int
    setting: str


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The limits of bodies that are lower than the service's own.

    `document`: of one twin, relationship or telemetry. `query`: of a query and other small bodies.
    `models`: of many models.
    """

    document: BodyLimit
    query: BodyLimit
    models: BodyLimit


class Bodies:
    """Parses the bodies of a process: small ones on the event loop, large ones in a thread.

    SEC: several parsing threads would each take the interpreter lock from the event loop for
    milliseconds; one does, at a lower priority.
    """

    def __init__(self, settings: Settings, memory: MemoryAccount) -> None:
        own = settings.json_
        self.memory = memory
        self.limits = BodyLimits(
            BodyLimit(settings.graph.max_body_bytes, "Graph__MaxBodyBytes"),
            BodyLimit(settings.query.max_body_bytes, "Query__MaxBodyBytes"),
            BodyLimit(settings.server.max_body_bytes, "Server__MaxBodyBytes"),
        )
        self._json = JsonLimits(own.max_depth, own.max_keys)
        self._large = LargeLimits(own.max_values, own.max_text_length)
        self._thread = ThreadPoolExecutor(1, "parse", _give_way)

    def parse(self, body: bytes) -> JsonValue:
        """Parse a small body, at once. Raises as `parse_json` does."""
        return parse_json(body, self._json)

    async def parse_large(self, body: bytes) -> tuple[JsonValue, Hold]:
        """Parse a large body; return its value and its memory: release it with the value.

        Raises as `parse_json` does, and `MemoryExhausted`, `LimitExceeded`.
        """
        hold = self.memory.hold(Part.REQUESTS, beside=len(body))
        function = partial(_parse, body, self._json, self._large, hold.grow)
        parsing = self._thread.submit(function)
        try:
            value, error = await asyncio.wrap_future(parsing)
        except BaseException:
            # NOTE: the caller may be cancelled while the thread is still parsing.
            parsing.add_done_callback(lambda _: hold.release())
            raise
        if error is not None:
            hold.release()
            raise error
        return value, hold


def _parse(
    body: bytes, json: JsonLimits, large: LargeLimits, charge: Callable[[int], object]
) -> tuple[JsonValue, TwinframeError | None]:
    """Return the value, or the error as a value.

    NOTE: the frames of a raised error keep the text and everything made of it; a future with such
    an error is referenced by one of them, so only the garbage collector would free those megabytes.
    """
    try:
        return parse_large_json(body, json, large, charge), None
    except TwinframeError as error:
        error.__cause__ = error.__context__ = None
        return None, error.with_traceback(None)


async def check_count(body: bytes, most: int, values_are: str) -> None:
    """Raise `InvalidArgument` for a JSON body of more than `most` elements and members.

    It serves bodies that are parsed in one step on the event loop, whose time it bounds.
    """
    if may_have_more(body, most):
        large = LargeLimits(most, len(body), values_are)
        counting = _COUNTING.submit(_check, body, large)
        error = await asyncio.wrap_future(counting)
        if error is not None:
            raise error


def _check(body: bytes, large: LargeLimits) -> TwinframeError | None:
    """Return the error as a value, as `_parse` does."""
    try:
        check_values(body, large)
    except TwinframeError as error:
        error.__cause__ = error.__context__ = None
        return error.with_traceback(None)
    return None


def _give_way() -> None:
    if sys.platform == "linux":  # elsewhere priorities are of processes only
        thread = threading.get_native_id()
        present = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, min(present + _NICE, 19))


_COUNTING: Final = ThreadPoolExecutor(1, "count", _give_way)
"""The counting thread of the process, which starts with the first body counted."""
