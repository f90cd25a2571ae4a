"""Builds the sites of plugins with their facts about the service, and checks their paths."""

from __future__ import annotations

import re
from typing import Final

import twinframe
from twinframe.control.hosting.api_context import HOSTED
from twinframe.control.hosting.routes import HOSTED_ROUTES
from twinframe.control.http.route_parts import PREFIX
from twinframe.errors import PluginError, SettingsError
from twinframe.hooks.installation import Installation
from twinframe.hooks.sites import ServiceFacts, Site
from twinframe.settings import ControlSettings, Settings

_PATH: Final = re.compile(r"/[a-z0-9][a-z0-9-]*")
_TAKEN: Final = frozenset(
    {route.path.split("/")[1] for route in HOSTED_ROUTES}
    | {HOSTED, PREFIX.split("/")[1], "mcp", "sse", "messages"}
)
"""First segments of the service's own paths, whether these are enabled or not."""


def build_sites(installation: Installation) -> tuple[Site, ...]:
    """Build the sites of all plugins.

    Raises `PluginError` for an invalid or taken path, `SettingsError` for a base path that would
    hide a site.
    """
    settings = installation.settings
    first = settings.server.base_path.partition("/")[2].partition("/")[0].lower()
    found: dict[str, tuple[Site, str]] = {}
    for owner, site in installation.build_sites(build_facts(settings)):
        path = site.path
        if not _PATH.fullmatch(str(path)):  # a plugin may be untyped
            raise PluginError(
                f"{owner} has a site at {path!r}: write one segment of a-z, 0-9 and -, such as "
                "/explorer."
            )
        if path[1:] in _TAKEN:
            raise PluginError(f"{owner} has a site at {path}, where operations of the service are.")
        if path in found:
            raise PluginError(f"{owner} and {found[path][1]} both have a site at {path}.")
        if path[1:] == first:
            raise SettingsError(
                f"Server__BasePath={settings.server.base_path} would hide what {owner} has at "
                f"{path}. Choose another."
            )
        found[path] = (site, owner)
    starts = [(path, owner) for path, (site, owner) in found.items() if site.is_start]
    if len(starts) > 1:
        named = " and ".join(f"{path} of {owner}" for path, owner in starts)
        raise PluginError(f"{named} both want to be the start at /: one can.")
    return tuple(site for site, _owner in found.values())


def build_facts(settings: Settings) -> ServiceFacts:
    """Return the facts that sites get about a service with these settings."""
    access, control = settings.authentication, settings.control
    return ServiceFacts(
        version=twinframe.__version__,
        asks=access.asks,
        takes_tokens=access.asks and access.takes_tokens,
        authority=access.authority or access.expected_issuer,
        audience=access.audience,
        scopes=settings.authorization.api_scopes,
        control=_find_control(control),
        control_audience=control.audience or access.audience,
        control_scopes=control.required_scopes,
        hosting=settings.hosting.enabled,
        events=settings.events.enabled,
        heartbeat=settings.events.heartbeat,
    )


def _find_control(settings: ControlSettings) -> str:
    if settings.enabled:  # it is in this process, whatever its address
        return PREFIX
    return settings.public_url and settings.public_url + PREFIX
