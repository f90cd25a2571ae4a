"""Runs a point store in threads of its own, and commits what many requests write together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from twinframe.errors import StorageBusy, StorageError, StorageMoved
from twinframe.runtime.instruments.base import Level
from twinframe.storage.points import PointFigures, Points, PointStore, SeriesPart

T = TypeVar("T")

_TOGETHER: Final = 20_000
"""Points after which a commit takes no more requests."""
_MOST_WAITING: Final = 200_000
"""Points that may wait in a worker: some 40 MiB."""
_READERS: Final = 2
_FIGURES_SECONDS: Final = 15.0
"""Seconds for which figures are not read anew: blocks are counted for them."""


class PointRunner:
    """The point store of a graph, as coroutines. Use it on one event loop."""

    def __init__(self, store: PointStore) -> None:
        self._store = store
        self._writer = ThreadPoolExecutor(1, "points-write")
        self._parser = ThreadPoolExecutor(1, "points-parse")
        self._keeper = ThreadPoolExecutor(1, "points-upkeep")
        self._readers = ThreadPoolExecutor(_READERS, "points-read")
        self._waiting: list[tuple[Points, asyncio.Future[None]]] = []
        self._waiting_points = 0
        self._writing: asyncio.Task[None] | None = None
        self._stored = self._refused = 0
        self._figures = PointFigures()
        self._looked = -_FIGURES_SECONDS
        self._is_closed = False

    @property
    def store(self) -> PointStore:
        """The store, for reads in a thread of the caller."""
        return self._store

    async def write(self, points: Points) -> None:
        """Store points; return when they are durable. Raises `StorageError`."""
        count = len(points.times)
        try:
            await self._write(points, count)
        except BaseException:
            self._refused += count
            raise
        self._stored += count

    async def _write(self, points: Points, count: int) -> None:
        if self._waiting_points + count > _MOST_WAITING and self._waiting:
            raise StorageBusy(
                f"{self._waiting_points} points wait to be stored, which is as many as may; "
                "nothing was stored, try again."
            )
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((points, done))
        self._waiting_points += count
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        await done

    def note_refused(self, lines: int) -> None:
        """Count lines whose points were not stored."""
        self._refused += lines

    def read_levels(self) -> Mapping[Level, float]:
        """Return what was written here, and how much there is, as it was lately."""
        if time.monotonic() - self._looked >= _FIGURES_SECONDS and not self._is_closed:
            self._looked = time.monotonic()
            self._keeper.submit(self._read_figures)
        figures = self._figures
        return {
            Level.POINTS_STORED: self._stored,
            Level.POINTS_REFUSED: self._refused,
            Level.POINTS_BYTES: figures.bytes,
            Level.POINTS_BLOCKS: figures.blocks,
            Level.POINTS_FRESH: figures.waiting,
            Level.POINTS_LAG: figures.lag,
        }

    def _read_figures(self) -> None:
        with suppress(StorageError):  # shown elsewhere: nothing can be read or written
            self._figures = self._store.read_figures()

    def limit_bytes(self, most: int | None) -> None:
        """Keep at most so many bytes from now on; None: what the settings allow."""
        self._store.limit_bytes(most)

    async def read(self, function: Callable[[PointStore], T]) -> T:
        """Run reads, again where the graph is moved meanwhile. Raises `StorageError`."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, function, self._store)
        except StorageMoved:
            return await loop.run_in_executor(self._readers, function, self._store)

    async def parse(self, function: Callable[[], T]) -> T:
        """Run what takes long and needs no store, such as parsing many points."""
        return await asyncio.get_running_loop().run_in_executor(self._parser, function)

    def walk(self, most: int) -> Iterator[SeriesPart]:
        """Yield all points, in the thread of the caller. Raises `StorageError`."""
        return self._store.walk(most)

    def has_points(self) -> bool:
        """Return whether there is a file of points."""
        return self._store.measure() > 0

    def find_first_kept(self) -> int:
        """Return the time before which points are too old to be kept, in microseconds."""
        return self._store.find_first_kept()

    def is_upkeep_due(self) -> bool:
        """Return whether `keep_up` has something to do."""
        return self._store.is_upkeep_due()

    async def keep_up(self) -> bool:
        """Do a part of the upkeep; return whether there is more. Raises `StorageError`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._keeper, self._store.run_upkeep)

    def close(self) -> None:
        """Finish what runs, then close the store. No request is left."""
        self._is_closed = True
        for pool in (self._parser, self._writer, self._keeper, self._readers):
            pool.shutdown(wait=True, cancel_futures=True)
        self._store.close()

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                await self._write_some()
        finally:
            self._writing = None

    async def _write_some(self) -> None:
        joined = Points()
        waiters: list[asyncio.Future[None]] = []
        while self._waiting and (not waiters or len(joined.times) < _TOGETHER):
            points, done = self._waiting.pop(0)
            waiters.append(done)
            joined.extend(points)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._writer, partial(self._store.write, joined))
        except BaseException as error:
            # All are told, whatever it is: none of them was stored.
            for done in waiters:
                if not done.done():
                    done.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            for done in waiters:
                if not done.done():
                    done.set_result(None)
        finally:
            self._waiting_points -= len(joined.times)
