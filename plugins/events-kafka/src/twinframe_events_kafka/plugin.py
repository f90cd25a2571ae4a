"""The entry point of this distribution: the hooks for its settings and its event sink."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.hooks.event_sinks.base import EventSink
from twinframe.settings import Section
from twinframe_events_kafka.settings import KafkaSettings
from twinframe_events_kafka.sink import KafkaSink


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys of an endpoint of type `kafka`."""
    return KafkaSettings


@hookimpl
def twinframe_event_sink(settings: Section) -> EventSink | None:
    """A sink of the configured cluster."""
    return KafkaSink(settings) if isinstance(settings, KafkaSettings) else None
