"""Files that clients hand over in pieces: how they arrive, are imported, and are deleted."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.graph.transfer.test_importing import File, whole
from tests.unit.graph.transfer.test_jobs import Jobs, Worker
from twinframe.errors import (
    InvalidArgument,
    LimitExceeded,
    LocationFailed,
    UploadAlreadyExists,
    UploadIncomplete,
    UploadNotFound,
    UploadPieceRefused,
    UrlNotAllowed,
)
from twinframe.graph.queries.triples import WrittenStream
from twinframe.graph.transfer.uploads.records import read_piece
from twinframe.graph.transfer.uploads.uploads import UploadKind
from twinframe.settings import JobsSettings, ServerSettings, Settings
from twinframe.storage.base import GraphSession, GraphStore
from twinframe.storage.memory import MemoryStore

PIECE = 512
SECOND = 1_000_000_000


class Uploading(Jobs):
    """Workers whose pieces are small, and that also delete uploads."""

    def __init__(self, store: GraphStore, folder: Path, **jobs: Any) -> None:
        super().__init__(store, folder)
        self.settings = Settings(
            server=ServerSettings(max_body_bytes=PIECE),
            jobs=JobsSettings(chunk_rows=2, pause=0, **jobs),
        )


@pytest.fixture
def uploading(store: GraphStore, tmp_path: Path) -> Uploading:
    return Uploading(store, tmp_path / "files")


@pytest.fixture
def light(tmp_path: Path) -> Iterator[Uploading]:
    store = MemoryStore()
    store.open()
    yield Uploading(store, tmp_path / "files", max_upload_bytes=4096)
    store.close()


async def send(worker: Worker, text: bytes, upload_id: str = "u") -> dict[str, Any]:
    """Upload a whole file; return what an import of it names."""
    uploads = worker.graph.uploads
    await uploads.begin(upload_id, {"name": "campus.ndjson", "bytes": len(text)})
    for number in range(-(-len(text) // PIECE)):
        piece = text[number * PIECE : (number + 1) * PIECE]
        upload = await uploads.put_piece(upload_id, number, piece)
    assert upload.is_complete
    return {"inputBlobUri": f"upload:{upload_id}"}


async def read_log(worker: Worker, job_id: str) -> list[dict[str, Any]]:
    log = await worker.graph.import_jobs.open_log(job_id)
    text = b""
    while piece := await log.read():
        text += piece
    await log.close()
    return [orjson.loads(line) for line in text.splitlines()]


async def sweep(worker: Worker) -> list[str]:
    """Delete what nobody needs, as the background work does; return the ids."""
    kind = next(each for each in worker.graph.background_tasks if isinstance(each, UploadKind))
    found = list(await worker.runner.read(kind.list_pending))
    for upload_id in found:
        lease = await worker.background._leases.claim(f"uploads/{upload_id}")
        assert lease is not None
        await kind.run(upload_id, lease)
        await worker.background._leases.give_back(lease)
    return found


async def _read(stream: WrittenStream) -> AsyncIterator[bytes]:
    while piece := await stream.read(100):
        yield piece


async def count_pieces(worker: Worker, upload_id: str = "u") -> int:
    def read(session: GraphSession) -> int:
        return len(session.read_entries(f"upload-piece/{upload_id}", after=None, limit=999))

    return await worker.runner.read(read)


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_an_uploaded_file_is_imported_and_then_deleted(uploading: Uploading, compress: Any) -> None:
    text = compress(whole().render())

    async def scenario(worker: Worker) -> None:
        job = await worker.run("j", await send(worker, text))
        assert job["status"] == "succeeded"
        assert await worker.count() == (6, 2, 1)
        assert (job["bytesRead"], job["totalBytes"]) == (len(text), len(text))
        assert job["outputBlobUri"] == ""
        log = await read_log(worker, "j")
        assert log[0]["details"]["status"] == "Started"
        assert log[-1]["details"]["status"] == "Succeeded"
        assert log[-1]["details"]["twins"] == 2
        assert (await worker.graph.uploads.list_all()).uploads == ()
        assert await sweep(worker) == ["u"]
        assert await count_pieces(worker) == 0

    uploading.do(scenario)


def test_the_log_in_the_service_names_refused_lines(light: Uploading) -> None:
    file = File().models()
    file.section("Twins", file.twin("a"), file.twin("b", temperature="x"))

    async def scenario(worker: Worker) -> None:
        job = await worker.run("j", await send(worker, file.render()))
        assert (job["status"], job["errorCount"]) == ("failed", 1)
        errors = [one["details"] for one in await read_log(worker, "j") if "line" in one["details"]]
        assert [(one["line"], one["id"]) for one in errors] == [(12, "b")]

    light.do(scenario)


def test_an_interrupted_upload_goes_on_in_another_worker(light: Uploading) -> None:
    text = b"x" * (2 * PIECE + 7)
    begin = {"name": "a", "bytes": len(text)}

    async def first(worker: Worker) -> None:
        await worker.graph.uploads.begin("u", begin)
        await worker.graph.uploads.put_piece("u", 0, text[:PIECE])

    async def then(worker: Worker) -> None:
        uploads = worker.graph.uploads
        found = await uploads.begin("u", begin)
        assert (found.received, found.pieces, found.is_complete) == (PIECE, 1, False)
        with pytest.raises(UploadIncomplete, match=f"{PIECE} of {len(text)} bytes"):
            await worker.graph.import_jobs.put_job("j", {"inputBlobUri": "upload:u"})
        again = await uploads.put_piece("u", 0, text[:PIECE])  # the answer was lost
        assert again.pieces == 1
        await uploads.put_piece("u", 1, text[PIECE : 2 * PIECE])
        assert (await uploads.put_piece("u", 2, text[2 * PIECE :])).is_complete

    light.do(first)
    light.do(then)


@pytest.mark.parametrize(
    ("number", "size", "why"),
    [
        (1, PIECE, "0 is next"),
        (0, PIECE - 1, f"must have {PIECE} bytes"),
        (0, PIECE + 1, f"must have {PIECE} bytes"),
        (0, 0, f"must have {PIECE} bytes"),
        (999_999_999, PIECE, "0 is next"),
    ],
)
def test_a_piece_is_the_next_one_and_has_its_length(
    light: Uploading, number: int, size: int, why: str
) -> None:
    async def scenario(worker: Worker) -> None:
        await worker.graph.uploads.begin("u", {"name": "a", "bytes": 2 * PIECE})
        with pytest.raises(UploadPieceRefused, match=why):
            await worker.graph.uploads.put_piece("u", number, b"x" * size)
        assert await count_pieces(worker) == 0

    light.do(scenario)


def test_other_bytes_never_replace_a_piece(light: Uploading) -> None:
    async def scenario(worker: Worker) -> None:
        uploads = worker.graph.uploads
        await uploads.begin("u", {"name": "a", "bytes": PIECE})
        await uploads.put_piece("u", 0, b"a" * PIECE)
        with pytest.raises(UploadPieceRefused, match="it is complete"):
            await uploads.put_piece("u", 0, b"b" * PIECE)
        with pytest.raises(UploadPieceRefused, match="it is complete"):
            await uploads.put_piece("u", 1, b"b")
        stored = await worker.runner.read(partial(read_piece, upload_id="u", number=0))
        assert stored == b"a" * PIECE

    light.do(scenario)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"name": "a"},
        {"bytes": 1},
        {"name": "", "bytes": 1},
        {"name": "a" * 256, "bytes": 1},
        {"name": "a\nb", "bytes": 1},
        {"name": 1, "bytes": 1},
        {"name": "a", "bytes": 0},
        {"name": "a", "bytes": -1},
        {"name": "a", "bytes": 1.5},
        {"name": "a", "bytes": True},
        {"name": "a", "bytes": 1 << 53},
        {"name": "a", "bytes": 1, "path": "/etc/passwd"},
    ],
)
def test_an_upload_begins_with_a_name_and_a_length(light: Uploading, body: Any) -> None:
    async def scenario(worker: Worker) -> None:
        with pytest.raises(InvalidArgument):
            await worker.graph.uploads.begin("u", body)

    light.do(scenario)


@pytest.mark.parametrize("upload_id", ["", ".", "../x", "a/b", "ä", "a b", "a\n", "x" * 129, "-a"])
def test_ids_are_plain_words(light: Uploading, upload_id: str) -> None:
    async def scenario(worker: Worker) -> None:
        with pytest.raises(InvalidArgument, match="id of an upload"):
            await worker.graph.uploads.begin(upload_id, {"name": "a", "bytes": 1})
        with pytest.raises(InvalidArgument):
            await worker.graph.import_jobs.put_job("j", {"inputBlobUri": f"upload:{upload_id}"})

    light.do(scenario)


def test_uploads_together_stay_below_their_limit(light: Uploading) -> None:
    async def scenario(worker: Worker) -> None:
        uploads = worker.graph.uploads
        await uploads.begin("a", {"name": "a", "bytes": 4000})
        with pytest.raises(LimitExceeded, match="beside uploads of 4000"):
            await uploads.begin("b", {"name": "b", "bytes": 97})
        with pytest.raises(UploadAlreadyExists):
            await uploads.begin("a", {"name": "a", "bytes": 1})
        await uploads.delete("a")
        await sweep(worker)
        await uploads.begin("b", {"name": "b", "bytes": 4096})

    light.do(scenario)


def test_the_operator_can_turn_uploads_off(light: Uploading) -> None:
    light.settings = Settings(jobs=JobsSettings(max_upload_bytes=0))

    async def scenario(worker: Worker) -> None:
        with pytest.raises(LimitExceeded, match="MaxUploadBytes=0"):
            await worker.graph.uploads.begin("a", {"name": "a", "bytes": 1})
        assert (await worker.graph.uploads.list_all()).most == 0

    light.do(scenario)


def test_an_upload_that_nobody_goes_on_with_is_deleted_after_a_day(light: Uploading) -> None:
    async def scenario(worker: Worker) -> None:
        await worker.graph.uploads.begin("u", {"name": "a", "bytes": 2 * PIECE})
        await worker.graph.uploads.put_piece("u", 0, b"x" * PIECE)
        light.now += 24 * 3600 * SECOND - 1
        assert await sweep(worker) == []
        light.now += 1
        assert await sweep(worker) == ["u"]
        assert await count_pieces(worker) == 0
        with pytest.raises(UploadNotFound):
            await worker.graph.uploads.read("u")

    light.do(scenario)


def test_what_a_job_may_resume_is_kept_until_the_job_is_deleted(light: Uploading) -> None:
    file = File().models()
    text = file.section("Twins", file.twin("a")).render() + b'{"Section": "Nonsense"}\n'

    async def scenario(worker: Worker) -> None:
        job = await worker.run("j", await send(worker, text))
        assert (job["status"], job["error"]["code"]) == ("failed", "ImportFileInvalid")
        light.now += 3 * 24 * 3600 * SECOND
        assert await sweep(worker) == []
        await worker.graph.import_jobs.delete_job("j")
        assert await sweep(worker) == ["u"]

    light.do(scenario)


def test_a_job_whose_upload_was_deleted_says_so(light: Uploading) -> None:
    async def scenario(worker: Worker) -> None:
        body = await send(worker, whole().render())
        await worker.graph.import_jobs.put_job("j", body)
        await worker.graph.uploads.delete("u")
        job = await worker.wait("j")
        assert job["error"]["code"] == LocationFailed.code
        assert "was deleted before" in job["error"]["message"]
        with pytest.raises(UploadNotFound):
            await worker.graph.import_jobs.put_job("k", body)

    light.do(scenario)


def test_a_log_is_never_written_to_an_upload(light: Uploading) -> None:
    async def scenario(worker: Worker) -> None:
        body = await send(worker, whole().render())
        job = await worker.run("j", {**body, "outputBlobUri": "upload:log"})
        assert job["error"]["code"] == UrlNotAllowed.code

    light.do(scenario)


def test_only_an_upload_needs_no_place_for_the_log(light: Uploading) -> None:
    async def scenario(worker: Worker) -> None:
        with pytest.raises(InvalidArgument, match="outputBlobUri"):
            await worker.graph.import_jobs.put_job("j", {"inputBlobUri": "file:///a"})
        body = {"inputBlobUri": "upload:u", "history": "no"}
        with pytest.raises(InvalidArgument, match="history must be true or false"):
            await worker.graph.import_jobs.put_job("j", body)

    light.do(scenario)


def test_a_job_may_leave_out_the_history(uploading: Uploading) -> None:
    """A graph that is not empty takes no history, but the present state of the same file."""

    async def read_export(worker: Worker) -> bytes:
        stream = await worker.graph.portable.stream_graph(history=True)
        pieces = [piece async for piece in _read(stream)]
        await stream.close()
        return b"".join(pieces)

    async def scenario(worker: Worker) -> None:
        await worker.run("first", await send(worker, whole().render()))
        await sweep(worker)
        text = await read_export(worker)
        refused = await worker.run("with", await send(worker, text))
        assert "empty" in refused["error"]["message"]
        job = await worker.run("j", {"inputBlobUri": "upload:u", "history": False})
        assert (job["status"], job["twinsCreated"]) == ("succeeded", 2)

    uploading.do(scenario)


def test_plain_exports_have_no_etags_and_few_run_at_once(light: Uploading) -> None:
    async def scenario(worker: Worker) -> None:
        await worker.run("j", await send(worker, whole().render()))
        portable = worker.graph.portable
        streams = [await portable.stream_graph(exact=exact) for exact in (True, False)]
        exact, plain = [b"".join([x async for x in _read(each)]) for each in streams]
        assert (b"$etag" in exact, b"$etag" in plain) == (True, False)
        assert plain.count(b"$dtId") == exact.count(b"$dtId") == 3
        for stream in streams:
            await stream.close()

    light.do(scenario)
