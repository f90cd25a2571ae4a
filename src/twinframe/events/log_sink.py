"""The sink `log`: events as lines of the service's log, for trials. Nothing leaves the machine."""

from __future__ import annotations

import logging

from twinframe import hookimpl
from twinframe.events.sinks import EventSink, Message
from twinframe.settings import Section

_log = logging.getLogger("twinframe.events.sink")


class LogSink(EventSink):
    """Writes each event as one line of level info."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def send(self, message: Message) -> None:
        """Write it; it is taken at once."""
        _log.info("%s: %s", self._name, message.body.decode())


@hookimpl
def twinframe_event_sink(settings: Section, name: str) -> EventSink:
    """A sink of the log; it takes no settings."""
    del settings
    return LogSink(name)
