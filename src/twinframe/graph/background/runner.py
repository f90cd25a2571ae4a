"""Runs the background work of one graph in one worker; the work itself is defined by its kinds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from twinframe.errors import StorageError
from twinframe.graph.background.leases import Lease, LeaseManager
from twinframe.graph.context.context import GraphRunner
from twinframe.runtime.backoff import Backoff
from twinframe.runtime.leases import BEATS, LeaseLost
from twinframe.settings import Settings
from twinframe.storage.base import GraphSession

_log = logging.getLogger(__name__)

_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0
_UNFORESEEN: Final = "unforeseen"


class BackgroundTask(Protocol):
    """A kind of background work. `name` is the first part of its leases' names."""

    name: str

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """Return the keys of the pieces of work that should be run now, by any worker.

        It is called about once a second in each worker: point reads and short listings only.
        """
        ...

    async def run(self, key: str, lease: Lease) -> None:
        """Run the piece until it is done, or there is nothing to do at present.

        Each of its transactions begins with `lease.check`. It is cancelled when the worker stops or
        lost the lease; it may be run again, here or elsewhere, from the state it left behind. An
        error is logged, and it is run again after a pause.
        """
        ...


class BackgroundRunner:
    """Finds pending work, claims it and runs it; each piece in one worker at a time.

    Start and stop it on the event loop of the store's runner, while the store is open.
    """

    def __init__(
        self,
        runner: GraphRunner,
        kinds: Sequence[BackgroundTask],
        *,
        lease_seconds: float,
        look_seconds: float,
    ) -> None:
        self._runner = runner
        self._kinds = kinds
        self._leases = LeaseManager(runner, lease_seconds)
        self._look_seconds = look_seconds
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._rests: dict[str, tuple[int, float]] = {}
        self._woken = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._told = ""

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs here."""
        return not self._tasks

    @property
    def running(self) -> frozenset[str]:
        """The names of the running pieces: those of their leases."""
        return frozenset(self._tasks)

    def start(self) -> None:
        """Start to look for work."""
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_often())

    async def stop(self) -> None:
        """Cancel running work, wait until it has ended, and release the leases."""
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()
            await asyncio.wait([looking])
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def check_pending(self) -> bool:
        """Return whether there is work to do now, by any worker."""
        for kind in self._kinds:
            if list(await self._runner.read(kind.list_pending)):
                return True
        return False

    def wake(self) -> None:
        """Look at once: there is new work. The runners of other workers are not woken."""
        self._woken.set()

    async def _look_often(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self._look()
                self._told = ""
            except StorageError as error:
                # NOTE: a store that is unavailable for an hour is logged once, not once a look.
                if error.message != self._told:
                    _log.warning("Background work was not looked for: %s", error.message)
                self._told = error.message
            except Exception:  # noqa: BLE001  (what one look finds must not end all that follow)
                if self._told != _UNFORESEEN:
                    _log.exception("Background work was not looked for.")
                self._told = _UNFORESEEN
            with suppress(TimeoutError):
                async with asyncio.timeout(self._look_seconds):
                    await self._woken.wait()

    async def _look(self) -> None:
        pending = set()
        for kind in self._kinds:
            for key in list(await self._runner.read(kind.list_pending)):
                name = f"{kind.name}/{key}"
                pending.add(name)
                if name in self._tasks or self._is_resting(name):
                    continue
                lease = await self._leases.claim(name)
                if lease is not None:
                    task = asyncio.create_task(self._run(kind, key, lease))
                    self._tasks[name] = task
                    task.add_done_callback(lambda _done, name=name: self._forget(name))  # type: ignore[misc]  # the default binds
        # NOTE: each job has a name of its own: the data about ended ones would add up.
        self._leases.forget_all_but(pending)
        self._rests = {name: rest for name, rest in self._rests.items() if name in pending}

    def _forget(self, name: str) -> None:
        del self._tasks[name]
        self.wake()  # it may want to continue, or another is next

    def _is_resting(self, name: str) -> bool:
        rest = self._rests.get(name)
        return rest is not None and asyncio.get_running_loop().time() < rest[1]

    async def _run(self, kind: BackgroundTask, key: str, lease: Lease) -> None:
        work = asyncio.create_task(kind.run(key, lease))
        keeping = asyncio.create_task(self._keep(lease, work))
        try:
            await work
            self._rests.pop(lease.name, None)
        except LeaseLost as error:
            _log.warning("%s", error.message)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait([work])
        except StorageError as error:  # of the store, not of the work: it needs no traceback
            _log.warning("The background work %s was interrupted: %s", lease.name, error.message)
            self._rest(lease.name)
        except Exception:  # noqa: BLE001  (the job runner survives whatever a work does)
            _log.exception("The background work %s failed; it is tried again.", lease.name)
            self._rest(lease.name)
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])
            try:
                await self._leases.give_back(lease)
            except StorageError as error:
                _log.warning("The lease %s was not given back: %s", lease.name, error.message)

    async def _keep(self, lease: Lease, work: asyncio.Task[None]) -> None:
        """Renew the lease; cancel the work when that fails for the time of the lease."""
        loop = asyncio.get_running_loop()
        kept = loop.time()
        while True:
            await asyncio.sleep(self._leases.seconds / BEATS)
            try:
                await self._leases.keep(lease)
                kept = loop.time()
            except LeaseLost as error:
                if not work.done():  # otherwise it has released its lease itself
                    _log.warning("%s", error.message)
                    work.cancel()
                return
            except StorageError:
                if loop.time() - kept >= self._leases.seconds:
                    work.cancel()
                    return

    def _rest(self, name: str) -> None:
        failures = self._rests.get(name, (0, 0.0))[0] + 1
        rest = Backoff(_FIRST_REST, _LONGEST_REST, spread=0).build_pause(failures)
        self._rests[name] = failures, asyncio.get_running_loop().time() + rest


_PAUSE: Final = 0.05


class BackgroundService(BackgroundRunner):
    """The background work of one graph in a worker, with the intervals of the settings.

    It starts after the store opens, and stops before it closes.
    """

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
