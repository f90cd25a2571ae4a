"""A graph opened in this process, for code that awaits."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.graph import Graph
from twinframe.graph.history.graph_changes import EntityType
from twinframe.graph.queries.queries import QueryPage
from twinframe.graph.series.documents import build_buckets, build_points
from twinframe.graph.series.questions import SeriesQuestion
from twinframe.graph.statements.explicit import ExplicitTransaction
from twinframe.graph.transfer.exporting import Exported
from twinframe.graph.transfer.progress import Finding, Progress
from twinframe.graph.transfer.target import open_target
from twinframe.library.documents import AsOf, Document, build_asked, parse_documents
from twinframe.library.loading import Loadable, Loaded, Loader
from twinframe.library.opening import build_installation
from twinframe.library.operations import AsyncOperations, build_result
from twinframe.library.results import Result
from twinframe.model.pages import PageRequest
from twinframe.service.opening import open_graph
from twinframe.settings import Settings

T = TypeVar("T")

_MOST_FINDINGS: Final = 100
_TYPES: Final = tuple(one.value for one in EntityType)
TRANSACTION_SECONDS: Final = 4.0
"""How long a transaction may be open by default: less than others wait (`Storage__WriteWait`)."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import stored, and the first 100 of the lines that it refused.

    `progress` has the numbers of each kind, and `errors`, the number of refused lines.
    """

    progress: Progress
    findings: tuple[Finding, ...]


class AsyncTransaction(AsyncOperations):
    """An open transaction: reads see its changes, and no other write of the graph runs meanwhile.

    A refused write changes nothing, and the transaction goes on. After an error of a statement that
    writes, of a model or of the storage it can only be rolled back: `TransactionFailed`. Use it
    from one task. `as_of` is refused: it shows one state.
    """

    def __init__(self, transaction: ExplicitTransaction, settings: Settings) -> None:
        super().__init__(transaction, settings)
        self._transaction = transaction

    async def execute(self, text: str, parameters: Mapping[str, Any] | None = None) -> Result:
        """Run a statement of Cypher that may write; `counters` say what it changed.

        Errors: `QueryInvalid`, `QueryTimeout`, `LimitExceeded`, and those of the writes that it
        does.
        """
        statements = self._transaction.statements
        prepared = statements.prepare(text, await self._reader.read_parameters(parameters))
        return build_result(await self._transaction.execute(prepared))

    async def _find(self, as_of: AsOf | None) -> int | None:
        if as_of is not None:
            raise InvalidArgument(
                "A transaction shows one state of the graph. Read an earlier one (as_of) outside."
            )
        return None

    async def _start_query(
        self, text: str, parameters: Document, size: int, as_of: AsOf | None
    ) -> QueryPage:
        await self._find(as_of)
        return await self._transaction.query(text, parameters, size)


class AsyncLocalGraph(AsyncOperations):
    """A graph opened in this process. Use it on the event loop that opened it."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        super().__init__(graph, settings)
        self._graph = graph

    # --- statements and transactions

    async def execute(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        rehearse: bool = False,
    ) -> Result:
        """Run a statement of Cypher that may write, all or nothing; `counters` say what it changed.

        With `rehearse` nothing of it is kept. Errors: `QueryInvalid`, `QueryTimeout`,
        `LimitExceeded`, and those of the writes that it does.
        """
        statements = self._graph.statements
        prepared = statements.prepare(text, await self._reader.read_parameters(parameters))
        return build_result(await statements.run(prepared, rehearse=rehearse))

    @asynccontextmanager
    async def transaction(
        self, *, rehearse: bool = False, seconds: float = TRANSACTION_SECONDS
    ) -> AsyncIterator[AsyncTransaction]:
        """Keep all that is done in the context, or nothing of it after an exception.

        It is open for at most `seconds`, in which all other writers of the graph wait; then it is
        rolled back. With `rehearse` nothing is kept. Errors: `StorageBusy` where its turn to write
        does not come, `QueryTimeout` after its time, `TransactionFailed`, `TransactionOutdated`.
        """
        if not 0 < seconds < math.inf:
            raise InvalidArgument(f"seconds must be a number above 0, not {seconds!r}.")
        async with self._graph.explicit.open(seconds, rehearse=rehearse) as opened:
            yield AsyncTransaction(opened, self._settings)

    # --- telemetry

    async def publish_telemetry(
        self,
        twin_id: str,
        payload: Mapping[str, Any],
        *,
        component: str | None = None,
        message_id: str | None = None,
        source_time: str | None = None,
    ) -> None:
        """Accept a message of a twin or of its component; a service delivers it to event routes.

        Errors: `InvalidArgument`, `TwinNotFound`, `ComponentNotFound`, `ValidationFailed`.
        """
        body = await self._reader.read(payload)
        message_id = message_id or str(uuid.uuid4())
        await self._graph.telemetry.publish(twin_id, component, body, message_id, source_time)

    # --- the past

    async def changes(
        self,
        since: AsOf,
        until: AsOf | None = None,
        *,
        include: Sequence[str] = ("twins", "relationships", "models"),
    ) -> AsyncIterator[Document]:
        """Yield how the graph differs between two states, a dictionary for each twin and so on.

        They are those of `GET /changes`; what was changed and changed back is none. `until` is now
        if it is None. Errors: `InvalidArgument`, `HistoryNotKept`, `Unsupported`.
        """
        async for page in self.change_pages(since, until, include=include):
            for one in page:
                yield one

    async def change_pages(
        self, since: AsOf, until: AsOf | None = None, *, include: Sequence[str]
    ) -> AsyncIterator[list[Document]]:
        """Yield the changes page by page. Errors: as `changes`."""
        start = str(build_asked(since))
        end = None if until is None else str(build_asked(until))
        types, token = [_parse_type(name) for name in include], None
        while True:
            found = await self._graph.changes.list_of_graph(
                start, end, types, PageRequest(self._settings.graph.max_page_size, token)
            )
            yield parse_documents(found.page.items)
            start, end = str(found.within.after), end and str(found.within.end)
            token = found.page.token
            if token is None:
                return

    async def series(
        self,
        twin_id: str,
        path: str,
        since: AsOf,
        until: AsOf | None = None,
        *,
        every: str | None = None,
        aggregates: Sequence[str] = (),
    ) -> Result:
        """Return the values over time of a property or of telemetry: rows of `time` and `value`.

        With `every`, a step such as `1h`, rows have `time` and the `aggregates` of each step
        (`avg` if none is named). Errors: `InvalidArgument`, `TwinNotFound`, `SeriesNotFound`,
        `Unsupported`, `HistoryNotKept`, `QueryTimeout`.
        """
        start, end = str(build_asked(since)), None if until is None else str(build_asked(until))
        question = SeriesQuestion(start, end, every, tuple(dict.fromkeys(aggregates)))
        series = self._graph.series
        if every or aggregates:
            names = question.aggregates or ("avg",)
            found = await series.read_buckets(twin_id, path, question)
            return Result([*build_buckets(found, names)], ("time", *names))
        points = await self._gather(lambda page: series.read_points(twin_id, path, question, page))
        return Result([*build_points(points)], ("time", "value"))

    # --- files

    async def load(self, source: Loadable) -> Loaded:
        """Store models, twins and relationships of a file, a folder or documents.

        A file `*.json` has one document or a list: DTDL interfaces, twins with their `$dtId`,
        relationships with `$sourceId` and `$relationshipId`. Every other file is read as by
        `import_file`. Of a folder these are all `*.json`, `*.ndjson` and `*.ndjson.gz` below it,
        models first. A model that is there with the same document is skipped, a twin or
        relationship is replaced. What cannot be stored is left out and reported. Errors:
        `OSError`, `InvalidArgument` for what is no such document.
        """
        return await Loader(self._graph.portable, self._reader, self._settings).load(source)

    async def import_file(self, path: str | os.PathLike[str]) -> Imported:
        """Store the models, twins and relationships of a file as `twinframe export` writes it.

        The file is NDJSON, plain or gzip, also of the vendor's service. Lines that cannot be stored
        are left out and reported. Errors: `OSError`, `InvalidArgument` for another file.
        """
        findings: list[Finding] = []

        def report(_progress: Progress, found: Sequence[Finding]) -> None:
            findings.extend(found[: _MOST_FINDINGS - len(findings)])

        source = await asyncio.to_thread(Path(path).open, "rb")
        with source:
            progress = await self._graph.portable.import_graph(source, report=report)
        return Imported(progress, tuple(findings))

    async def export_file(self, path: str | os.PathLike[str], *, history: bool = False) -> Exported:
        """Write the graph to a file, with `history` every change that is kept, too.

        It is compressed where the name ends in `.gz`. The file is there when it is complete.
        Errors: `OSError`.
        """
        async with _enter_in_thread(open_target(Path(path))) as out:
            return await self._graph.portable.export_graph(out.write, history=history)

    async def _find(self, as_of: AsOf | None) -> int | None:
        if as_of is None:
            return None
        return await self._graph.history.find_position(build_asked(as_of))

    async def _start_query(
        self, text: str, parameters: Document, size: int, as_of: AsOf | None
    ) -> QueryPage:
        asked = None if as_of is None else build_asked(as_of)
        return await self._graph.queries.run(text, parameters, None, size, asked)


def _parse_type(name: str) -> EntityType:
    try:
        return EntityType(name)
    except ValueError:
        hint = render_hint(name, _TYPES, "It takes")
        raise InvalidArgument(f"changes includes no {name!r}. {hint}") from None


@asynccontextmanager
async def _enter_in_thread(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and exit a context that waits for the disk."""
    stack = ExitStack()
    value = await asyncio.to_thread(stack.enter_context, context)
    try:
        yield value
    except BaseException:
        if not await asyncio.to_thread(stack.__exit__, *sys.exc_info()):
            raise
    else:
        await asyncio.to_thread(stack.close)


@asynccontextmanager
async def open_async(
    path: str | os.PathLike[str] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
) -> AsyncIterator[AsyncLocalGraph]:
    """Open a graph while the context is entered: `async with twinframe.open_async(path) as graph`.

    See `open`.
    """
    installation = build_installation(path, settings)
    async with open_graph(installation, alone=False) as graph:
        yield AsyncLocalGraph(graph, installation.settings)
