"""Threads and processes of tests: each wait for one has an end and says what it waited for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Final

PATIENCE: Final = 120.0
"""Seconds: more than anything that works needs, on the busiest machine too."""

run_program = partial(subprocess.run, timeout=PATIENCE)


def wait_until(is_done: Callable[[], object]) -> None:
    """Look again and again until it is so; fails after the time of any test."""
    end = time.monotonic() + PATIENCE
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.01)


def start(target: Callable[..., object], *arguments: object) -> threading.Thread:
    """Run `target` in a thread that does not hold up the end of the process."""
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def join(*running: threading.Thread | BaseProcess, seconds: float = PATIENCE) -> None:
    """Wait for the end of all; fails with where each thread stands that goes on."""
    end = time.monotonic() + seconds
    for each in running:
        each.join(max(0.0, end - time.monotonic()))
    left = [each for each in running if each.is_alive()]
    assert not left, f"after {seconds:g} s there still run:\n{''.join(map(_describe, left))}"


def _describe(running: threading.Thread | BaseProcess) -> str:
    frame = sys._current_frames().get(running.ident or 0)
    if isinstance(running, BaseProcess) or frame is None:
        return f"{running!r}\n"
    return f"{running!r}\n{''.join(traceback.format_stack(frame))}"


class Threads(ThreadPoolExecutor):
    """A pool whose end is waited for no longer than a test waits for anything."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown(wait=False, cancel_futures=kind is not None)
        join(*self._threads)


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a scene of a test on an event loop, for a bounded time."""

    async def limited() -> None:
        async with asyncio.timeout(PATIENCE):
            await scene()

    asyncio.run(limited())
