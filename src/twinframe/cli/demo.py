"""`twinframe demo`: starts a service and runs the guided tour against it as a client."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import environ
from pathlib import Path
from types import FrameType

import click

from twinframe.cli.console import config_option
from twinframe.cli.token import request_token
from twinframe.control.tenants.catalogue import DATA_PERMISSIONS
from twinframe.errors import ConfigurationError
from twinframe.hooks.installation import Installation, load_installation
from twinframe.service.preflight import check_bind, find_url
from twinframe.settings import ServerSettings, Settings
from twinframe.tokenserver.addresses import build_addresses
from twinframe.tokenserver.clients import Clients

_EXPLORER = "/explorer/"
_START_SECONDS = 30.0
_POLL_SECONDS = 0.02
_QUIET = {"Logging__Level": "warning", "Logging__Access": "false", "Logging__Audit": "false"}
_AUDIENCE = "twinframe-demo"
_PERMISSIONS = tuple(sorted({f"{name.partition('/')[0]}/*" for name in DATA_PERMISSIONS}))


@dataclass(frozen=True, slots=True)
class Access:
    """The access settings of service and tour when callers must show tokens."""

    service: Mapping[str, str]
    tour: Mapping[str, str]


@click.command()
@click.option("--once", is_flag=True, help="Stop after the queries.")
@click.option(
    "--auth",
    is_flag=True,
    help="Require authentication, and run a token server beside the service.",
)
@config_option
def demo(config: Path | None, *, once: bool, auth: bool) -> None:
    """Serve a sample campus with a day of values, run some queries on it, and keep serving.

    It uses the settings of `serve`. By default it serves at http://127.0.0.1:8080 and stores data
    in ./var.
    """
    installation = load_installation(config)
    settings = installation.settings
    url = build_url(settings.server)
    check_bind(settings.server)  # NOTE: or the tour could load its sample into another service
    signal.signal(signal.SIGTERM, _end)
    with ExitStack() as running:
        access = running.enter_context(_issuing(settings, config)) if auth else Access({}, {})
        service = running.enter_context(
            _serving("serve", config, {**_keep_points(installation), **access.service})
        )
        _wait_until_ready(service, url)
        tour = subprocess.run(  # noqa: S603  (our own module)
            [sys.executable, "-m", "twinframe.demo", url, "--past"],
            env={**environ, **access.tour},
            check=False,
        )
        if tour.returncode:
            raise SystemExit(tour.returncode)
        if once:
            return
        click.echo(f"\nServing on. API: {url}{settings.server.base_path}   Try it: {url}/swagger")
        if _answers(f"{url}{_EXPLORER}"):
            click.echo(f"Explorer: {url}{_EXPLORER}")
        _tell_access(access, url)
        click.echo("Press Ctrl-C to end.")
        service.wait()


def build_url(server: ServerSettings) -> str:
    """Return the address of the service for a client on this machine.

    Raises `ConfigurationError`.
    """
    url = find_url(server)
    if not url.startswith("http://") or url.endswith(":0"):
        raise ConfigurationError(
            "The demo talks plain HTTP to a port: unset Server__Tls__Certificate and "
            "Server__Tls__Key, and set Server__Bind to an address such as 127.0.0.1:8080."
        )
    return url


def _keep_points(installation: Installation) -> Mapping[str, str]:
    """Settings by which telemetry is kept, if that can be and nobody has chosen otherwise."""
    history = installation.settings.history
    if history.telemetry or not history.enabled:
        return {}
    found = installation.find_point_store(installation.build_store())
    return {} if found is None else {"History__Telemetry": "all"}


# --- access ---------------------------------------------------------------------------------------


@contextmanager
def _issuing(settings: Settings, config: Path | None) -> Iterator[Access]:
    """Run a token server with one client for the demo, and stop it at the end."""
    addresses = build_addresses(settings.token_server)
    check_bind(settings.server.model_copy(update={"bind": settings.token_server.bind}))
    clients = Clients(Path(settings.token_server.directory))
    made, secret = clients.add("demo", _PERMISSIONS, ("mcp:tools", "mcp:resources"))
    audience = settings.authentication.audience or _AUDIENCE
    try:
        with _serving("auth-server", config, {"TokenServer__Audiences__0": audience}) as process:
            _wait_until_ready(process, addresses.base)
            yield Access(
                {
                    "Authentication__Enabled": "true",
                    "Authentication__Authority": addresses.issuer,
                    "Authentication__Audience": audience,
                },
                {
                    "TWINFRAME_TOKEN_ENDPOINT": addresses.token_endpoint,
                    "TWINFRAME_CLIENT_ID": made.id,
                    "TWINFRAME_CLIENT_SECRET": secret,
                },
            )
    finally:
        clients.remove(made.id)


def _tell_access(access: Access, url: str) -> None:
    if not access.tour:
        return
    form = {
        "grant_type": "client_credentials",
        "client_id": access.tour["TWINFRAME_CLIENT_ID"],
        "client_secret": access.tour["TWINFRAME_CLIENT_SECRET"],
    }
    answer = request_token(access.tour["TWINFRAME_TOKEN_ENDPOINT"], form)
    click.echo(render_access(access, url, answer))


def render_access(access: Access, url: str, answer: Mapping[str, object]) -> str:
    """Render a token to paste into the explorer, from `answer` of the token endpoint, and how to
    get others.
    """
    seconds = answer.get("expires_in")
    lasting = f", for {seconds // 60} minutes" if isinstance(seconds, int) else ""
    names = [name for name in access.tour if name != "TWINFRAME_TOKEN_ENDPOINT"]
    endpoint = access.tour["TWINFRAME_TOKEN_ENDPOINT"]
    bearer = f"Authorization: Bearer $(twinframe token --endpoint {endpoint})"
    return "\n".join(
        [
            f"Callers need a token. Paste this one where the explorer asks for it{lasting}:",
            f"\n{answer['access_token']}\n",
            "To get others in another shell, as long as this demo runs:",
            *(f"  export {name}={access.tour[name]}" for name in names),
            f'  curl -H "{bearer}" {url}/models',
        ]
    )


# --- processes ------------------------------------------------------------------------------------


@contextmanager
def _serving(
    command: str, config: Path | None, settings: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in a process of its own, ended in any case."""
    words = [sys.executable, "-m", "twinframe", command]
    if config is not None:
        words += ["--config", str(config)]
    service = subprocess.Popen(words, env={**environ, **_QUIET, **settings})  # noqa: S603  (our own module)
    try:
        yield service
    except KeyboardInterrupt:
        pass  # NOTE: the terminal has signalled the service too
    finally:
        if service.poll() is None:
            service.terminate()
        service.wait()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _answers(url: str) -> bool:
    """Return whether there is a page: one that is not installed is 404, one that is not built
    503.
    """
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310  (http only)
            return True
    except (urllib.error.URLError, OSError):
        return False


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
    raise SystemExit(service.returncode or 1)  # it has reported the reason
