"""Streams of RDF: written down while nobody reads, ended when nobody wants more, few at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE
from twinframe.errors import (
    LimitExceeded,
    QueryTimeout,
    StorageBusy,
    StorageFull,
    TwinframeError,
    Unsupported,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.queries.triples import StreamClosed, Triples, WrittenStream
from twinframe.settings import Settings
from twinframe.storage.base import GraphSession
from twinframe.storage.memory import MemoryStore
from twinframe.storage.runner import StoreRunner
from twinframe.storage.triples import (
    ROWS_JSON,
    TURTLE,
    Content,
    QueryForm,
    SparqlEngine,
    SparqlLimits,
    SparqlQuery,
    Syntax,
    TripleSupport,
    TripleWriter,
)

QUERY = SparqlQuery("ASK {}", QueryForm.ASK)


class Writer(TripleWriter):
    """Writes what it is given, and knows when it is done."""

    def __init__(self, pieces: Callable[[], Iterator[bytes]]) -> None:
        self.pieces = pieces
        self.ended = threading.Event()

    def write_graph(
        self, session: GraphSession, syntax: Syntax, content: Content
    ) -> Iterator[bytes]:
        try:
            yield from self.pieces()
        finally:
            self.ended.set()

    def write_shapes(self, session: GraphSession, syntax: Syntax) -> Iterator[bytes]:
        return self.write_graph(session, syntax, Content.MODELS)

    def write_report(self, session: GraphSession, syntax: Syntax, most: int) -> Iterator[bytes]:
        return self.write_graph(session, syntax, Content.TWINS)


class Engine(SparqlEngine):
    """Runs a function."""

    def __init__(self, work: Callable[[Callable[[bytes], object]], None]) -> None:
        self.background_tasks = work

    def parse_query(
        self,
        text: str,
        limits: SparqlLimits,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> SparqlQuery:
        return QUERY

    def run_query(
        self,
        query: SparqlQuery,
        syntax: Syntax,
        deadline: float,
        limit: int,
        write: Callable[[bytes], object],
    ) -> None:
        self.background_tasks(write)


def run(
    use: Callable[[Triples], Coroutine[Any, Any, None]],
    tmp_path: Path,
    writer: TripleWriter | None = None,
    engine: SparqlEngine | None = None,
    **settings: Any,
) -> None:
    """Use the use case over an empty store with a real runner."""

    def load() -> TripleWriter:
        if writer is None:
            raise Unsupported("nothing is installed")
        return writer

    async def main() -> None:
        store = MemoryStore()
        store.open()
        chosen = Settings(**settings)
        runner = StoreRunner(store, chosen.storage)
        support = TripleSupport(load, engine)
        try:
            await use(Triples(GraphContext(runner, chosen), support, tmp_path / "scratch"))
        finally:
            await runner.close()

    asyncio.run(main())


async def read_all(stream: WrittenStream) -> bytes:
    pieces = []
    while piece := await stream.read():
        pieces.append(piece)
    await stream.close()
    return b"".join(pieces)


def test_a_stream_gives_all_that_is_written(tmp_path: Path) -> None:
    async def use(triples: Triples) -> None:
        stream = await triples.export_graph(TURTLE, Content.ALL)
        assert await read_all(stream) == b"".join(pieces)

    pieces = [bytes([65 + number % 26]) * 1000 for number in range(2000)]
    run(use, tmp_path, Writer(lambda: iter(pieces)))


def test_the_snapshot_ends_though_nobody_reads(tmp_path: Path) -> None:
    async def use(triples: Triples) -> None:
        stream = await triples.export_graph(TURTLE, Content.ALL)
        assert await asyncio.to_thread(writer.ended.wait, PATIENCE)
        assert len(await read_all(stream)) == 50_000_000

    writer = Writer(lambda: (b"x" * 100_000 for _ in range(500)))
    run(use, tmp_path, writer)


def test_a_stream_that_is_closed_ends_its_writing(tmp_path: Path) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 1000

    async def use(triples: Triples) -> None:
        stream = await triples.export_graph(TURTLE, Content.ALL)
        assert await stream.read()
        await stream.close()
        assert await asyncio.to_thread(writer.ended.wait, PATIENCE)

    writer = Writer(endless)
    run(use, tmp_path, writer)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_an_error_before_the_first_byte_is_raised_at_once(tmp_path: Path) -> None:
    def fail() -> Iterator[bytes]:
        raise LimitExceeded("no")
        yield b""

    async def use(triples: Triples) -> None:
        with pytest.raises(LimitExceeded):
            await triples.export_shapes(TURTLE)

    run(use, tmp_path, Writer(fail))


def test_an_error_comes_where_the_bytes_end(tmp_path: Path) -> None:
    def fail() -> Iterator[bytes]:
        yield b"begun"
        raise StorageFull("no room")

    async def use(triples: Triples) -> None:
        stream = await triples.export_graph(TURTLE, Content.ALL)
        assert await stream.read() == b"begun"
        with pytest.raises(StorageFull):
            await stream.read()
        await stream.close()

    run(use, tmp_path, Writer(fail))


def test_an_export_has_a_size_and_a_time(tmp_path: Path) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 10

    async def too_large(triples: Triples) -> None:
        stream = await triples.export_graph(TURTLE, Content.ALL)
        with pytest.raises(LimitExceeded, match="Export__MaxBytes"):
            await read_all(stream)
        await stream.close()

    run(too_large, tmp_path, Writer(endless), export={"max_bytes": 100_000})


def test_only_so_many_exports_run_at_once(tmp_path: Path) -> None:
    go = threading.Event()

    def wait() -> Iterator[bytes]:
        yield b"begun"
        go.wait(PATIENCE)

    async def use(triples: Triples) -> None:
        first = await triples.export_graph(TURTLE, Content.ALL)
        with pytest.raises(StorageBusy, match="Export__AtOnce"):
            await triples.export_graph(TURTLE, Content.ALL)
        go.set()
        await read_all(first)
        await read_all(await triples.export_graph(TURTLE, Content.ALL))

    run(use, tmp_path, Writer(wait), export={"at_once": 1})


def test_without_anything_that_writes_triples_it_is_said(tmp_path: Path) -> None:
    async def use(triples: Triples) -> None:
        with pytest.raises(Unsupported, match="nothing is installed"):
            await triples.export_graph(TURTLE, Content.ALL)
        with pytest.raises(Unsupported, match="Storage__Provider=rdf"):
            await triples.parse_query("ASK {}", (), ())

    run(use, tmp_path)


def test_a_query_that_cannot_be_stopped_is_answered_in_time_and_keeps_its_place(
    tmp_path: Path,
) -> None:
    go = threading.Event()

    async def use(triples: Triples) -> None:
        with pytest.raises(QueryTimeout, match="Sparql__Timeout"):
            await triples.run_query(QUERY, ROWS_JSON)
        with pytest.raises(StorageBusy, match="Sparql__AtOnce"):
            await triples.run_query(QUERY, ROWS_JSON)
        go.set()
        engine.background_tasks = lambda write: write(b"{}") and None
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                stream = await triples.run_query(QUERY, ROWS_JSON)
            except StorageBusy:
                await asyncio.sleep(0.01)
            else:
                assert await read_all(stream) == b"{}"
                return
        raise AssertionError("the place did not come back")

    engine = Engine(lambda _write: go.wait(PATIENCE) and None)
    run(use, tmp_path, engine=engine, sparql={"timeout": 0.05, "at_once": 1})


def test_an_error_of_a_query_is_its_callers(tmp_path: Path) -> None:
    def fail(_write: Callable[[bytes], object]) -> None:
        raise LimitExceeded("too much")

    async def use(triples: Triples) -> None:
        with pytest.raises(LimitExceeded, match="too much"):
            await triples.run_query(QUERY, ROWS_JSON)

    run(use, tmp_path, engine=Engine(fail))


def test_an_answer_that_nobody_waits_for_is_written_no_further(tmp_path: Path) -> None:
    seen: list[TwinframeError] = []
    ended = threading.Event()

    def write_on(write: Callable[[bytes], object]) -> None:
        try:
            while True:
                write(b"x" * 1000)
        except TwinframeError as error:
            seen.append(error)
            raise
        finally:
            ended.set()

    async def use(triples: Triples) -> None:
        stream = await triples.run_query(QUERY, ROWS_JSON)
        await stream.close()
        assert await asyncio.to_thread(ended.wait, PATIENCE)

    run(use, tmp_path, engine=Engine(write_on))
    assert [type(error) for error in seen] == [StreamClosed]
