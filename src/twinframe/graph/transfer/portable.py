"""The use cases of whole graphs: export, and import without a job, from open streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from twinframe.graph.context.context import GraphContext
from twinframe.graph.transfer.exporting import Exported, write_graph
from twinframe.graph.transfer.importing import Importer, keep_nothing
from twinframe.graph.transfer.lines import ByteSource
from twinframe.graph.transfer.progress import BEGIN, Finding, Progress
from twinframe.graph.transfer.sections import Section
from twinframe.storage.base import GraphSession

_NO_END: Final = 365 * 24 * 3600.0


def _tell_nobody(*_told: object) -> None:
    pass


class Portable:
    """Writes and reads whole graphs."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def export_graph(
        self,
        write: Callable[[bytes], object],
        *,
        exact: bool = True,
        author: str = "",
        organization: str = "",
        report: Callable[[Section, int], object] = _tell_nobody,
    ) -> Exported:
        """Write the graph as it is now; `write` and `report` are called in a thread.

        Concurrent writes continue and are not seen. See `write_graph`.
        """

        def read(session: GraphSession) -> Exported:
            return write_graph(
                session,
                write,
                exact=exact,
                author=author,
                organization=organization,
                report=report,
            )

        return await self._context.runner.scan(read, _NO_END)

    async def import_graph(
        self,
        source: ByteSource,
        *,
        start: Progress = BEGIN,
        report: Callable[[Progress, Sequence[Finding]], object] = _tell_nobody,
    ) -> Progress:
        """Store a file, after `start`; `report` is called for each chunk. See `Importer`."""
        return await Importer(self._context, keep_nothing, report).run(source, start)
