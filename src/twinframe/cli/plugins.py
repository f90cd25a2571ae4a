"""`twinframe plugins`: lists the installed plugins, their distributions, and which are in use."""

from __future__ import annotations

from pathlib import Path

import click

from twinframe.cli.console import (
    config_option,
    json_option,
    write_json,
    write_problems,
)
from twinframe.cli.tables import write_table
from twinframe.errors import ConfigurationError
from twinframe.hooks.drivers import (
    PERMISSION_PROVIDER,
    RESOURCE_TYPE,
    SEAMS,
    SITE,
    STORAGE,
    PluginInfo,
    find_plugins,
)
from twinframe.hooks.installation import load_installation
from twinframe.settings import Settings


@click.command()
@config_option
@json_option
def plugins(config: Path | None, *, as_json: bool) -> None:
    """List the installed plugins: group, name, distribution, and whether each is in use."""
    settings = _load_settings(config)
    rows = [(info, _is_active(info, settings)) for seam in SEAMS for info in find_plugins(seam)]
    if as_json:
        write_json([_build_document(info, active=active) for info, active in rows])
        return
    columns = ("group", "name", "distribution", "version", "active")
    write_table(
        columns,
        [
            (info.group, info.name, info.distribution, info.version, _render_active(active))
            for info, active in rows
        ],
    )


def _load_settings(config: Path | None) -> Settings | None:
    """NOTE: with settings that do not load, a list of installed plugins helps most."""
    try:
        return load_installation(config).settings
    except ConfigurationError as error:
        write_problems([f"{error.message} What is in use is not known."])
        return None


def _is_active(info: PluginInfo, settings: Settings | None) -> bool | None:
    if settings is None:
        return None
    provider = settings.authorization.provider
    match info.group:
        case STORAGE.group:
            return info.name.casefold() == settings.storage.provider.casefold()
        case PERMISSION_PROVIDER.group:
            return settings.checks_permissions and info.name.casefold() == provider.casefold()
        case RESOURCE_TYPE.group | SITE.group:
            return True
    return False


def _build_document(info: PluginInfo, *, active: bool | None) -> dict[str, object]:
    return {
        "group": info.group,
        "name": info.name,
        "distribution": info.distribution,
        "version": info.version,
        "active": active,
    }


def _render_active(active: bool | None) -> str:
    return "?" if active is None else "yes" if active else "no"
