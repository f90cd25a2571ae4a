"""The entry point of this distribution: the hooks for its settings and its site."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.hooks.sites import ServiceFacts, Site
from twinframe.settings import Section
from twinframe_explorer.settings import ExplorerSettings
from twinframe_explorer.site import ExplorerSite


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Explorer`."""
    return ExplorerSettings


@hookimpl
def twinframe_routes(settings: ExplorerSettings, service: ServiceFacts) -> Sequence[Site]:
    """The explorer at `/explorer`, unless it is switched off."""
    return (ExplorerSite(settings, service),) if settings.enabled else ()
