"""Imports files into a graph line by line, in chunks, each with its checkpoint.

A chunk is parsed and validated before its transaction, then stored together with the caller's
record of the progress; an interrupted import continues after the last such transaction, and nothing
is stored twice or lost. Invalid lines are refused one by one; an error in the file as a whole ends
the import.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final, Protocol, TypeAlias, TypeVar

from twinframe.errors import (
    EmptyBody,
    ImportFileInvalid,
    InvalidArgument,
    MemoryExhausted,
    StorageBusy,
    TwinframeError,
    Unsupported,
)
from twinframe.graph.context.context import GraphContext, ServiceWrite
from twinframe.graph.series.keeping import KeptModels, check_senders
from twinframe.graph.series.lines import Sender
from twinframe.graph.series.runner import PointRunner
from twinframe.graph.transfer.change_lines import ChangeChunk
from twinframe.graph.transfer.graph_file import PATHS
from twinframe.graph.transfer.lines import (
    PARSED,
    PAUSE_SECONDS,
    ByteSource,
    Numbered,
    pause_for_writers,
    read_lines,
)
from twinframe.graph.transfer.model_lines import ModelSection, finish_models
from twinframe.graph.transfer.pace import LEAST_ROWS, Pace
from twinframe.graph.transfer.past_import import PastImport, Unfinished, read_unfinished
from twinframe.graph.transfer.point_lines import PointChunk
from twinframe.graph.transfer.progress import BEGIN, Finding, Progress, build_finding
from twinframe.graph.transfer.relationship_lines import PastRelationshipChunk, RelationshipChunk
from twinframe.graph.transfer.sections import (
    ALL_MODELS,
    PAST,
    STATE,
    Header,
    Section,
    check_order,
    parse_header,
    parse_section,
)
from twinframe.graph.transfer.twin_lines import TwinChunk
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.values import JsonValue
from twinframe.runtime.backoff import Backoff
from twinframe.runtime.memory import Hold, Part
from twinframe.settings.history import ALL
from twinframe.storage.base import GraphSession, GraphTransaction

_CHUNK_BYTES: Final = 1 << 20
_MOST_BLANK: Final = 1_000_000
_COPIES: Final = 2
"""Copies of the text of a model: its line, and the stored form."""
_MODEL_BYTES: Final = 1024
"""The bytes that are kept of a model besides its text until it is stored."""
_ROW_COPIES: Final = 8
"""Memory of a chunk of rows as a multiple of its text: the lines, their values, the stored
forms.
"""
_MANY_ROWS: Final = 10_000
"""Rows of an import after which statistics are made: a graph of fewer is read by any plan."""
_RETRIES: Final = 6
_PAUSES: Final = Backoff(0.2, 8.0, spread=0)
T = TypeVar("T")

Keep: TypeAlias = Callable[[GraphTransaction, Progress, Sequence[Finding]], Progress | None]
"""Called in the transaction of each chunk: checks the lease, stores progress and findings. Returns
the progress as it is stored already, where the answer to that write was lost.
"""


class Chunk(Protocol):
    """Parsed lines of one section. `looks`: `look` must be called before they are stored.

    It is stored in `parts` transactions; refused lines are reported with the last.
    """

    looks: ClassVar[bool]

    @property
    def parts(self) -> int:
        """The number of transactions; known once `look` was called."""
        ...

    def look(self, session: GraphSession) -> None:
        """Read the models to validate against, in the state that `session` sees."""
        ...

    def judge(self, pause_seconds: float = 0.0) -> None:
        """Validate and render as much as possible before the transaction; `pause_seconds` as of
        `pause_for_writers`.
        """
        ...

    def store(
        self, transaction: GraphTransaction, before: Progress, end: int, part: int = 0, /
    ) -> tuple[Progress, Sequence[Finding]]:
        """Store a part; with the last, return the progress after line `end` and refused lines."""
        ...


@dataclass(frozen=True, slots=True)
class RawChunk:
    """Unparsed lines of one section of the file; `end` is the number of the last.

    `memory` is the memory charged for them until they are stored; that of models is charged by the
    reader.
    """

    section: Section
    lines: Sequence[Numbered[bytes]]
    end: int
    memory: int = 0


def keep_nothing(
    _transaction: GraphTransaction, _progress: Progress, _findings: Sequence[Finding]
) -> None:
    """Store no progress, for an import that starts again when it is interrupted."""


class FileReader:
    """Yields the chunks of one file in order. Blocking; used by one thread at a time."""

    def __init__(
        self,
        context: GraphContext,
        source: ByteSource,
        start: Progress,
        *,
        history: bool = True,
        unfinished: Unfinished | None = None,
        rows: int = LEAST_ROWS,
    ) -> None:
        """`history`: read the history of the file, if it has one, in place of the present state.

        `unfinished` is the import of a history that goes on if it is of this file; `rows` is the
        most of a chunk.
        """
        settings = context.settings
        self._history = history
        self._unfinished = unfinished
        self._skipped: frozenset[Section] = frozenset()
        self._jobs = settings.jobs
        self._limits = JsonLimits(settings.json_.max_depth, settings.json_.max_keys)
        held = context.memory.hold(Part.IMPORTS)
        self._is_document = False
        self._begun: dict[Section, int] = {}
        lines = read_lines(source, self._jobs.max_line_bytes, held, self._note_document)
        self._lines = _number(lines)
        self.start = start
        self.header = self.past = Header()
        self._section: Section | None = None
        self._open: list[Numbered[bytes]] = []
        self._held = context.memory.hold(Part.IMPORTS)
        self._size = self._end = 0
        self._rows = min(self._jobs.chunk_rows, rows)
        self._chunks = self._cut()
        self._error: TwinframeError | None = None

    def read_chunks(self) -> list[RawChunk]:
        """Return the next chunks after the start, models alone; none at the end.

        Together they have `Jobs__ChunkRows` lines, or 1 MiB, where the file has as many. Errors:
        `ImportFileInvalid`, after the chunks that come before it.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
        found: list[RawChunk] = []
        lines = memory = 0
        try:
            for chunk in self._chunks:
                found.append(chunk)
                lines += len(chunk.lines)
                memory += chunk.memory
                is_enough = lines >= self._jobs.chunk_rows or memory >= _CHUNK_BYTES * _ROW_COPIES
                # NOTE: models are stored in parts, so they are alone.
                if is_enough or chunk.section in ALL_MODELS:
                    break
        except TwinframeError as failure:
            if not found:
                raise
            self._error = failure
        return found

    def parse(
        self, chunk: RawChunk, pause_seconds: float = 0.0
    ) -> tuple[list[Numbered[JsonValue]], list[Finding]]:
        """Return the values of the lines, and the lines that are no JSON; `pause_seconds` as of
        `pause_for_writers`.
        """
        values: list[Numbered[JsonValue]] = []
        findings: list[Finding] = []
        for number, line in pause_for_writers(chunk.lines, PARSED, pause_seconds):
            try:
                values.append(Numbered(number, parse_json(line, self._limits)))
            except EmptyBody:
                continue
            except InvalidArgument as error:
                findings.append(build_finding(number, chunk.section, "", error))
        return values, findings

    def forget(self, section: Section) -> None:
        """Release the memory of this section's lines: they are stored, or given up."""
        if section in ALL_MODELS:
            self._held.release()

    def find_path(self, line: int) -> str:
        """Return where a line stands in a file that is one JSON document; empty for other files."""
        if not self._is_document:
            return ""
        begun = [(at, section) for section, at in list(self._begun.items()) if at < line]
        at, section = max(begun, key=lambda one: one[0], default=(0, Section.HEADER))
        path = PATHS.get(section.value)
        return f"{path}[{line - at - 1}]" if path else "digitalTwinsFileInfo"

    def _note_document(self) -> None:
        self._is_document = True

    def _cut(self) -> Iterator[RawChunk]:
        """Yield the chunks; lines before an error in the file are yielded before it is raised."""
        try:
            yield from self._scan()
        except TwinframeError:
            if self._open and self._section not in ALL_MODELS:
                yield self._take(self._open[-1].number)
            raise
        if self._section is None:
            raise ImportFileInvalid("The file is empty.", line=1)
        if self._has_chunk(self._end):
            yield self._take(self._end)

    def _scan(self) -> Iterator[RawChunk]:
        """Yield all chunks but the last, which stays in `_open`."""
        for number, line in self._lines:
            self._end = number
            # PERF: documents begin differently, and are not parsed here.
            begun = self._find_section(number, line) if b'"Section"' in line[:64] else None
            if begun is not None:
                check_order(self._section, begun, number)
                if self._has_chunk(number - 1):
                    yield self._take(number - 1)
                self._section = begun
                self._begun[begun] = number
                if begun is Section.HEADER:
                    self.header = self._read_header()
                    self._choose()
                elif begun is Section.HISTORY:
                    self.past = self._read_header()
            elif self._section in (None, Section.HEADER, Section.HISTORY):
                raise ImportFileInvalid(_MISPLACED[self._section is None], line=number)
            elif number > self.start.line and self._section not in self._skipped:
                self._open.append(Numbered(number, line))
                self._size += len(line)
                if self._is_full(number):
                    yield self._take(number)

    def _choose(self) -> None:
        """Choose the sections that are left out, once the header is known."""
        if not (self.header.history and self._history):
            self._skipped = PAST
            return
        self._skipped = STATE
        found = self._unfinished
        if found is not None and found.history == self.header.history:
            self.start = max(found.progress, self.start, key=lambda one: one.line)

    def _take(self, end: int) -> RawChunk:
        assert self._section is not None  # noqa: S101  # lines are of a section
        memory = 0 if self._section in ALL_MODELS else self._size * _ROW_COPIES
        chunk = RawChunk(self._section, self._open, end, memory)
        self._open, self._size = [], 0
        return chunk

    def _has_chunk(self, end: int) -> bool:
        """NOTE: a file without models may still list deleted ones."""
        if self._section not in ALL_MODELS or self._section in self._skipped:
            return bool(self._open)
        header = self.header if self._section is Section.MODELS else self.past
        return bool(self._open) or (bool(header.deleted) and end > self.start.line)

    def _is_full(self, number: int) -> bool:
        if self._section in ALL_MODELS:  # they depend on each other: one chunk
            self._held.grow(_COPIES * len(self._open[-1].value) + _MODEL_BYTES)
            most = self._jobs.max_model_section_bytes
            if self._size > most:
                raise ImportFileInvalid(
                    f"The models have more than {most} bytes together "
                    "(Jobs__MaxModelSectionBytes).",
                    line=number,
                )
            return False
        return len(self._open) >= self._rows or self._size >= _CHUNK_BYTES

    def _find_section(self, number: int, line: bytes) -> Section | None:
        try:
            return parse_section(parse_json(line, self._limits))
        except ImportFileInvalid as error:
            raise ImportFileInvalid(error.message, line=number) from error
        except InvalidArgument:
            return None

    def _read_header(self) -> Header:
        for number, line in self._lines:
            try:
                return parse_header(parse_json(line, self._limits))
            except InvalidArgument as error:
                raise ImportFileInvalid(error.message, line=number) from error
            except ImportFileInvalid as error:
                raise ImportFileInvalid(error.message, line=number) from error
        raise ImportFileInvalid("The file ends before its header.")


def _number(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the non-blank lines with their numbers. Errors: `ImportFileInvalid`.

    SEC: gzip makes a thousand blank lines of a byte, which could never be read to the end.
    """
    blank = 0
    for number, line in enumerate(lines, start=1):
        if line and not line.isspace():
            blank = 0
            yield number, line
            continue
        blank += 1
        if blank > _MOST_BLANK:
            raise ImportFileInvalid(
                f"More than {_MOST_BLANK} blank lines come one after the other.", line=number
            )


_MISPLACED: Final = {
    True: 'The file must begin with {"Section":"Header"}.',
    False: "The header is one line; a section must begin here.",
}


class Importer:
    """Stores a file in a graph.

    `keep` is called in the transaction of each chunk; `report` after each, with the progress. The
    history of the file is stored with the graph and its points go to `points`; without `history`
    both go nowhere, without `changes` the points alone are stored.
    """

    def __init__(
        self,
        context: GraphContext,
        keep: Keep = keep_nothing,
        report: Callable[[Progress, Sequence[Finding]], object] = lambda _progress, _findings: None,
        points: PointRunner | None = None,
        *,
        history: bool = True,
        changes: bool = True,
    ) -> None:
        self._points = points if context.settings.history.telemetry else None
        self._history = history
        self._changes = history and changes
        self._past: PastImport | None = None
        self._context = context
        self._keep = keep
        self._report = report

    async def run(
        self, source: ByteSource, start: Progress = BEGIN, pause: float = 0.0
    ) -> Progress:
        """Import the lines after `start`, pausing at most `pause` seconds after each write.

        With a pause there are other requests to serve: chunks are then prepared with short sleeps,
        and stored as `Pace` says. Errors: `ImportFileInvalid`, those of an upload of models,
        `QuotaExceeded`, `StorageError`, `MemoryExhausted`, `Unsupported` for points where none are
        kept, and those of `keep`.
        """
        unfinished = await self._context.runner.read(read_unfinished)
        # PERF: what is written together is one chunk where nobody waits: a chunk is read at once.
        rows = LEAST_ROWS if pause else self._context.settings.jobs.chunk_rows
        reader = FileReader(
            self._context, source, start, history=self._changes, unfinished=unfinished, rows=rows
        )
        try:
            return await self._run(reader, pause)
        except ImportFileInvalid as error:
            if self._past is not None:
                await self._erase(self._past, reader.start)
            if error.line and (path := reader.find_path(error.line)):
                raise ImportFileInvalid(error.reason, path=path) from error
            raise

    async def _run(self, reader: FileReader, pause: float) -> Progress:
        pause_seconds = PAUSE_SECONDS if pause else 0.0
        pace = Pace(self._context.settings.jobs.chunk_rows, pause)
        held = self._context.memory.hold(Part.IMPORTS)
        waiting: asyncio.Task[Sequence[_Prepared]] | None = None
        try:
            ready = await self._prepare(reader, held, pause_seconds)
            progress = reader.start
            while ready:
                # PERF: the next chunks are read, parsed and validated while these are written.
                waiting = asyncio.create_task(self._prepare(reader, held, pause_seconds))
                progress = await self._store(reader, ready, progress, pace)
                reader.forget(ready[0].raw.section)
                held.shrink(sum(each.raw.memory for each in ready))
                ready = await waiting
        finally:
            if waiting is not None and not waiting.done():
                waiting.cancel()
                await asyncio.wait([waiting])
            reader.forget(Section.MODELS)
            held.release()
        return await self._finish(reader.header, progress)

    async def _erase(self, past: PastImport, progress: Progress) -> None:
        """Remove what was stored of a history whose file cannot be read to its end."""

        def apply(transaction: GraphTransaction) -> bool:
            self._keep(transaction, progress, ())
            return past.erase(transaction)

        while await _insist(lambda: self._context.write(ServiceWrite(apply))):
            continue

    async def _prepare(
        self, reader: FileReader, held: Hold, pause_seconds: float
    ) -> Sequence[_Prepared]:
        """Prepare the next chunks together: each step waits for a thread and the event loop."""
        raw = await asyncio.to_thread(reader.read_chunks)
        if reader.header.points or any(each.section is Section.POINTS for each in raw):
            self._check_points()
        if self._past is None and self._changes and reader.header.history:
            past = PastImport(self._context, reader.header, reader.start.line)
            await self._context.runner.read(past.check)
            self._past = past
        await _insist(lambda: _grow(held, sum(each.memory for each in raw)))

        def parse() -> list[_Prepared]:
            chunks = pause_for_writers(raw, 1, pause_seconds)
            return [self._parse(reader, each, pause_seconds) for each in chunks]

        def look(session: GraphSession) -> None:
            for chunk in chunks:
                chunk.look(session)

        def judge() -> None:
            for chunk in pause_for_writers(chunks, 1, pause_seconds):
                chunk.judge(pause_seconds)

        # PERF: not in the threads of `scan`, whose low priority makes them hold the interpreter
        # lock while they are descheduled, so that all others would wait for it.
        ready = await asyncio.to_thread(parse)
        chunks = [each.chunk for each in ready if each.chunk.looks]
        if chunks:
            timeout = self._context.settings.query.timeout
            await _insist(lambda: self._context.runner.scan(look, timeout))
            await asyncio.to_thread(judge)
        return ready

    def _check_points(self) -> None:
        if self._history and self._points is None:
            raise Unsupported(
                "The file has values over time, and none are kept here: set History__Telemetry to "
                "all, historized or ids of models; or import it with --no-history."
            )

    def _parse(self, reader: FileReader, raw: RawChunk, pause_seconds: float) -> _Prepared:
        context, header = self._context, reader.header
        if raw.section in PAST:
            header = reader.past
            context = replace(context, recorder=context.recorder.go_back(header.since or 0, ""))
        if raw.section in ALL_MODELS:
            models = ModelSection(context, header, raw.lines, pause_seconds)
            return _Prepared(models, raw, header, models.findings)
        if raw.section is Section.POINTS and not self._history:
            raw = replace(raw, lines=())
        values, findings = reader.parse(raw, pause_seconds)
        chunk = _CHUNKS[raw.section](context, header, values, pause_seconds)
        return _Prepared(chunk, raw, header, findings)

    async def _store(
        self, reader: FileReader, ready: Sequence[_Prepared], progress: Progress, pace: Pace
    ) -> Progress:
        """Store chunks of one section, several in a write if the pace says so."""
        at = 0
        while at < len(ready):
            group = ready[at : at + pace.chunks]
            at += len(group)
            last = group[0].chunk.parts - 1  # only the models have several, and are alone
            for part in range(last + 1):
                asked = time.monotonic()
                progress, begun = await self._store_part(
                    reader, group, progress, part, is_last=part == last
                )
                rows = sum(len(each.raw.lines) for each in group)
                await asyncio.sleep(pace.advance(rows, time.monotonic(), begun - asked))
        return progress

    async def _store_part(
        self,
        reader: FileReader,
        group: Sequence[_Prepared],
        before: Progress,
        part: int,
        *,
        is_last: bool,
    ) -> tuple[Progress, float]:
        """Store them in one write; return the progress, and when it had its turn."""

        def apply(transaction: GraphTransaction) -> tuple[Progress, Sequence[Finding], float]:
            begun = time.monotonic()
            done, findings = before, list[Finding]()
            for prepared in group:
                if prepared.raw.section in PAST:
                    done = self._store_past(transaction, prepared, done, part, is_last=is_last)
                    continue
                done, refused = _store_chunk(transaction, prepared, done, part, is_last=is_last)
                findings += (replace(one, path=reader.find_path(one.line)) for one in refused)
            return self._keep(transaction, done, findings) or done, findings, begun

        for prepared in group:
            if isinstance(prepared.chunk, PointChunk) and self._points is not None:
                is_kept = await self._choose_points(prepared.chunk.twins)
                points = prepared.chunk.take(self._points.find_first_kept(), is_kept)
                await _insist(partial(self._points.write, points))
        progress, findings, begun = await _insist(lambda: self._context.write(apply))
        self._report(progress, findings)
        most = self._context.settings.jobs.max_errors
        if progress.errors > most:
            raise ImportFileInvalid(
                f"More than {most} lines were refused (Jobs__MaxErrors); the rest is not read.",
                line=progress.line,
            )
        return progress, begun

    async def _choose_points(self, twin_ids: Collection[str]) -> Callable[[str, str], bool] | None:
        """Return whether the points of a twin and path are kept here; None: all are.

        The model of a twin that is gone is not known: its points are those of no chosen model.
        """
        telemetry = self._context.settings.history.telemetry
        if ALL in telemetry:
            return None
        senders: list[Sender] = [(twin_id, None) for twin_id in twin_ids]
        refused, chosen = await check_senders(self._context, KeptModels(telemetry), senders)

        def is_kept(twin_id: str, path: str) -> bool:
            sender = twin_id, None
            found = chosen.get(sender)
            return sender not in refused and (found is None or found.has(path))

        return is_kept

    def _store_past(
        self,
        transaction: GraphTransaction,
        prepared: _Prepared,
        done: Progress,
        part: int,
        *,
        is_last: bool,
    ) -> Progress:
        """Store a chunk of the history, or nothing."""
        past, chunk = self._past, prepared.chunk
        if past is None:  # its header says that there is none
            raise ImportFileInvalid(
                "The file has a history that its header does not name.", line=prepared.raw.end
            )
        changes = chunk if isinstance(chunk, ChangeChunk) else None
        return past.store(
            transaction,
            prepared.raw.end,
            partial(_store_chunk, transaction, prepared, done, part, is_last=is_last),
            None if changes is None else prepared.header,
            is_last=is_last,
            is_whole=changes is not None and changes.is_whole,
        )

    async def _finish(self, header: Header, done: Progress) -> Progress:
        def apply(transaction: GraphTransaction) -> None:
            if self._past is None:
                finish_models(self._context, transaction, header)
            else:
                self._past.finish(transaction)
            self._keep(transaction, done, ())

        await _insist(lambda: self._context.write(apply))
        if done.rows >= _MANY_ROWS:
            await self._context.runner.refresh_statistics()
        return done


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A chunk that is ready to be stored."""

    chunk: Chunk
    raw: RawChunk
    header: Header
    findings: Sequence[Finding]


def _store_chunk(
    transaction: GraphTransaction,
    prepared: _Prepared,
    before: Progress,
    part: int,
    *,
    is_last: bool,
) -> tuple[Progress, Sequence[Finding]]:
    """Store a part of a chunk; return the progress and all refused lines."""
    found = prepared.findings if is_last else ()
    done, refused = prepared.chunk.store(transaction, before, prepared.raw.end, part)
    both = sorted((*found, *refused), key=lambda each: each.line)
    return replace(done, errors=before.errors + len(both)), both


_MakeChunk: TypeAlias = Callable[
    [GraphContext, Header, Sequence[Numbered[JsonValue]], float], Chunk
]
_CHUNKS: Final[Mapping[Section, _MakeChunk]] = {
    Section.TWINS: TwinChunk,
    Section.RELATIONSHIPS: RelationshipChunk,
    Section.PAST_TWINS: TwinChunk,
    Section.PAST_RELATIONSHIPS: PastRelationshipChunk,
    Section.CHANGES: ChangeChunk,
    Section.POINTS: PointChunk,
}


async def _grow(held: Hold, size: int) -> None:
    held.grow(size)


async def _insist(call: Callable[[], Awaitable[T]]) -> T:
    """Retry for a while if the store is busy or the memory is in use, since an import can wait."""
    for attempt in range(1, _RETRIES + 1):
        try:
            return await call()
        except (StorageBusy, MemoryExhausted):
            await asyncio.sleep(_PAUSES.build_pause(attempt))
    return await call()
