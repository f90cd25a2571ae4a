"""`twinframe index`: manages indexes on properties in the configured store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from twinframe.cli.console import CommandGroup, config_option, json_option, write_json
from twinframe.cli.tables import write_table
from twinframe.errors import ConfigurationError
from twinframe.hooks.installation import load_installation
from twinframe.model.values import JsonValue
from twinframe.storage.indexes import IndexOrigin, IndexReport, PropertyIndexes

_COLUMNS: Final = (
    *("Property", "Of", "Why", "For", "Used", "Asked", "Last", "Bytes", "Seconds", "Hindrance"),
)

property_argument = click.argument("name", metavar="PROPERTY")


@click.group(cls=CommandGroup)
def index() -> None:
    """Index properties, so that queries on their values need not look at every twin."""


@index.command("create")
@property_argument
@config_option
def create_index(name: str, config: Path | None) -> None:
    """Index the values of PROPERTY.

    The service may be running. Queries continue; on SQLite, writes wait until the index exists.
    """
    with _open_indexes(config) as indexes:
        made = indexes.create_index(name)
    click.echo(f"The property {name} is indexed{'' if made else ' already'}.")


@index.command("list")
@config_option
@json_option
def list_indexes(config: Path | None, *, as_json: bool) -> None:
    """Print the indexed properties: why each has its index, how often queries used it, what it
    costs. Properties that queries would use an index on follow, with what is in the way.
    """
    with _open_indexes(config) as indexes:
        reports = indexes.report_indexes()
    if as_json:
        write_json([_render_report(report) for report in reports])
        return
    write_table(_COLUMNS, [_render_row(report) for report in reports])


@index.command("drop")
@property_argument
@config_option
def drop_index(name: str, config: Path | None) -> None:
    """Drop the index of PROPERTY. An index that the settings declare is created again at the next
    start, an automatic one when queries ask for it again.
    """
    with _open_indexes(config) as indexes:
        indexes.drop_index(name)
    click.echo(f"The property {name} has no index any more.")


def _render_report(report: IndexReport) -> dict[str, JsonValue]:
    return {
        "property": report.name,
        "of": report.entities,
        "why": report.origin.value,
        "used": report.used,
        "asked": report.asked,
        "for": list(report.uses),
        "last": None if report.last is None else report.last.isoformat(timespec="seconds"),
        "bytes": report.size,
        "seconds": report.seconds,
        "hindrance": report.hindrance or None,
    }


def _render_row(report: IndexReport) -> list[str]:
    return [
        report.name,
        report.entities,
        report.origin.value,
        ", ".join(report.uses),
        "" if report.used is None else str(report.used),
        "" if report.asked is None else str(report.asked),
        "" if report.last is None else report.last.isoformat(timespec="seconds"),
        "" if report.origin is IndexOrigin.WANTED else str(report.size),
        "" if report.seconds is None else f"{report.seconds:.2f}",
        report.hindrance,
    ]


@contextmanager
def _open_indexes(config: Path | None) -> Iterator[PropertyIndexes]:
    installation = load_installation(config)
    store = installation.build_store()
    if not isinstance(store, PropertyIndexes):
        provider = installation.settings.storage.provider
        raise ConfigurationError(
            f"The storage {provider} has no indexes on properties; sqlite and postgres have "
            "(Storage__Provider)."
        )
    store.open()
    try:
        yield store
    finally:
        store.close()
