"""`twinframe demo`: a service and, as its client, the guided tour. It knows neither's inside."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from os import environ
from pathlib import Path
from types import FrameType

import click

from twinframe.app.installation import load_installation
from twinframe.app.preflight import check_bind
from twinframe.cli.console import config_option
from twinframe.errors import ConfigurationError
from twinframe.settings import ServerSettings

_START_SECONDS = 30.0
_POLL_SECONDS = 0.02
_OPEN = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104  (compared, not bound)


@click.command()
@click.option("--once", is_flag=True, help="End after the tour instead of serving on.")
@config_option
def demo(config: Path | None, *, once: bool) -> None:
    """Serve with a sample building in it, query it, and keep serving.

    It takes the settings of `serve`: http://127.0.0.1:8080 and ./var unless they say otherwise.
    """
    server = load_installation(config).settings.server
    url = build_url(server)
    check_bind(server)  # NOTE: else the tour might load its sample into somebody else's service
    with _serving(config) as service:
        _wait_until_ready(service, url)
        tour = subprocess.run([sys.executable, "-m", "twinframe.demo", url], check=False)  # noqa: S603  (our own module)
        if tour.returncode:
            raise SystemExit(tour.returncode)
        if once:
            return
        click.echo(f"\nServing on. API: {url}{server.base_path}   Explorer: {url}/swagger")
        click.echo("Press Ctrl-C to end.")
        service.wait()


def build_url(server: ServerSettings) -> str:
    """The address of the service for a client on this machine. Raises `ConfigurationError`."""
    host, _colon, port = server.bind.rpartition(":")
    if server.tls.certificate or server.bind.startswith("unix:") or not int(port):
        raise ConfigurationError(
            "The demo talks plain HTTP to a port: unset Server__Tls__Certificate and "
            "Server__Tls__Key, and set Server__Bind to an address such as 127.0.0.1:8080."
        )
    return f"http://{_OPEN.get(host, host)}:{port}"


@contextmanager
def _serving(config: Path | None) -> Iterator[subprocess.Popen[bytes]]:
    """A service of its own process, ended in any case."""
    command = [sys.executable, "-m", "twinframe", "serve"]
    if config is not None:
        command += ["--config", str(config)]
    quiet = {"Logging__Level": "warning", "Logging__Access": "false"}
    signal.signal(signal.SIGTERM, _end)
    service = subprocess.Popen(command, env={**environ, **quiet})  # noqa: S603  (our own module)
    try:
        yield service
    except KeyboardInterrupt:
        pass  # NOTE: the terminal has told the service too
    finally:
        if service.poll() is None:
            service.terminate()
        service.wait()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _wait_until_ready(service: subprocess.Popen[bytes], url: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while service.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{url}/health/ready", timeout=2):  # noqa: S310  (http only)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(_POLL_SECONDS)
    if service.poll() is None:
        raise ConfigurationError(f"The service at {url} was not ready in {_START_SECONDS:.0f} s.")
    raise SystemExit(service.returncode or 1)  # it has said why
