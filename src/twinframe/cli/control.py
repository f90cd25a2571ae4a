"""`twinframe control`: runs the control plane under gunicorn, or a provisioner, and creates the
first owner.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import ClassVar

import click

from twinframe.cli.console import CommandGroup, config_option, refuse_start
from twinframe.cli.serve import Service, run_service
from twinframe.control.http.application import build_control_settings
from twinframe.control.records.actors import Principal, parse_principal
from twinframe.control.tenants.bootstrap import bootstrap, found_organization
from twinframe.hooks.installation import Installation, load_installation
from twinframe.http.guard import Guard
from twinframe.service.control import build_control_app, open_plane, run_provisioner
from twinframe.service.logs import configure_logging
from twinframe.service.preflight import Refusal, find_control_refusals
from twinframe.settings import Settings

_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.option(
    "--provision/--no-provision",
    default=None,
    help="Run a provisioner beside the API, or none. Default: Control__Provision.",
)
@click.option("--provision-only", is_flag=True, help="Run a provisioner and serve nothing.")
@config_option
@click.pass_context
def control(
    context: click.Context, config: Path | None, *, provision: bool | None, provision_only: bool
) -> None:
    """Serve the control plane: projects, access, billing and the provisioning of resources.

    It listens at Control__Bind, below /api/v1. SIGHUP reloads the settings; SIGTERM finishes
    running requests and stops.
    """
    if context.invoked_subcommand is not None:
        return
    installation = load_installation(config)
    if provision_only:
        if provision is False:
            raise click.UsageError("--provision-only and --no-provision exclude each other.")
        _provision(installation)
        return
    run_service(ControlServer(installation, config, provision=provision), installation)


@control.command("init")
@click.option(
    "--owner",
    required=True,
    help="The owner: the subject of their tokens, or the email address in them. Write "
    "`subject:...` or `email:...` to say which.",
)
@click.option("--organization", help="Id of an organization to create. It gets the same owner.")
@click.option("--name", help="Name of the organization. Default: its id.")
@config_option
def init_control(
    owner: str, organization: str | None, name: str | None, config: Path | None
) -> None:
    """Create the first owner of the platform, on the machine itself.

    You can run it again, for the same owner or another. It requires no credentials: anyone who can
    write the control store's file controls the platform anyway.
    """
    if name is not None and organization is None:
        raise click.UsageError("--name is the name of an --organization.")
    installation = load_installation(config)
    principal = parse_owner(owner)
    asyncio.run(_init(installation, principal, organization, name))
    click.echo(f"{principal.name} owns the platform.")
    if organization is not None:
        click.echo(f"The organization {organization} is there.")


def parse_owner(text: str) -> Principal:
    """Parse the owner. Raises `InvalidArgument`.

    NOTE: subjects may look like emails too (`abc@clients`); those have no dot in the domain.
    """
    kind, colon, name = text.partition(":")
    if colon and kind == "email":
        return parse_principal(email=name)
    if colon and kind == "subject":
        return parse_principal(subject=name)
    if _ADDRESS.fullmatch(text):
        return parse_principal(email=text)
    return parse_principal(subject=text)


async def _init(
    installation: Installation, owner: Principal, organization: str | None, name: str | None
) -> None:
    async with open_plane(installation) as plane:
        await bootstrap(plane.context, owner)
        if organization is not None:
            await found_organization(plane.context, owner, organization, name or organization)


def _provision(installation: Installation) -> None:
    refusals = list(find_control_refusals(installation, serves=False))
    if refusals:
        refuse_start(refusals)
    configure_logging(installation.settings.logging)
    asyncio.run(run_provisioner(installation))


class ControlServer(Service):
    """The control plane as a gunicorn service."""

    section: ClassVar = "Control"
    name: ClassVar = "twinframe-control"

    def __init__(
        self, installation: Installation, config: Path | None, *, provision: bool | None
    ) -> None:
        self._provision = provision
        super().__init__(installation, config)

    def read_settings(self, installation: Installation) -> Settings:
        """The settings with the address of the control plane."""
        return build_control_settings(installation.settings)

    def list_refusals(self, installation: Installation) -> list[Refusal]:
        """List the problems that would stop the start."""
        return list(find_control_refusals(installation))

    def list_pages(self) -> list[str]:
        """Return none: the control plane has no page of its own."""
        return []

    def uses_mcp(self) -> bool:
        """Return False."""
        return False

    def build(self) -> Guard:
        """Build the ASGI application of the installation."""
        return build_control_app(
            self._installation, provision=self._provision, buckets=self._buckets
        )
