"""The event sink `log`, which writes events to the service's log, for trials."""

from __future__ import annotations

import logging

from twinframe import hookimpl
from twinframe.hooks.event_sinks.base import EventSink, Message
from twinframe.settings import Section

_log = logging.getLogger("twinframe.events.sink")


class LogSink(EventSink):
    """Writes each event as one line of level info."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def send(self, message: Message) -> None:
        """Write it; it counts as delivered at once."""
        _log.info("%s: %s", self._name, message.body.decode())


@hookimpl
def twinframe_event_sink(settings: Section, name: str) -> EventSink:
    """Build a sink of the log; it has no settings."""
    del settings
    return LogSink(name)
