"""The entry point of this distribution: the hooks for its settings and its event sink."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.hooks.event_sinks.base import EventSink
from twinframe.settings import Section
from twinframe_events_mqtt.settings import MqttSettings
from twinframe_events_mqtt.sink import MqttSink


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys of an endpoint of type `mqtt`."""
    return MqttSettings


@hookimpl
def twinframe_event_sink(settings: Section) -> EventSink | None:
    """A sink of the configured broker."""
    return MqttSink(settings) if isinstance(settings, MqttSettings) else None
