"""Builds the control plane of an installation: alone, or beside the graph API."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from twinframe.access.authentication.build import build_token_authenticator
from twinframe.access.gate import Gate, log_refusal
from twinframe.access.rates import CallerRates, SharedBuckets
from twinframe.control.billing.offers import load_offers
from twinframe.control.hosting.metering import BillingRounds, MeteredHost
from twinframe.control.hosting.service import LocalGraphHost
from twinframe.control.http.application import (
    MountedControl,
    build_control_application,
    build_resource,
)
from twinframe.control.http.route_parts import PREFIX
from twinframe.control.plane import RECORD_KINDS, ControlPlane
from twinframe.control.records.runner import ControlRunner
from twinframe.control.resources.guarded import forget_access
from twinframe.control.resources.provisioner import Provisioner, build_options
from twinframe.errors import PluginError, SettingsError, TwinframeError
from twinframe.hooks.installation import Installation
from twinframe.http.guard import Guard
from twinframe.http.line_log import AuditLog
from twinframe.model.json import JsonLimits
from twinframe.service.access import AccessService, build_rates
from twinframe.service.instruments import InstrumentService
from twinframe.service.memory import build_account
from twinframe.settings import Settings

_LOG = logging.getLogger(__name__)
_PROVISIONER = "provisioner"
_BILLING = "billing"


class ControlService:
    """A control plane within a process: opened at start-up, closed at shutdown.

    `provision` runs a provisioner with it. Raises `PluginError` or `ConfigurationError`; nothing
    is opened before `start`.
    """

    def __init__(self, installation: Installation, *, provision: bool = False) -> None:
        settings = installation.settings
        own = settings.control
        types = installation.build_resource_types()
        self._store = installation.build_control_store()
        self._runner = ControlRunner(
            self._store, write_queue=own.write_queue, write_wait=own.write_wait
        )
        offers = load_offers(tuple(types), settings.billing.price_list)
        self.plane = ControlPlane(
            self._runner,
            types,
            own,
            offers,
            billing=settings.billing,
            json_limits=JsonLimits(settings.json_.max_depth, settings.json_.max_keys),
            wake=self._wake,
        )
        self._provisioner: Provisioner | None = None
        self._billing: BillingRounds | None = None
        self._host: LocalGraphHost | None = None
        if provision:
            host = self._host = LocalGraphHost(installation)
            self._billing = BillingRounds(self._runner, settings, host)
            self._provisioner = Provisioner(
                self._runner,
                types,
                MeteredHost(host, self._billing.sampler),
                build_options(own),
                on_gone=(forget_access, self.plane.watch.on_gone),
                on_running=(self.plane.watch.on_running,),
                find_limits=offers.find_limits,
            )
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Open the store, publish the prices, start to provision."""
        self._store.open(RECORD_KINDS)
        await self.plane.start()
        if self._provisioner is not None:
            self._begin(_PROVISIONER, self._provisioner.run())
        if self._billing is not None:
            self._begin(_BILLING, self._billing.run())

    async def stop(self) -> None:
        """Let running attempts finish, then close the store."""
        if self._provisioner is not None:
            self._provisioner.stop()
        for task in self._tasks:
            if task.get_name() == _BILLING:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._runner.close()
        self._store.close()
        if self._host is not None:
            await asyncio.to_thread(self._host.close)

    async def wait(self) -> None:
        """Wait until a background task has ended, which it should not."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _wake(self) -> None:
        if self._provisioner is not None:
            self._provisioner.wake()

    def _begin(self, name: str, coroutine: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(coroutine, name=name)
        task.add_done_callback(_tell_end)
        self._tasks.append(task)


def _tell_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.critical("The %s has ended: %r", task.get_name(), error, exc_info=error)


def build_control_app(
    installation: Installation,
    *,
    provision: bool | None = None,
    buckets: SharedBuckets | None = None,
) -> Guard:
    """Build the ASGI application of the control plane alone. Call it in the process that serves.

    `provision` None does as the settings say.
    """
    settings = installation.settings
    check_control(settings)
    wanted = settings.control.provision if provision is None else provision
    service = ControlService(installation, provision=wanted)
    access = build_control_access(settings)
    memory = build_account(settings, settings.control.workers)
    instruments = InstrumentService(settings, memory)
    guard = build_control_application(
        service.plane,
        settings,
        access.gate,
        start=[instruments.start, access.start, service.start],
        stop=[service.stop, access.stop, instruments.stop],
        rates=build_rates(settings, buckets, instruments.on_refusal, asks=True),
        memory=memory,
    )
    instruments.attach(guard)
    return guard


class MountedControlService:
    """The control plane inside a service of the graph API, as a lifespan service."""

    def __init__(self, installation: Installation, rates: CallerRates | None = None) -> None:
        settings = installation.settings
        check_control(settings)
        self._service = ControlService(installation, provision=settings.control.provision)
        self._access = build_control_access(settings)
        self.endpoint = MountedControl(self._service.plane, settings, self._access.gate, rates)
        self.resource = build_resource(settings)

    async def start(self) -> None:
        """Prepare token verification, open the store, start to provision."""
        await self._access.start()
        await self._service.start()

    async def stop(self) -> None:
        """Do the same in reverse."""
        await self._service.stop()
        await self._access.stop()


def build_control_access(settings: Settings) -> AccessService:
    """Build the gate of the control plane: tokens for its audience. The use cases check roles."""
    log = AuditLog(sys.stderr.buffer) if settings.logging.audit else None
    audience = settings.control.audience or settings.authentication.audience
    authenticator = build_token_authenticator(settings.authentication, (audience,))
    return AccessService(Gate(authenticator, None, log_refusal if log is None else log.add), log)


@asynccontextmanager
async def open_plane(installation: Installation) -> AsyncIterator[ControlPlane]:
    """Open the use cases without a service: the store is open inside the context only."""
    service = ControlService(installation)
    await service.start()
    try:
        yield service.plane
    finally:
        await service.stop()


async def run_provisioner(installation: Installation) -> None:
    """Provision without serving, until SIGTERM or SIGINT."""
    service = ControlService(installation, provision=True)
    await service.start()
    _LOG.info("The provisioner has begun")
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    waiting = {asyncio.create_task(stopping.wait()), asyncio.create_task(service.wait())}
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await service.stop()


def check_control(settings: Settings) -> None:
    """Refuse a control plane that cannot authenticate its callers. Raises `SettingsError`."""
    if not (settings.authentication.asks and settings.authentication.takes_tokens):
        raise SettingsError(
            "The control plane needs Authentication__Enabled=true with Authentication__Mode=Jwt: "
            "roles belong to whom a token names."
        )
    base = settings.server.base_path.lower()
    if settings.control.enabled and (base == PREFIX or base.startswith(f"{PREFIX}/")):
        raise SettingsError(
            f"Server__BasePath={settings.server.base_path} lies in the control plane's {PREFIX}. "
            "Choose another, such as /api."
        )


def check_control_store(installation: Installation, workers: int) -> None:
    """Build the use cases, open the store that this many workers share, and close it.

    Raises `ConfigurationError` or `StorageError`.

    NOTE: it is closed before any process forks: an open database must not cross a fork.
    """
    ControlService(installation)
    store = installation.build_control_store()
    settings = installation.settings
    if workers > 1 and not store.traits.shared:
        raise SettingsError(
            f"Control__Store={settings.control.store} keeps its records in one process: {workers} "
            "workers would serve as many control planes. Use one worker."
        )
    try:
        store.open(RECORD_KINDS)
        store.close()
    except TwinframeError:
        raise
    except Exception as error:  # third-party code, before anything is served
        raise PluginError(
            f"Control__Store={settings.control.store}: the store cannot be opened: {error!r}"
        ) from error
