"""`twinframe index`: manages indexes on properties in the configured store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from twinframe.cli.console import config_option, json_option, write_json
from twinframe.errors import ConfigurationError
from twinframe.hooks.installation import load_installation
from twinframe.storage.indexes import PropertyIndexes

property_argument = click.argument("name", metavar="PROPERTY")


@click.group()
def index() -> None:
    """Index properties, so that queries on their values need not look at every twin."""


@index.command("create")
@property_argument
@config_option
def create_index(name: str, config: Path | None) -> None:
    """Index the values of PROPERTY.

    The service may be running. Queries continue; writes wait until the index exists.
    """
    with _open_indexes(config) as indexes:
        made = indexes.create_index(name)
    click.echo(f"The property {name} is indexed{'' if made else ' already'}.")


@index.command("list")
@config_option
@json_option
def list_indexes(config: Path | None, *, as_json: bool) -> None:
    """Print the indexed properties."""
    with _open_indexes(config) as indexes:
        names = list(indexes.list_indexes())
    if as_json:
        write_json(names)
        return
    for name in names:
        click.echo(name)


@index.command("drop")
@property_argument
@config_option
def drop_index(name: str, config: Path | None) -> None:
    """Drop the index of PROPERTY. An index that the settings declare is created again at the next
    start.
    """
    with _open_indexes(config) as indexes:
        indexes.drop_index(name)
    click.echo(f"The property {name} has no index any more.")


@contextmanager
def _open_indexes(config: Path | None) -> Iterator[PropertyIndexes]:
    installation = load_installation(config)
    store = installation.build_store()
    if not isinstance(store, PropertyIndexes):
        provider = installation.settings.storage.provider
        raise ConfigurationError(
            f"The storage {provider} has no indexes on properties; sqlite has "
            "(Storage__Provider=sqlite)."
        )
    store.open()
    try:
        yield store
    finally:
        store.close()
