"""The entry point of this distribution: the hooks for its settings and its event sink."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.hooks.event_sinks.tables import TableSink
from twinframe.settings import Section
from twinframe_events_parquet.settings import ParquetSettings
from twinframe_events_parquet.sink import ParquetSink


@hookimpl
def twinframe_settings() -> type[Section]:
    """The keys of an endpoint of type `parquet`."""
    return ParquetSettings


@hookimpl
def twinframe_event_sink(settings: Section) -> TableSink | None:
    """A sink that writes below the configured location."""
    return ParquetSink(settings) if isinstance(settings, ParquetSettings) else None
