"""The entry point of the source: the hooks for its settings and for the source itself."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.hooks.sources.base import MessageSource
from twinframe.settings import Section
from twinframe_events_kafka.settings import KafkaSourceSettings
from twinframe_events_kafka.source import KafkaSource


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys of a source of type `kafka`."""
    return KafkaSourceSettings


@hookimpl
def twinframe_source(settings: Section) -> MessageSource | None:
    """A source of the configured cluster."""
    return KafkaSource(settings) if isinstance(settings, KafkaSourceSettings) else None
