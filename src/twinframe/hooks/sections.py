"""Finds the settings classes of plugins and the positions of their sections in the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pluggy

from twinframe.errors import PluginError
from twinframe.hooks.drivers import (
    EVENT_SINK,
    PERMISSION_PROVIDER,
    POINT_STORE,
    PROCEDURE,
    PROJECTION,
    RESOURCE_TYPE,
    SITE,
    SOURCE,
    STORAGE,
    Plugin,
    Seam,
    find_plugins,
    load_plugin,
)
from twinframe.settings import PluginSection, PluginSections, Section, Settings
from twinframe.settings.shape import KeyPath
from twinframe.settings.sources import ROOT, render_section_name

_SLOTS: Mapping[str, tuple[Seam, str, Callable[[Settings], str | None]]] = {
    "Storage": (STORAGE, "", lambda settings: settings.storage.provider),
    "Authorization": (
        PERMISSION_PROVIDER,
        "Provider",
        lambda settings: settings.authorization.provider if settings.checks_permissions else None,
    ),
    # All of them are in use: a section that nothing sets has its defaults when it is read.
    "Resources": (RESOURCE_TYPE, "", lambda _settings: None),
    "Procedures": (PROCEDURE, "", lambda _settings: None),
    "Query": (PROJECTION, "", lambda _settings: None),
    "History": (
        POINT_STORE,
        "",
        lambda settings: settings.history.store if settings.history.telemetry else None,
    ),
    ROOT: (SITE, "", lambda _settings: None),
}


def build_plugin_sections(manager: pluggy.PluginManager) -> dict[str, PluginSections]:
    """Build the places of plugin sections for `load_settings`; `manager` loads plugins."""
    return {
        section: PluginSections(
            suffix=suffix,
            find=partial(_find_section, manager, seam, suffix),
            names=partial(_list_names, seam),
            choose=choose,
            known=tuple(seam.distributions),
            key="Store" if seam is POINT_STORE else "Provider",
        )
        for section, (seam, suffix, choose) in _SLOTS.items()
    }


def build_section_path(plugin: Plugin) -> KeyPath:
    """Return the key path of a plugin's own section: `("Storage", "Sqlite")`, `("Explorer",)`.

    That of an event sink is under the name of each endpoint of its type, here `<webhook>`; that of
    a source likewise.
    """
    if plugin.info.group == EVENT_SINK.group:
        return "Events", "Endpoints", f"<{plugin.info.name}>"
    if plugin.info.group == SOURCE.group:
        return "Ingestion", "Sources", f"<{plugin.info.name}>"
    for section, (seam, suffix, _choose) in _SLOTS.items():
        if seam.group == plugin.info.group:
            name = render_section_name(plugin.info.name, suffix)
            return (name,) if section == ROOT else (section, name)
    raise PluginError(f"{plugin.info.owner}: its seam has no place for settings.")


def read_section_class(plugin: Plugin) -> type[Section] | None:
    """Return the plugin's settings class; None if it has none.

    Raises `PluginError` for anything else.
    """
    model = plugin.call("twinframe_settings")
    if model is None or (isinstance(model, type) and issubclass(model, Section)):
        return model
    raise PluginError(f"{plugin.info.owner}: twinframe_settings gives {model!r}, not a Section.")


def _find_section(
    manager: pluggy.PluginManager, seam: Seam, suffix: str, name: str
) -> PluginSection | None:
    plugin = load_plugin(manager, seam, name)
    model = read_section_class(plugin)
    if model is None:
        return None
    return PluginSection(render_section_name(plugin.info.name, suffix), model)


def _list_names(seam: Seam) -> list[str]:
    return [info.name for info in find_plugins(seam)]
