"""`twinframe client`: manages the clients of the token server in their file; changes count at
once.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from twinframe.cli.console import CommandGroup, config_option, json_option, write_json
from twinframe.cli.grants import (
    parse_duration,
    parse_grants,
    parse_name,
    parse_scopes,
    render_moment,
)
from twinframe.cli.tables import write_table
from twinframe.errors import InvalidArgument
from twinframe.hooks.installation import load_installation
from twinframe.settings import Settings
from twinframe.tokenserver.addresses import list_audiences
from twinframe.tokenserver.clients import Clients

id_argument = click.argument("client_id", metavar="ID")


@click.group(cls=CommandGroup)
def client() -> None:
    """Register, list, rotate and remove clients of the token server."""


@client.command("add")
@click.argument("name", metavar="NAME")
@click.option(
    "--permission",
    "permissions",
    multiple=True,
    help="Permission in its tokens, such as digitaltwins/*. Repeatable.",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Scope that it may request, such as mcp:tools. Repeatable.",
)
@click.option(
    "--audience",
    "audiences",
    multiple=True,
    help="Audience that it may request. Repeatable. Default: all of the server.",
)
@config_option
@json_option
def add_client(
    name: str,
    permissions: tuple[str, ...],
    scopes: tuple[str, ...],
    audiences: tuple[str, ...],
    config: Path | None,
    *,
    as_json: bool,
) -> None:
    """Register a client called NAME and print its id and secret.

    The secret is not stored and cannot be shown again.
    """
    settings = load_installation(config).settings
    _check_audiences(audiences, settings)
    grants, wanted = parse_grants(permissions), parse_scopes(scopes)
    made, secret = _build_clients(settings).add(parse_name(name), grants, wanted, audiences)
    _write_credentials(made.id, secret, as_json=as_json)


@client.command("list")
@config_option
@json_option
def list_clients(config: Path | None, *, as_json: bool) -> None:
    """List the clients, without their secrets."""
    found = _open_clients(config).list_clients()
    if as_json:
        write_json([asdict(one) for one in found])
        return
    write_table(
        ("id", "name", "permissions", "scopes", "audiences", "created"),
        [
            (
                one.id,
                one.name,
                " ".join(one.permissions),
                " ".join(one.scopes),
                " ".join(one.audiences) or "all",
                render_moment(one.created),
            )
            for one in found
        ],
    )


@client.command("rotate")
@id_argument
@click.option(
    "--overlap",
    metavar="DURATION",
    help="How long the old secret stays valid, such as 1h. Default: not at all.",
)
@config_option
@json_option
def rotate_client(
    client_id: str, overlap: str | None, config: Path | None, *, as_json: bool
) -> None:
    """Give the client CLIENT_ID a new secret and print it.

    The secret is not stored and cannot be shown again.
    """
    seconds = 0 if overlap is None else parse_duration(overlap)
    secret = _open_clients(config).rotate(client_id, seconds)
    _write_credentials(client_id, secret, as_json=as_json)


@client.command("remove")
@id_argument
@config_option
def remove_client(client_id: str, config: Path | None) -> None:
    """Remove the client CLIENT_ID. Its tokens stay valid until they expire."""
    _open_clients(config).remove(client_id)
    click.echo(f"The client {client_id} is removed.")


def _open_clients(config: Path | None) -> Clients:
    return _build_clients(load_installation(config).settings)


def _build_clients(settings: Settings) -> Clients:
    return Clients(Path(settings.token_server.directory))


def _check_audiences(audiences: tuple[str, ...], settings: Settings) -> None:
    if not audiences:
        return
    known = list_audiences(settings)
    for audience in audiences:
        if audience not in known:
            raise InvalidArgument(
                f"{audience!r} is no audience of the token server. There are {', '.join(known)}; "
                "TokenServer__Audiences names them."
            )


def _write_credentials(client_id: str, secret: str, *, as_json: bool) -> None:
    if as_json:
        write_json({"client_id": client_id, "client_secret": secret})
        return
    click.echo(f"client_id     {client_id}\nclient_secret {secret}")
    click.echo("This is the only time that the secret is shown.", err=True)
