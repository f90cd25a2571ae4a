"""The entry point of the source: the hooks for its settings and for the source itself."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.hooks.sources.base import MessageSource
from twinframe.settings import Section
from twinframe_events_nats.settings import NatsSourceSettings
from twinframe_events_nats.source import NatsSource


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys of a source of type `nats`."""
    return NatsSourceSettings


@hookimpl
def twinframe_source(settings: Section) -> MessageSource | None:
    """A source of the configured stream."""
    return NatsSource(settings) if isinstance(settings, NatsSourceSettings) else None
