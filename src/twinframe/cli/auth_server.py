"""`twinframe auth-server`: runs the token server of `tokenserver` under gunicorn."""

from __future__ import annotations

import logging
from pathlib import Path

import click
from gunicorn.app.base import BaseApplication

from twinframe.cli.console import config_option
from twinframe.cli.serve import build_gunicorn_settings
from twinframe.errors import TwinframeError
from twinframe.hooks.installation import load_installation
from twinframe.http.guard import Guard
from twinframe.service.logs import configure_logging
from twinframe.service.preflight import check_bind, check_tls
from twinframe.settings import Settings
from twinframe.tokenserver.addresses import build_addresses
from twinframe.tokenserver.application import (
    build_key_store,
    build_server_settings,
    build_token_server,
)

_LOG = logging.getLogger(__name__)
_SECTION = "TokenServer"


@click.command("auth-server")
@click.option(
    "--rotate-key",
    is_flag=True,
    help="Make the next signing key the current one, and exit. A running server follows.",
)
@config_option
def auth_server(config: Path | None, *, rotate_key: bool) -> None:
    """Serve the token server: access tokens for clients, by client credentials.

    For development and small installations. SIGHUP reloads the settings; SIGTERM finishes running
    requests and stops.
    """
    settings = load_installation(config).settings
    if rotate_key:
        click.echo(f"Tokens are signed with {build_key_store(settings).rotate().active.kid} now.")
        return
    check_start(settings)
    check_bind(build_server_settings(settings), _SECTION)
    configure_logging(settings.logging)
    _LOG.info("Tokens are issued as %s", build_addresses(settings.token_server).issuer)
    TokenService(settings, config).run()


def check_start(settings: Settings) -> None:
    """Refuse settings the server cannot run with, and create its keys. Raises `TwinframeError`.

    NOTE: here, in the arbiter, a problem is one line and not a worker that dies again and again.
    """
    check_tls(settings.token_server.tls, _SECTION)
    build_token_server(settings)
    build_key_store(settings).maintain()


class TokenService(BaseApplication):
    """The application gunicorn runs: one worker, which builds its own application."""

    def __init__(self, settings: Settings, config: Path | None) -> None:
        self._settings = settings
        self._config = config
        super().__init__()

    def load_config(self) -> None:
        """Translate our settings to gunicorn's. Gunicorn's own files and variables are not read."""
        server = build_server_settings(self._settings)
        settings = build_gunicorn_settings(server) | {"proc_name": "twinframe-auth-server"}
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> Guard:
        """Build the ASGI application, in the worker process."""
        return build_token_server(self._settings)

    def reload(self) -> None:
        """Read the settings again; report errors and keep the old ones in force."""
        try:
            settings = load_installation(self._config).settings
            check_start(settings)
            if settings.token_server.bind != self._settings.token_server.bind:
                check_bind(build_server_settings(settings), _SECTION)
        except (TwinframeError, OSError) as error:
            _LOG.error("The new settings are not taken: %s", error)
        else:
            self._settings = settings
            configure_logging(settings.logging)
        super().reload()
