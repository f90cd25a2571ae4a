"""Runs background work as a lifespan service: started after the store opens, stopped before it
closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from twinframe.errors import StorageError
from twinframe.graph.background.runner import BackgroundRunner, BackgroundTask
from twinframe.graph.context.ports import GraphRunner
from twinframe.settings import Settings

_PAUSE: Final = 0.05


class BackgroundService(BackgroundRunner):
    """The background work of one graph in a worker, with the intervals of the settings."""

    def __init__(
        self, runner: GraphRunner, kinds: Sequence[BackgroundTask], settings: Settings
    ) -> None:
        super().__init__(
            runner,
            kinds,
            lease_seconds=settings.jobs.lease_seconds,
            look_seconds=settings.jobs.look_seconds,
        )

    async def begin(self) -> None:
        """Start, as a hook of the lifespan."""
        self.start()

    async def finish(self, seconds: float = 60.0) -> None:
        """Wait until no work is left here or in other processes, at most this many seconds."""
        with suppress(TimeoutError, StorageError):
            async with asyncio.timeout(seconds):
                while await self.check_pending():
                    self.wake()
                    await asyncio.sleep(_PAUSE)
