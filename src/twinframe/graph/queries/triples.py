"""The use cases of RDF: exports the graph and SHACL shapes of its models, runs SPARQL."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from twinframe.errors import (
    LimitExceeded,
    QueryTimeout,
    StorageBusy,
    StorageError,
    StorageFull,
    TwinframeError,
    Unsupported,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.queries.spool import find_temporary
from twinframe.storage.base import GraphSession
from twinframe.storage.triples import (
    Content,
    SparqlEngine,
    SparqlLimits,
    SparqlQuery,
    Syntax,
    TripleSupport,
    TripleWriter,
)

_GRACE: Final = 1.0
"""The seconds that an engine has to stop by itself, after the deadline."""

_NOT_RDF: Final = (
    "SPARQL needs a graph that is stored as RDF (Storage__Provider=rdf); this one is not. "
    "Ask in Cypher at /query, or take GET /export to an RDF store."
)


class Triples:
    """The graph as RDF. Answers are streams that must be closed."""

    def __init__(
        self, context: GraphContext, support: TripleSupport | None, scratch: Path | None
    ) -> None:
        """Answers are written in `scratch`, else among the temporary files."""
        self._context = context
        self._support = support
        self._scratch = scratch
        self._exports = StreamSlots(context.settings.export.at_once, "Export__AtOnce")
        self._queries = StreamSlots(context.settings.sparql.at_once, "Sparql__AtOnce")

    @property
    def is_sparql_enabled(self) -> bool:
        """Return whether the settings enable SPARQL."""
        return self._context.settings.sparql.enabled

    def check_support(self) -> None:
        """Raise `Unsupported` if no writer of RDF is installed."""
        self._require_support()

    async def export_graph(self, syntax: Syntax, content: Content) -> WrittenStream:
        """Export the graph in one state. Errors: `Unsupported`, `StorageBusy`, `QueryTimeout`."""
        return await self._export(lambda w, session: w.write_graph(session, syntax, content))

    async def export_shapes(self, syntax: Syntax) -> WrittenStream:
        """SHACL shapes of the stored models. Errors as of `export_graph`."""
        return await self._export(lambda w, session: w.write_shapes(session, syntax))

    async def export_report(self, syntax: Syntax) -> WrittenStream:
        """Report the twins' violations of the shapes. Errors as of `export_graph`."""
        most = self._context.settings.export.max_results
        return await self._export(lambda w, session: w.write_report(session, syntax, most))

    async def parse_query(
        self, text: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> SparqlQuery:
        """Parse a query. Errors: `Unsupported`, `SparqlInvalid`, `LimitExceeded`."""
        settings = self._context.settings.sparql
        limits = SparqlLimits(settings.max_text_bytes, settings.max_depth)
        parse = self._find_engine().parse_query
        return await asyncio.to_thread(parse, text, limits, default_graphs, named_graphs)

    async def run_query(self, query: SparqlQuery, syntax: Syntax) -> WrittenStream:
        """Return the answer to a query. Errors: `QueryTimeout`, `LimitExceeded`, `StorageBusy`.

        NOTE: a query that cannot be stopped keeps its thread, and with it one of the few slots,
        until it ends; its caller is answered in time all the same.
        """
        settings = self._context.settings.sparql
        engine = self._find_engine()
        deadline = time.monotonic() + settings.timeout
        limit = settings.max_result_bytes
        release = self._queries.take()
        try:
            stream = WrittenStream(self._scratch, limit, "Sparql__MaxResultBytes")
            running = _start_thread(
                lambda: engine.run_query(query, syntax, deadline, limit, stream.append)
            )
        except BaseException:
            release()
            raise
        running.add_done_callback(lambda _: release())
        return await begin_stream(
            stream, asyncio.ensure_future(_end_at(running, deadline + _GRACE))
        )

    def _find_engine(self) -> SparqlEngine:
        if self._support is None or self._support.sparql is None:
            raise Unsupported(_NOT_RDF)
        return self._support.sparql

    def _require_support(self) -> TripleSupport:
        if self._support is None:
            raise Unsupported("This graph is not served with anything that writes RDF.")
        return self._support

    async def _export(
        self, write: Callable[[TripleWriter, GraphSession], Iterator[bytes]]
    ) -> WrittenStream:
        writer = await asyncio.to_thread(self._require_support().load_writer)
        settings = self._context.settings.export
        release = self._exports.take()
        try:
            stream = WrittenStream(self._scratch, settings.max_bytes, "Export__MaxBytes")
        except BaseException:
            release()
            raise
        scan = self._context.runner.scan(
            lambda session: stream.write(write(writer, session)), settings.timeout
        )
        task = asyncio.ensure_future(scan)
        task.add_done_callback(lambda _: release())
        return await begin_stream(stream, task)


class StreamSlots:
    """A limited number of slots in this worker; used on the event loop alone."""

    def __init__(self, count: int, setting: str) -> None:
        self._free = count
        self._count = count
        self._setting = setting

    def take(self) -> Callable[[], None]:
        """Take a slot; return the function that releases it; `StorageBusy` when there is none."""
        if not self._free:
            raise StorageBusy(
                f"{self._count} of these run already ({self._setting}); try again later."
            )
        self._free -= 1
        return self._give

    def _give(self) -> None:
        self._free += 1


async def begin_stream(stream: WrittenStream, writing: asyncio.Future[None]) -> WrittenStream:
    try:
        await stream.begin(writing)
    except BaseException:
        await stream.close()
        raise
    return stream


def _start_thread(function: Callable[[], None]) -> asyncio.Future[None]:
    """Run in a thread of its own, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
            future.exception()  # read even when there is no waiter any more

    def run() -> None:
        error: BaseException | None = None
        try:
            function()
        except Exception as raised:  # noqa: BLE001  (the job runner: the waiting caller gets the error)
            error = raised
        with suppress(RuntimeError):  # the loop was closed: there is no waiter left
            loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=run, name="twinframe-sparql", daemon=True).start()
    return future


async def _end_at(running: asyncio.Future[None], end: float) -> None:
    try:
        async with asyncio.timeout(end - time.monotonic()):
            await asyncio.shield(running)
    except TimeoutError:
        raise QueryTimeout("The query passed its deadline (Sparql__Timeout).") from None


_PIECE: Final = 256 * 1024


class StreamClosed(TwinframeError):
    """The reader has closed the stream; ends the writing, and is not reported."""


class WrittenStream:
    """Bytes from a thread to the event loop through an unnamed file.

    A snapshot that is read ends as soon as everything is written, however slow the client is.
    NOTE: the file is removed from the directory before it has any content, so nothing is left
    behind, however the process ends.
    """

    def __init__(self, directory: Path | None, limit: int, setting: str) -> None:
        """`setting` names the limit of bytes. Raises `StorageError` when no file can be made."""
        self._limit = limit
        self._setting = setting
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._lock = threading.Lock()
        self._size = 0
        self._taken = 0
        self._writing: asyncio.Future[None] | None = None
        self._closed = False
        try:
            if directory is not None:
                directory.mkdir(mode=0o700, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=directory or find_temporary(), buffering=0)  # noqa: SIM115  (closed by `close`)
        except OSError as error:
            raise StorageError(f"The answer cannot be written down: {error.strerror}.") from error

    # --- in the thread --------------------------------------------------------------------------

    def write(self, pieces: Iterable[bytes]) -> None:
        """Write all pieces; see `append`."""
        for piece in pieces:
            self.append(piece)

    def append(self, piece: bytes) -> None:
        """Write a piece.

        Raises `StreamClosed` once the reader is gone, `LimitExceeded`, `StorageFull`.
        """
        if self._size + len(piece) > self._limit:
            raise LimitExceeded(f"The answer has more than {self._limit} bytes ({self._setting}).")
        with self._lock:
            if self._closed:
                raise StreamClosed("The client left before it had the whole answer.")
            self._write(piece)
        self._loop.call_soon_threadsafe(self._news.set)

    def _write(self, piece: bytes) -> None:
        try:
            view = memoryview(piece)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise StorageFull(f"The answer cannot be written down: {error.strerror}.") from error
        self._size += len(piece)

    # --- on the event loop ----------------------------------------------------------------------

    async def begin(self, writing: asyncio.Future[None]) -> None:
        """Wait for the first bytes of `writing`; raise its errors until then."""
        self._writing = writing
        writing.add_done_callback(self._end)
        await self._wait()

    async def read(self, size: int = _PIECE) -> bytes:
        """Return the next bytes; none at the end.

        Errors of the writing are raised where its bytes end.
        """
        if not await self._wait():
            return b""
        piece = await asyncio.to_thread(os.pread, self._file.fileno(), size, self._taken)
        self._taken += len(piece)
        return piece

    async def close(self) -> None:
        """Stop the writing if it continues, and close the file."""
        with self._lock:
            self._closed = True
        if self._writing is not None and not self._writing.done():
            self._writing.cancel()
            await asyncio.wait([self._writing])
        with self._lock:
            self._file.close()

    def _end(self, writing: asyncio.Future[None]) -> None:
        if not writing.cancelled():
            writing.exception()  # raised where the bytes end, if anybody reads so far
        self._news.set()

    async def _wait(self) -> bool:
        """Wait until there is something to read; return False at the end."""
        assert self._writing is not None, "begin comes first"  # noqa: S101
        while self._taken >= self._size:
            if self._writing.done():
                if self._taken < self._size:  # written between the two checks
                    return True
                self._writing.result()
                return False
            self._news.clear()
            if self._taken < self._size or self._writing.done():
                continue
            await self._news.wait()
        return True
