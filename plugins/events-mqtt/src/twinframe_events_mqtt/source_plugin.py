"""The entry point of the source: the hooks for its settings and for the source itself."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.hooks.sources.base import MessageSource
from twinframe.settings import Section
from twinframe_events_mqtt.settings import MqttSourceSettings
from twinframe_events_mqtt.source import MqttSource


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys of a source of type `mqtt`."""
    return MqttSourceSettings


@hookimpl
def twinframe_source(settings: Section) -> MessageSource | None:
    """A source of the configured broker."""
    return MqttSource(settings) if isinstance(settings, MqttSourceSettings) else None
