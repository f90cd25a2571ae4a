"""Lets the server count rows again when a graph has grown much: it plans by what it counted."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

from twinframe.errors import TwinframeError
from twinframe_storage_postgres.connections import Connection
from twinframe_storage_postgres.errors import EngineError
from twinframe_storage_postgres.homes import Forwarded, Home
from twinframe_storage_postgres.statements import qualify

_ANALYZE: Final = "ANALYZE (SKIP_LOCKED) @twin, @relationship"
_LEAST: Final = 4 * 1024 * 1024
_WAIT_SECONDS: Final = 5.0


class Statistics:
    """The statistics of one graph, made anew each time its documents have twice the bytes.

    The server's autovacuum does the same after a minute or more: until then, an import would be
    queried by plans for a graph that is nearly empty. A failure is left to autovacuum.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._next: int | None = None
        self._thread: threading.Thread | None = None

    def note(self, content: int) -> None:
        """Take note of the bytes of all documents; called by one thread."""
        if self._next is None:
            self._next = max(2 * content, _LEAST)
        if content < self._next or (self._thread is not None and self._thread.is_alive()):
            return
        self._next = 2 * content
        self._thread = threading.Thread(target=self._analyze, name="twinframe-analyze", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for a while until the server has counted."""
        if self._thread is not None:
            self._thread.join(_WAIT_SECONDS)

    def _analyze(self) -> None:
        def run(connection: Connection) -> None:
            connection.execute(qualify(_ANALYZE, self._home.schema), prepare=False)

        with suppress(*EngineError, TwinframeError, Forwarded):
            self._home.run(run)
