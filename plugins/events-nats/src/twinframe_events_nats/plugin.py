"""The entry point of this distribution: the hooks for its settings and its event sink."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.hooks.event_sinks.base import EventSink
from twinframe.settings import Section
from twinframe_events_nats.settings import NatsSettings
from twinframe_events_nats.sink import NatsSink


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys of an endpoint of type `nats`."""
    return NatsSettings


@hookimpl
def twinframe_event_sink(settings: Section) -> EventSink | None:
    """A sink of the configured servers."""
    return NatsSink(settings) if isinstance(settings, NatsSettings) else None
