"""Writes whole graphs as lines, from one snapshot, and reads them back without a job.

The same graph always gives the same bytes: models come in the order of dependency, then by id;
twins by id; relationships by source and id; ids in the order of their code points.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

import orjson

from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.twins import list_parts
from twinframe.graph.history.history import History
from twinframe.graph.history.past import PastSession
from twinframe.graph.queries.triples import StreamSlots, WrittenStream, begin_stream
from twinframe.graph.series.runner import PointRunner
from twinframe.graph.transfer.importing import Importer, keep_nothing
from twinframe.graph.transfer.lines import ByteSource
from twinframe.graph.transfer.past_lines import PastRange, find_past, render_changes
from twinframe.graph.transfer.point_lines import POINTS, render_points
from twinframe.graph.transfer.progress import BEGIN, Finding, Progress
from twinframe.graph.transfer.sections import (
    DeletedModel,
    Header,
    ModelFacts,
    Section,
    render_header,
    render_section,
)
from twinframe.query.algebra import LabelName
from twinframe.storage.base import GraphSession, ModelRecord, RelationshipRecord
from twinframe.storage.points import SeriesPart

_AT_ONCE: Final = 1000
_END: Final = b"\n"


@dataclass(frozen=True, slots=True)
class Exported:
    """The number of each kind that was written; without a history it has no `changes`."""

    models: int
    twins: int
    relationships: int
    points: int = 0
    changes: int | None = None


def write_graph(
    session: GraphSession,
    write: Callable[[bytes], object],
    *,
    author: str = "",
    organization: str = "",
    exact: bool = True,
    points: Iterator[SeriesPart] | None = None,
    past: PastRange | None = None,
    report: Callable[[Section, int], object] = lambda _section, _count: None,
) -> Exported:
    """Write the graph in pieces of whole lines; the session must be in a snapshot.

    `exact`: keep etags and times for an import by this service; without it the file only holds what
    the vendor's import accepts. `points` are values over time and `past` is the history, for exact
    files. `report` is called with the number written of a section.
    """
    models = order_models(_read_all_models(session))
    header = Header()
    if exact:
        header = build_header(session, models)
        history = "" if past is None else _name_history(session)
        header = replace(header, points=points is not None, history=history)
    write(render_section(Section.HEADER) + _END)
    write(render_header(header, author, organization) + _END)
    parts = (Section.MODELS, Section.TWINS, Section.RELATIONSHIPS)
    counts = _write_state(session, models, parts, exact, write, report)
    changes = None if past is None else _write_history(session, past, write, report)
    stored = 0 if points is None else _write_points(points, write, report)
    return Exported(counts[0], counts[1], counts[2], stored, changes)


def _write_state(
    session: GraphSession,
    models: Iterable[ModelRecord],
    names: Sequence[Section],
    exact: bool,
    write: Callable[[bytes], object],
    report: Callable[[Section, int], object],
) -> list[int]:
    """Write models, twins and relationships in sections of these names; return their numbers."""
    parts: Sequence[Iterable[bytes]] = (
        (model.document for model in models),
        _render_twins(session, exact=exact),
        _render_relationships(session, exact=exact),
    )
    return [
        _write_lines(section, lines, write, report)
        for section, lines in zip(names, parts, strict=True)
    ]


def _write_lines(
    section: Section,
    lines: Iterable[bytes],
    write: Callable[[bytes], object],
    report: Callable[[Section, int], object],
) -> int:
    write(render_section(section) + _END)
    written = 0
    remaining = iter(lines)
    while chunk := list(islice(remaining, _AT_ONCE)):
        chunk.append(b"")
        write(_END.join(chunk))
        written += len(chunk) - 1
        report(section, written)
    return written


def _write_history(
    session: GraphSession,
    past: PastRange,
    write: Callable[[bytes], object],
    report: Callable[[Section, int], object],
) -> int:
    """Write the state at its beginning, then what changed since; return how many changes."""
    state = PastSession(session, past.after)
    models = order_models(_read_all_models(state))
    header = replace(build_header(state, models), since=past.since)
    write(render_section(Section.HISTORY) + _END)
    write(render_header(header) + _END)
    if past.since is not None:
        parts = (Section.PAST_MODELS, Section.PAST_TWINS, Section.PAST_RELATIONSHIPS)
        _write_state(state, models, parts, True, write, report)
    lines = render_changes(session, past)
    return _write_lines(Section.CHANGES, lines, write, report) - 1


def _name_history(session: GraphSession) -> str:
    """Name the history of a graph up to now."""
    return f"{session.read_instance().id}-{session.read_event_bounds()[1]}"


def _write_points(
    points: Iterator[SeriesPart],
    write: Callable[[bytes], object],
    report: Callable[[Section, int], object],
) -> int:
    write(render_section(Section.POINTS) + _END)
    written = 0
    for part in points:
        for line in render_points(part):
            write(line + _END)
        written += len(part.times)
        report(Section.POINTS, written)
    return written


def order_models(models: Sequence[ModelRecord]) -> list[ModelRecord]:
    """Sort models after their dependencies; of those that could come next the least id first."""
    known = {model.model_id: model for model in models}
    waiting: dict[str, int] = {}
    users: dict[str, list[str]] = defaultdict(list)
    for model in models:
        # NOTE: interfaces may contain each other as components only through themselves, which DTDL
        # refuses; a reference to itself or to a model that is not stored would wait for ever.
        needs = {x for x in (*model.extends, *model.components) if x in known} - {model.model_id}
        waiting[model.model_id] = len(needs)
        for needed in needs:
            users[needed].append(model.model_id)
    ready = [model_id for model_id, count in waiting.items() if not count]
    heapq.heapify(ready)
    ordered: list[ModelRecord] = []
    while ready:
        model_id = heapq.heappop(ready)
        ordered.append(known.pop(model_id))
        for user in users[model_id]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, user)
    return [*ordered, *(known[model_id] for model_id in sorted(known))]


def build_header(
    session: GraphSession,
    models: Sequence[ModelRecord],
) -> Header:
    """The header of an exact file of this graph, without points and history."""
    facts = {
        model.model_id: ModelFacts(model.upload_time, model.decommissioned) for model in models
    }
    return Header(True, facts, tuple(_find_deleted(session, frozenset(facts))))


def _find_deleted(session: GraphSession, stored: frozenset[str]) -> Iterator[DeletedModel]:
    """Yield deleted models that twins still refer to; their twins' labels show what they were."""
    for model_id in sorted(session.read_model_ids() - stored):
        for node in session.scan_nodes(LabelName(model_id)):
            if session.read_twin_model(node.id) == model_id:
                above = {label for label in node.labels if ":" in label} - {model_id}
                yield DeletedModel(model_id, tuple(sorted(above)))
                break


def _read_all_models(session: GraphSession) -> list[ModelRecord]:
    models: list[ModelRecord] = []
    while page := session.read_models(after=models[-1].position if models else 0, limit=_AT_ONCE):
        models += page
    return models


def _render_twins(session: GraphSession, *, exact: bool) -> Iterator[bytes]:
    # PERF: the stored bytes are a line as they are.
    bodies = (twin.body for twin in session.iterate_twins())
    return bodies if exact else map(_strip_twin, bodies)


def _render_relationships(session: GraphSession, *, exact: bool) -> Iterator[bytes]:
    build = _extend_relationship if exact else _strip_relationship
    return map(build, session.iterate_relationships())


def _extend_relationship(record: RelationshipRecord) -> bytes:
    """Return the stored bytes with the source's id in front, under the name that the vendor reads.

    PERF: nothing is decoded.
    """
    return b'{"$dtId":' + orjson.dumps(record.source_id) + b"," + record.body[1:]


def _strip_twin(body: bytes) -> bytes:
    """SPEC: the contents of a PUT: no etag, no times; the vendor accepts source times."""
    twin = orjson.loads(body)
    parts = list_parts(twin)
    del twin["$etag"]
    metadata = twin["$metadata"]
    twin["$metadata"] = {"$model": metadata["$model"], **_keep_source_times(metadata)}
    for name in parts:
        twin[name]["$metadata"] = _keep_source_times(twin[name]["$metadata"])
    return orjson.dumps(twin)


def _keep_source_times(metadata: dict[str, object]) -> dict[str, object]:
    return {
        name: {"sourceTime": entry["sourceTime"]}
        for name, entry in metadata.items()
        if isinstance(entry, dict) and "sourceTime" in entry
    }


def _strip_relationship(record: RelationshipRecord) -> bytes:
    stored = orjson.loads(record.body)
    names = ("$relationshipId", "$targetId", "$relationshipName")
    line = {"$dtId": record.source_id, **{name: stored.pop(name) for name in names}}
    for name in ("$etag", "$sourceId"):
        del stored[name]
    return orjson.dumps({**line, **stored})


_NO_END: Final = 365 * 24 * 3600.0


def _tell_nobody(*_told: object) -> None:
    pass


class Portable:
    """Writes and reads whole graphs, with their history and their points if there are any."""

    def __init__(
        self,
        context: GraphContext,
        history: History,
        points: PointRunner | None = None,
        scratch: Path | None = None,
    ) -> None:
        """Streams are written down in `scratch`, else among the temporary files."""
        self._context = context
        self._history = history
        self._points = points
        self._scratch = scratch
        self._slots = StreamSlots(context.settings.export.at_once, "Export__AtOnce")

    async def stream_graph(self, *, exact: bool = True, history: bool = False) -> WrittenStream:
        """Return the lines of the graph as it is now as a stream, which must be closed.

        The snapshot ends when all is written down, however slow the client is. Errors:
        `StorageBusy`, `StorageError`; those of reading, `LimitExceeded` and `QueryTimeout` where
        the lines end.
        """
        settings = self._context.settings.export
        release = self._slots.take()
        try:
            stream = WrittenStream(self._scratch, settings.max_bytes, "Export__MaxBytes")
        except BaseException:
            release()
            raise

        async def write() -> None:
            await self.export_graph(
                stream.append, exact=exact, history=history, timeout=settings.timeout
            )

        task = asyncio.ensure_future(write())
        task.add_done_callback(lambda _: release())
        return await begin_stream(stream, task)

    async def export_graph(
        self,
        write: Callable[[bytes], object],
        *,
        exact: bool = True,
        author: str = "",
        organization: str = "",
        history: bool = False,
        report: Callable[[Section, int], object] = _tell_nobody,
        timeout: float = _NO_END,  # noqa: ASYNC109  (seconds; the store interrupts its reads)
    ) -> Exported:
        """Write the graph as it is now; `write` and `report` are called in a thread.

        Concurrent writes continue and are not seen. `history`: its changes, too, where they are
        kept, and its points, as they are once the rest is written. See `write_graph`.
        """
        points = self._points if history else None
        if points is not None and not points.has_points():
            points = None

        def read(session: GraphSession) -> Exported:
            return write_graph(
                session,
                write,
                points=None if points is None else points.walk(POINTS),
                past=find_past(session, self._history.find_first(session) if history else None),
                exact=exact,
                author=author,
                organization=organization,
                report=report,
            )

        return await self._context.runner.scan(read, timeout)

    async def import_graph(
        self,
        source: ByteSource,
        *,
        start: Progress = BEGIN,
        history: bool = True,
        changes: bool = True,
        report: Callable[[Progress, Sequence[Finding]], object] = _tell_nobody,
    ) -> Progress:
        """Store a file, after `start`; `report` is called for each chunk. See `Importer`.

        Without `history` its changes and its points are left out, without `changes` those alone.
        """
        importer = Importer(
            self._context, keep_nothing, report, self._points, history=history, changes=changes
        )
        return await importer.run(source, start)
