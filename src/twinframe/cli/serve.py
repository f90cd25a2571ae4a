"""`twinframe serve`: runs the graph API under gunicorn with our worker class.

Reload and graceful shutdown are gunicorn's own.
"""

from __future__ import annotations

import gc
import logging
import math
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import click
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.config import Config
from gunicorn.glogging import Logger

from twinframe.access.rates import SharedBuckets
from twinframe.cli.arbiter import LeaveFlag, LeavingArbiter
from twinframe.cli.console import config_option, refuse_start
from twinframe.errors import TwinframeError
from twinframe.hooks.installation import Installation, load_installation
from twinframe.http.guard import Guard
from twinframe.http.worker import Worker
from twinframe.service.access import build_buckets
from twinframe.service.application import build_app
from twinframe.service.features import load_features, load_part
from twinframe.service.instruments import open_metrics
from twinframe.service.logs import configure_logging
from twinframe.service.preflight import (
    Refusal,
    check_bind,
    find_refusals,
    find_url,
    list_warnings,
)
from twinframe.service.relay_directory import open_relay
from twinframe.service.sites import build_sites
from twinframe.settings import ServerSettings, Settings

_CLOSING_SECONDS = 5

_LOG = logging.getLogger(__name__)


@click.command()
@config_option
def serve(config: Path | None) -> None:
    """Serve the graph API. SIGHUP reloads the settings; SIGTERM finishes running requests and
    stops. Closing its terminal stops it, too; `nohup twinframe serve` outlives the terminal.

    Exit code 65: the stored data is damaged, and the service does not start. Exit code 1: any other
    error.
    """
    installation = load_installation(config)
    run_service(Service(installation, config), installation)


def run_service(service: Service, installation: Installation) -> None:
    """Run the start-up checks, then serve until a signal ends the service."""
    refusals = service.list_refusals(installation)
    if refusals:
        refuse_start(refusals)
    settings = service.read_settings(installation)
    check_bind(settings.server, service.section)
    configure_logging(settings.logging)
    for warning in list_warnings(settings, service.section):
        _LOG.warning("%s", warning)
    service.run()


class ServiceLogger(Logger):
    """Formats gunicorn's and uvicorn's lines as all others."""

    def setup(self, cfg: Config) -> None:
        """Use the handlers and the level of the root logger."""
        self.cfg = cfg
        root = logging.getLogger()
        for log in (self.error_log, self.access_log):
            log.handlers = list(root.handlers)
            log.setLevel(root.level)


class Service(BaseApplication):
    """The gunicorn application. The arbiter holds the settings; each worker builds its app.

    NOTE: nothing is preloaded: a store opened before the fork would be shared by accident.
    """

    section: ClassVar = "Server"
    name: ClassVar = "twinframe"

    def __init__(self, installation: Installation, config: Path | None) -> None:
        self._installation = installation
        self._config = config
        self._relay: Path | None = None
        self._buckets: SharedBuckets | None = None
        self._leave = LeaveFlag()
        self._held = ExitStack()
        super().__init__()

    def read_installation(self) -> Installation:
        """Return the installation with the current settings. Raises `TwinframeError`."""
        return load_installation(self._config)

    def read_settings(self, installation: Installation) -> Settings:
        """Return the settings with the address that this service listens on."""
        return installation.settings

    def list_refusals(self, installation: Installation) -> list[Refusal]:
        """List the problems that would stop the start."""
        return list(find_refusals(installation, section=self.section))

    def uses_mcp(self) -> bool:
        """Whether MCP is served, whose workers have to connect to each other."""
        return self._installation.settings.mcp.enabled

    def list_pages(self) -> list[str]:
        """List the paths of the pages for a browser."""
        sites = [f"{site.path}/" for site in build_sites(self._installation)]
        return [*sites, *(["/swagger"] if find_spec("swagger_ui") else [])]

    def _greet(self, _arbiter: Arbiter) -> None:
        server = self.read_settings(self._installation).server
        url = find_url(server)
        if url and not url.endswith(":0"):
            pages = "".join(f" · {url}{page}" for page in self.list_pages())
            _LOG.info("Serving at %s%s%s", url, server.base_path, pages)

    def run(self) -> None:
        """Serve until a signal ends the service."""
        with self._held:
            self._open_shared()
            LeavingArbiter(self, self._leave, self._read_delay).run()

    def _read_delay(self) -> float:
        return self.read_settings(self._installation).server.drain_delay

    def _open_shared(self) -> None:
        """Create what the workers share: before them, and removed with this process."""
        self._held.enter_context(open_metrics(self._installation.settings))
        load_features(self._installation.settings)
        self._buckets = self._buckets or build_buckets(self._installation.settings)
        if self._relay is None and self.uses_mcp():
            # PERF: imported before the fork, the SDK is in memory once, and a worker starts in a
            # tenth of a second; otherwise it could exceed the time for a sign of life.
            load_part("twinframe.mcp.build")
            if self._installation.settings.hosting.enabled:
                load_part("twinframe.control.hosting.assistants")
            self._relay = self._held.enter_context(open_relay())
        # PERF: objects that exist now are kept: a full collection in a worker takes 25 ms less, and
        # writes to no page that the workers share.
        gc.freeze()

    def load_config(self) -> None:
        """Translate our settings to gunicorn's. Gunicorn's own files and variables are not read."""
        settings = build_gunicorn_settings(self.read_settings(self._installation).server)
        settings |= {"proc_name": self.name, "when_ready": self._greet}
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Guard:
        """Build the ASGI application, in the worker process."""
        guard = self.build()
        guard.watch_leave(self._leave.is_set)
        return guard

    def build(self) -> Guard:
        """Build the ASGI application of the installation."""
        return build_app(self._installation, self._relay, self._buckets)

    def reload(self) -> None:
        """Read the settings again; report errors and keep the old ones in force."""
        try:
            installation = self.read_installation()
            problems = [refusal.message for refusal in self.list_refusals(installation)]
            server = self.read_settings(installation).server
            if server.bind != self.read_settings(self._installation).server.bind:
                check_bind(server, self.section)
        except TwinframeError as error:
            problems = [error.message]
            installation = self._installation
        if problems:
            _LOG.error("The new settings are not taken: %s", " ".join(problems))
        else:
            self._installation = installation
            self._open_shared()
            configure_logging(installation.settings.logging)
        super().reload()


def build_gunicorn_settings(server: ServerSettings) -> dict[str, object]:
    """Return gunicorn's settings by name, all others at their defaults."""
    settings: dict[str, object] = {
        "bind": server.bind,
        "workers": server.workers,
        "worker_class": Worker,
        "logger_class": ServiceLogger,
        "proc_name": "twinframe",
        "timeout": server.worker_timeout,
        # NOTE: the worker itself ends requests after that time; killed in the same moment, it could
        # not commit accepted writes, nor close its store.
        "graceful_timeout": math.ceil(server.graceful_timeout) + _CLOSING_SECONDS,
        "keepalive": max(1, round(server.idle_timeout)),
        "control_socket_disable": True,
        "umask": 0o007,  # a socket in the file system is for its owner and group
    }
    if Path("/dev/shm").is_dir():  # noqa: S108  (the heartbeat file, named by gunicorn itself)
        # NOTE: on a disk, a stalled disk would look like a frozen worker.
        settings["worker_tmp_dir"] = "/dev/shm"  # noqa: S108
    if server.tls.certificate:
        settings |= {"certfile": server.tls.certificate, "keyfile": server.tls.key}
    return settings
