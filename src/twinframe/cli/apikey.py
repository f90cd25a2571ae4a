"""`twinframe apikey`: manages the keys for `X-API-Key` in their file; changes count at once."""

from __future__ import annotations

import time
from pathlib import Path

import click

from twinframe.access.authentication.api_keys import ApiKey, ApiKeys
from twinframe.cli.console import CommandGroup, config_option, json_option, write_json
from twinframe.cli.grants import parse_duration, parse_grants, parse_name, render_moment
from twinframe.cli.tables import write_table
from twinframe.hooks.installation import load_installation


@click.group(cls=CommandGroup)
def apikey() -> None:
    """Make, list and revoke API keys."""


@apikey.command("create")
@click.option("--name", required=True, help="Name of the key, shown in lists and logs.")
@click.option(
    "--permission",
    "permissions",
    multiple=True,
    required=True,
    help="Permission of the key, such as digitaltwins/read or models/*. Repeatable.",
)
@click.option(
    "--expires",
    metavar="DURATION",
    help="Lifetime of the key, such as 90d. Default: it does not expire.",
)
@config_option
@json_option
def create_key(
    name: str,
    permissions: tuple[str, ...],
    expires: str | None,
    config: Path | None,
    *,
    as_json: bool,
) -> None:
    """Create a key and print it. The key itself is not stored and cannot be shown again."""
    lifetime = None if expires is None else parse_duration(expires)
    grants = parse_grants(permissions)
    key, text = _open_keys(config).create(parse_name(name), grants, lifetime)
    if as_json:
        write_json({**_build_document(key), "key": text})
        return
    click.echo(text)
    click.echo("This is the only time that the key is shown.", err=True)


@apikey.command("list")
@config_option
@json_option
def list_keys(config: Path | None, *, as_json: bool) -> None:
    """List the keys, without their secrets."""
    keys = _open_keys(config).list_keys()
    if as_json:
        write_json([_build_document(key) for key in keys])
        return
    write_table(
        ("id", "name", "permissions", "created", "expires", "state"),
        [
            (
                key.id,
                key.name,
                " ".join(sorted(key.permissions)),
                render_moment(key.created),
                render_moment(key.expires),
                _find_state(key),
            )
            for key in keys
        ],
    )


@apikey.command("revoke")
@click.argument("key_id", metavar="ID")
@config_option
def revoke_key(key_id: str, config: Path | None) -> None:
    """Revoke the key KEY_ID. Its next request is refused."""
    _open_keys(config).revoke(key_id)
    click.echo(f"The API key {key_id} is revoked.")


def _open_keys(config: Path | None) -> ApiKeys:
    settings = load_installation(config).settings
    return ApiKeys(Path(settings.authentication.api_keys.file))


def _find_state(key: ApiKey) -> str:
    if key.revoked is not None:
        return "revoked"
    return "expired" if key.is_expired(time.time()) else "valid"


def _build_document(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "permissions": sorted(key.permissions),
        "created": key.created,
        "expires": key.expires,
        "revoked": key.revoked,
        "state": _find_state(key),
    }
