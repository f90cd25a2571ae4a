"""A graph opened in this process, for code that awaits."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from twinframe.graph import Graph
from twinframe.graph.transfer.exporting import Exported
from twinframe.graph.transfer.progress import Finding, Progress
from twinframe.graph.transfer.target import open_target
from twinframe.library.opening import build_installation
from twinframe.library.operations import AsyncOperations
from twinframe.service.opening import open_graph
from twinframe.settings import Settings

T = TypeVar("T")

_MOST_FINDINGS: Final = 100


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import stored, and the first 100 of the lines that it refused.

    `progress` has the numbers of each kind, and `errors`, the number of refused lines.
    """

    progress: Progress
    findings: tuple[Finding, ...]


class AsyncLocalGraph(AsyncOperations):
    """A graph opened in this process. Use it on the event loop that opened it."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        super().__init__(graph, settings)
        self._graph = graph

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
