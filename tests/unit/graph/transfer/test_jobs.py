"""Import and delete jobs: their lives, what they leave behind, and workers that die in between."""

from __future__ import annotations

import asyncio
import gzip
import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest

from tests.unit.graph.transfer.test_importing import File, whole
from tests.waiting import PATIENCE
from twinframe.errors import (
    DeleteJobNotFound,
    InvalidArgument,
    InvalidContinuationToken,
    JobAlreadyExists,
    JobLimitReached,
    JobNotFound,
    JobStateRefused,
    MemoryLimitExceeded,
    StorageBusy,
    TooManyJobs,
    UrlNotAllowed,
)
from twinframe.graph import Graph
from twinframe.graph.background.leases import Lease
from twinframe.graph.background.runner import BackgroundRunner
from twinframe.graph.events import outbox
from twinframe.graph.events.event import Event
from twinframe.graph.events.rows import parse_row
from twinframe.graph.transfer.importing import FileReader
from twinframe.graph.transfer.jobs import deletions
from twinframe.graph.transfer.jobs import runner as job_runner
from twinframe.graph.transfer.jobs.deletions import DeletionRun
from twinframe.graph.transfer.jobs.records import ImportJob, JobError, Status
from twinframe.graph.transfer.jobs.runner import JobRunner
from twinframe.graph.twins import changes
from twinframe.model.pages import PageRequest
from twinframe.runtime.instruments.base import CURRENT_SUBJECT
from twinframe.settings import JobsSettings, Settings
from twinframe.storage.base import GraphSession, GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import ROOM, build_interface, build_twin_document
from twinframe.testing.faulty_store import Fault, FaultKind, FaultyStore

T = TypeVar("T")
ENDED = ("succeeded", "failed", "cancelled")


class Jobs:
    """A worker over a store, with folders that jobs may use."""

    def __init__(self, store: GraphStore, folder: Path, **jobs: Any) -> None:
        self.store = store
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.now = 1_700_000_000_000_000_000
        self.settings = Settings(
            jobs=JobsSettings(directories=(str(folder),), chunk_rows=2, pause=0, **jobs)
        )

    def do(self, scenario: Callable[[Worker], Awaitable[T]]) -> T:
        """Run a scenario in a worker that lives as long as it."""

        async def run() -> T:
            worker = Worker(self)
            try:
                return await scenario(worker)
            finally:
                await worker.close()

        return asyncio.run(run())

    def write(self, name: str, text: bytes) -> str:
        (self.folder / name).write_bytes(text)
        return f"file://{self.folder}/{name}"

    def body(self, text: bytes, name: str = "in.ndjson") -> dict[str, Any]:
        return {
            "inputBlobUri": self.write(name, text),
            "outputBlobUri": f"file://{self.folder}/{name}.log",
        }

    def log(self, name: str = "in.ndjson") -> list[dict[str, Any]]:
        lines = (self.folder / f"{name}.log").read_bytes().splitlines()
        return [orjson.loads(line) for line in lines]


class Worker:
    """The use cases and the background work of a worker."""

    def __init__(self, jobs: Jobs) -> None:
        self.runner = StoreRunner(jobs.store, jobs.settings.storage)
        self.graph = Graph(self.runner, jobs.settings, clock=lambda: jobs.now)
        work = [kind for kind in self.graph.background_tasks if isinstance(kind, JobRunner)]
        self.background = BackgroundRunner(self.runner, work, lease_seconds=0.2, look_seconds=0.02)

    async def run(self, job_id: str, body: Any) -> dict[str, Any]:
        """Put an import and wait for its end."""
        await self.graph.import_jobs.put_job(job_id, body)
        return await self.wait(job_id)

    async def wait(self, job_id: str, *wanted: str) -> dict[str, Any]:
        self.background.start()
        while True:
            job = await self.read(job_id)
            if job["status"] in (wanted or ENDED):
                return job
            await asyncio.sleep(0.01)

    async def read(self, job_id: str) -> dict[str, Any]:
        return _load(await self.graph.import_jobs.read_job(job_id))

    async def wait_for_deletion(self, job_id: str) -> dict[str, Any]:
        self.background.start()
        while True:
            body, has_ended = await self.graph.delete_jobs.read_job(job_id)
            job = _load(body)
            assert has_ended == (job["status"] in ENDED)
            if has_ended:
                return job
            await asyncio.sleep(0.01)

    async def read_events(self) -> list[Event]:
        """All events that are sent."""
        read = partial(outbox.read_events, after=0, limit=99)
        rows = await self.runner.read(read)
        return [Event(at, row.key, row.text) for at, row in rows if row.text]

    async def count(self) -> tuple[int, int, int]:
        def read(session: GraphSession) -> tuple[int, int, int]:
            with session.snapshot():
                return (
                    len(session.read_models(after=0, limit=10_000)),
                    sum(1 for _ in session.iterate_twins()),
                    sum(1 for _ in session.iterate_relationships()),
                )

        return await self.runner.scan(read, 60)

    async def entries(self) -> list[str]:
        kinds = ("import-job", "job-pending", "import-log/j", "lease")

        def read(session: GraphSession) -> list[str]:
            return [kind for kind in kinds if session.read_entries(kind, after=None, limit=1)]

        return await self.runner.read(read)

    async def close(self) -> None:
        await self.background.stop()
        await self.runner.close()


def _load(text: bytes) -> dict[str, Any]:
    loaded: dict[str, Any] = orjson.loads(text)
    return loaded


@pytest.fixture
def jobs(store: GraphStore, tmp_path: Path) -> Jobs:
    return Jobs(store, tmp_path / "files")


@pytest.fixture
def light(tmp_path: Path) -> Iterator[Jobs]:
    """Jobs over a store in memory, for what no store has a part in."""
    store = MemoryStore()
    store.open()
    jobs = Jobs(store, tmp_path / "files", hosts=("data.example",), buckets=("s3://bucket/folder",))
    yield jobs
    store.close()


def _details(lines: Sequence[dict[str, Any]]) -> list[tuple[str | None, str]]:
    return [
        (line["details"].get("section"), line["details"].get("status", line["logType"]))
        for line in lines
    ]


def test_an_import_is_accepted_run_and_told_of(jobs: Jobs) -> None:
    body = jobs.body(gzip.compress(whole().render()))

    async def scenario(worker: Worker) -> dict[str, Any]:
        put = _load(await worker.graph.import_jobs.put_job("j", body))
        assert put["status"] == "notstarted"
        assert {"error", "finishedDateTime"}.isdisjoint(put)
        assert put["purgeDateTime"] == "2023-12-14T22:13:20.0000000Z"
        done = await worker.wait("j")
        assert await worker.count() == (6, 2, 1)
        assert await worker.entries() == ["import-job", "import-log/j"]
        return done

    done = jobs.do(scenario)
    assert done["status"] == "succeeded"
    assert done["finishedDateTime"] == "2023-11-14T22:13:20.0000000Z"
    counts = ("modelsCreated", "twinsCreated", "relationshipsCreated", "errorCount")
    assert [done[name] for name in counts] == [6, 2, 1, 0]
    log = jobs.log()
    assert {(line["jobId"], line["jobType"], line["logType"]) for line in log} == {
        ("j", "Import", "Info")
    }
    assert _details(log) == [
        (None, "Started"),
        ("Models", "Started"),
        ("Models", "Succeeded"),
        ("Twins", "Started"),
        ("Twins", "Succeeded"),
        ("Relationships", "Started"),
        ("Relationships", "Succeeded"),
        (None, "Succeeded"),
    ]


@pytest.mark.parametrize("status", Status)
def test_a_job_tells_of_its_end_and_its_error_in_the_states_the_vendor_does(
    status: Status,
) -> None:
    """SPEC: recorded: no `finishedDateTime` while a job is not over, nor of a cancelled one."""
    now = 1_700_000_000_000_000_000
    error = JobError("X", "why") if status is Status.FAILED else None
    job = ImportJob(
        id="j",
        created=now,
        acted=now,
        purge=now,
        source="a",
        target="b",
        status=status,
        finished=now if status.is_final else 0,
        error=error,
    )
    told = _load(job.render())
    assert told["status"] == status.value
    assert {"createdDateTime", "lastActionDateTime", "purgeDateTime"} <= told.keys()
    assert ("finishedDateTime" in told) == (status in (Status.SUCCEEDED, Status.FAILED))
    assert ("error" in told) == (status is Status.FAILED)


def test_a_job_tells_which_twins_came_in_and_which_of_them_replaced_others(jobs: Jobs) -> None:
    file = File().models()
    file.section("Twins", file.twin("a"), file.twin("b", temperature="x"), file.twin("c"))
    first = jobs.do(lambda worker: worker.run("i", jobs.body(file.render())))
    assert (first["twinsCreated"], first["twinsReplaced"]) == (2, 0)
    assert first["firstTwins"] == ["a", "c"]
    more = [file.twin(f"t{at}") for at in range(150)]
    again = File().section("Twins", file.twin("c"), *more)
    body = jobs.body(again.render())

    async def run(worker: Worker) -> tuple[dict[str, Any], Sequence[bytes]]:
        done = await worker.run("j", body)
        return done, (await worker.graph.import_jobs.list_jobs()).items

    second, listed = jobs.do(run)
    assert (second["twinsCreated"], second["twinsReplaced"]) == (151, 1)
    assert second["firstTwins"] == ["c", *(f"t{at}" for at in range(99))]
    assert all("firstTwins" not in _load(one) for one in listed)


def test_refused_lines_fail_the_job_and_stand_in_its_log(jobs: Jobs) -> None:
    file = File().models()
    file.section("Twins", file.twin("a"), file.twin("b", temperature="x"), b"{", file.twin("c"))
    body = jobs.body(file.render())
    done = jobs.do(lambda worker: worker.run("j", body))
    assert (done["status"], done["error"]["code"]) == ("failed", "ValidationFailed")
    assert "2 lines were refused" in done["error"]["message"]
    assert (done["twinsCreated"], done["errorCount"]) == (2, 2)
    errors = [line["details"] for line in jobs.log() if "line" in line["details"]]
    assert [(one["line"], one["section"], one.get("id")) for one in errors] == [
        (12, "Twins", "b"),
        (13, "Twins", None),
    ]


def test_models_that_are_no_dtdl_fail_the_job_with_the_vendors_code(jobs: Jobs) -> None:
    body = jobs.body(File().models({"@id": "dtmi:x;1", "@type": "No"}).render())
    done = jobs.do(lambda worker: worker.run("j", body))
    assert (done["status"], done["error"]["code"]) == ("failed", "DTDLParsingError")
    assert jobs.log()[-1]["logType"] == "Error"


def test_a_file_that_breaks_off_fails_the_job_and_what_came_before_is_stored(jobs: Jobs) -> None:
    text = gzip.compress(whole().render())[:-8]

    async def scenario(worker: Worker) -> dict[str, Any]:
        done = await worker.run("j", jobs.body(text))
        assert (await worker.count())[0] == 6
        return done

    done = jobs.do(scenario)
    assert (done["status"], done["error"]["code"]) == ("failed", "ImportFileInvalid")
    assert "gzip" in done["error"]["message"]


@pytest.mark.parametrize(
    "prepare",
    [
        lambda folder: None,
        lambda folder: (folder / "in").symlink_to("/etc/passwd"),
        lambda folder: (folder / "in").mkdir(),
        lambda folder: os.mkfifo(folder / "in"),
    ],
    ids=["absent", "a link out", "a folder", "a pipe"],
)
def test_a_source_that_is_no_file_fails_the_job(
    light: Jobs, prepare: Callable[[Path], Any]
) -> None:
    prepare(light.folder)
    body = {
        "inputBlobUri": f"file://{light.folder}/in",
        "outputBlobUri": f"file://{light.folder}/out",
    }
    done = light.do(lambda worker: worker.run("j", body))
    assert done["status"] == "failed"
    assert done["error"]["code"] in ("BlobNotAvailable", "UrlNotAllowed")


def test_an_id_is_taken_until_its_job_is_deleted(jobs: Jobs) -> None:
    body = jobs.body(whole().render())

    async def scenario(worker: Worker) -> None:
        imports = worker.graph.import_jobs
        await imports.put_job("j", body)
        with pytest.raises(JobAlreadyExists):
            await imports.put_job("j", body)
        with pytest.raises(JobStateRefused, match="Cancel it first"):
            await imports.delete_job("j")
        await worker.wait("j")
        with pytest.raises(JobAlreadyExists):
            await imports.put_job("j", body)
        await imports.delete_job("j")
        assert await worker.entries() == []
        for call in (imports.read_job, imports.delete_job, imports.cancel_job, imports.resume_job):
            with pytest.raises(JobNotFound):
                await call("j")
        await imports.put_job("j", body)

    jobs.do(scenario)


def test_one_job_is_unfinished_at_a_time_unless_more_may_wait(
    store: GraphStore, tmp_path: Path
) -> None:
    one, many = Jobs(store, tmp_path / "a"), Jobs(store, tmp_path / "b", max_unfinished=3)
    body = one.body(whole().render())

    async def refused(worker: Worker) -> None:
        await worker.graph.import_jobs.put_job("a", body)
        with pytest.raises(TooManyJobs):
            await worker.graph.import_jobs.put_job("b", body)
        with pytest.raises(TooManyJobs):
            await worker.graph.delete_jobs.start_job()
        await worker.wait("a")
        await worker.graph.import_jobs.put_job("b", body)
        await worker.wait("b")

    async def queued(worker: Worker) -> None:
        other = many.body(whole().render())
        for name in ("c", "d", "e"):
            many.now += 1
            await worker.graph.import_jobs.put_job(name, other)
        assert [(await worker.wait(name))["status"] for name in "ced"] == ["succeeded"] * 3

    one.do(refused)
    many.do(queued)


def test_no_more_jobs_are_kept_than_may_be_and_old_ones_are_forgotten(
    store: GraphStore, tmp_path: Path
) -> None:
    jobs = Jobs(store, tmp_path / "a", max_kept=2, keep_seconds=60)
    body = jobs.body(whole().render())

    async def scenario(worker: Worker) -> list[str]:
        await worker.run("a", body)
        jobs.now += 60_000_000_000
        with pytest.raises(JobNotFound):
            await worker.read("a")
        assert (await worker.graph.import_jobs.list_jobs()).items == ()
        await worker.run("b", body)
        page = await worker.graph.import_jobs.list_jobs()
        return [_load(item)["id"] for item in page.items]

    assert jobs.do(scenario) == ["b"]


def test_for_one_job_more_the_one_that_ended_longest_ago_is_forgotten(
    store: GraphStore, tmp_path: Path
) -> None:
    jobs = Jobs(store, tmp_path / "a", max_kept=2, max_unfinished=3)
    body = jobs.body(whole().render())

    async def scenario(worker: Worker) -> list[list[str]]:
        for name in ("a", "b"):
            jobs.now += 1_000_000_000
            await worker.graph.import_jobs.put_job(name, body)
        await worker.graph.import_jobs.cancel_job("b")  # so the younger one ends first
        jobs.now += 1_000_000_000
        await worker.wait("a")
        jobs.now += 1_000_000_000
        await worker.run("c", body)
        for name in ("d", "e", "f"):
            jobs.now += 1_000_000_000
            await worker.graph.delete_jobs.start_job(name, 15)
            await worker.wait_for_deletion(name)
        imports = await worker.graph.import_jobs.list_jobs()
        deletions = await worker.graph.delete_jobs.list_jobs()
        return [[_load(item)["id"] for item in page.items] for page in (imports, deletions)]

    assert jobs.do(scenario) == [["a", "c"], ["e", "f"]]


def test_a_job_whose_log_could_not_be_written_is_forgotten_with_it(
    store: GraphStore, tmp_path: Path
) -> None:
    jobs = Jobs(store, tmp_path / "a", max_kept=1)

    async def scenario(worker: Worker) -> None:
        (jobs.folder / "in.ndjson.log").mkdir()
        await worker.run("j", jobs.body(whole().render()))
        assert "import-log/j" in await worker.entries()
        await worker.run("b", jobs.body(whole().render(), "other.ndjson"))
        assert "import-log/j" not in await worker.entries()

    jobs.do(scenario)


def test_a_job_is_refused_where_none_of_those_that_may_be_kept_has_ended(
    store: GraphStore, tmp_path: Path
) -> None:
    jobs = Jobs(store, tmp_path / "a", max_kept=2, max_unfinished=3)
    body = jobs.body(whole().render())

    async def scenario(worker: Worker) -> None:
        for name in ("a", "b"):
            await worker.graph.import_jobs.put_job(name, body)
        with pytest.raises(JobLimitReached, match="Jobs__MaxKept"):
            await worker.graph.import_jobs.put_job("c", body)

    jobs.do(scenario)


def test_jobs_are_listed_from_the_oldest_on_in_pages(store: GraphStore, tmp_path: Path) -> None:
    jobs = Jobs(store, tmp_path / "a", max_unfinished=9)
    body = jobs.body(whole().render())

    async def scenario(worker: Worker) -> list[list[str]]:
        for name in ("z", "b", "y", "a", "x"):
            jobs.now += 1_000_000_000
            await worker.graph.import_jobs.put_job(name, body)
        pages, token = [], None
        while True:
            page = await worker.graph.import_jobs.list_jobs(PageRequest(2, token))
            pages.append([_load(item)["id"] for item in page.items])
            token = page.token
            if token is None:
                break
        with pytest.raises(InvalidContinuationToken):
            await worker.graph.delete_jobs.list_jobs(PageRequest(2, "no"))
        return pages

    assert jobs.do(scenario) == [["z", "b"], ["y", "a"], ["x"]]


def _many() -> bytes:
    file = File().models()
    file.section("Twins", *(file.twin(f"t{at:03}") for at in range(60)))
    file.section(
        "Relationships", *(file.edge(f"t{at:03}", "e", f"t{at + 1:03}") for at in range(59))
    )
    return file.render()


def test_a_job_that_has_not_begun_is_cancelled_at_once(jobs: Jobs) -> None:
    async def scenario(worker: Worker) -> tuple[int, int, int]:
        await worker.graph.import_jobs.put_job("j", jobs.body(_many()))
        cancelled = _load(await worker.graph.import_jobs.cancel_job("j"))
        assert cancelled["status"] == "cancelled"
        assert "finishedDateTime" not in cancelled
        with pytest.raises(JobStateRefused):
            await worker.graph.import_jobs.cancel_job("j")
        worker.background.start()
        await asyncio.sleep(0.1)
        return await worker.count()

    assert jobs.do(scenario) == (0, 0, 0)


class Gate:
    """Holds an import up behind some of its chunks, until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, chunks: int) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        left = iter(range(chunks))
        read = FileReader.read_chunks

        def hold(reader: FileReader) -> Any:
            if next(left, None) is None:
                self.reached.set()
                assert self.open.wait(PATIENCE)
            return read(reader)

        monkeypatch.setattr(FileReader, "read_chunks", hold)


@pytest.mark.parametrize("can_start", [True, False])
def test_a_long_import_is_continued_apart_after_what_is_stored(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, can_start: bool
) -> None:
    monkeypatch.setattr(job_runner, "_ROWS_HERE", 6)
    seen: list[tuple[int, int, int]] = []

    async def scenario(worker: Worker) -> dict[str, Any]:
        async def run_apart(key: str, lease: Lease) -> None:
            seen.append(await worker.count())
            if not can_start:
                raise OSError("no process")
            other = Graph(worker.runner, jobs.settings, clock=lambda: jobs.now)
            await other.jobs.run(key, lease)

        graph = Graph(worker.runner, jobs.settings, clock=lambda: jobs.now, run_apart=run_apart)
        worker.background = BackgroundRunner(
            worker.runner, [graph.jobs], lease_seconds=5, look_seconds=0.02
        )
        return await worker.run("j", jobs.body(_many()))

    job = jobs.do(scenario)
    assert job["status"] == "succeeded"
    ((models, twins, relationships),) = seen
    assert (models, twins + relationships) == (job["modelsCreated"], 6)
    sections = [
        (line["details"].get("section"), line["details"]["status"])
        for line in jobs.log()
        if "status" in line["details"]
    ]
    assert len(sections) == len(set(sections))  # told once each
    assert ("no process" in caplog.text) is not can_start


def test_a_running_job_is_cancelled_and_goes_on_when_it_is_resumed(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, 9)

    async def scenario(worker: Worker) -> None:
        imports = worker.graph.import_jobs
        await imports.put_job("j", jobs.body(_many()))
        worker.background.start()
        assert await asyncio.to_thread(gate.reached.wait, PATIENCE)
        assert _load(await imports.cancel_job("j"))["status"] == "cancelling"
        gate.open.set()
        cancelled = await worker.wait("j")
        assert cancelled["status"] == "cancelled"
        assert "finishedDateTime" not in cancelled
        stored = (await worker.count())[1]
        assert 0 < stored == cancelled["twinsCreated"] < 60
        assert jobs.log()[-1]["details"]["status"] == "Cancelled"
        resumed = _load(await imports.resume_job("j"))
        assert resumed["status"] == "notstarted"
        done = await worker.wait("j")
        assert (done["status"], done["twinsCreated"]) == ("succeeded", 60)
        assert await worker.count() == (6, 60, 59)
        with pytest.raises(JobStateRefused, match="succeeded"):
            await imports.resume_job("j")

    jobs.do(scenario)
    statuses = [status for section, status in _details(jobs.log()) if section is None]
    assert statuses == ["Started", "Started", "Succeeded"]


def test_a_job_whose_source_gives_nothing_is_cancelled_all_the_same(
    light: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twinframe.graph.transfer.jobs.imports._LOOK_SECONDS", 0.02)
    gate = Gate(monkeypatch, 9)

    async def scenario(worker: Worker) -> dict[str, Any]:
        await worker.graph.import_jobs.put_job("j", light.body(_many()))
        worker.background.start()
        assert await asyncio.to_thread(gate.reached.wait, PATIENCE)
        await worker.graph.import_jobs.cancel_job("j")
        done = await worker.wait("j")
        gate.open.set()
        return done

    assert light.do(scenario)["status"] == "cancelled"


def test_a_source_that_changed_is_not_gone_on_with(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, 9)

    async def scenario(worker: Worker) -> dict[str, Any]:
        imports = worker.graph.import_jobs
        await imports.put_job("j", jobs.body(_many()))
        worker.background.start()
        assert await asyncio.to_thread(gate.reached.wait, PATIENCE)
        await imports.cancel_job("j")
        gate.open.set()
        await worker.wait("j")
        jobs.body(whole().render())
        await imports.resume_job("j")
        return await worker.wait("j")

    done = jobs.do(scenario)
    assert done["status"] == "failed"
    assert "changed" in done["error"]["message"]


def test_a_worker_that_stops_leaves_its_job_to_the_next(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, 9)

    async def first(worker: Worker) -> None:
        await worker.graph.import_jobs.put_job("j", jobs.body(_many()))
        worker.background.start()
        assert await asyncio.to_thread(gate.reached.wait, PATIENCE)
        gate.open.set()

    jobs.do(first)
    done = jobs.do(lambda worker: worker.wait("j"))
    counts = ("modelsCreated", "twinsCreated", "relationshipsCreated", "errorCount")
    assert [done[name] for name in counts] == [6, 60, 59, 0]
    assert done["status"] == "succeeded"


def test_a_late_worker_stores_nothing_once_another_has_taken_over(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, 9)

    async def scenario(worker: Worker) -> dict[str, Any]:
        await worker.graph.import_jobs.put_job("j", jobs.body(_many()))
        late = Worker(jobs)
        late.background._leases.keep = _sleep  # type: ignore[assignment, method-assign]  # frozen
        late.background.start()
        assert await asyncio.to_thread(gate.reached.wait, PATIENCE)
        before = await worker.read("j")
        assert before["status"] == "running"
        monkeypatch.undo()
        done = await worker.wait("j")
        gate.open.set()
        await asyncio.sleep(0.1)
        assert await worker.read("j") == done
        await late.close()
        return done

    done = jobs.do(scenario)
    assert (done["status"], done["twinsCreated"]) == ("succeeded", 60)
    assert len(jobs.log()) == 8  # the late one told of nothing more


@pytest.mark.parametrize("kind", FaultKind)
def test_whatever_becomes_of_its_writes_an_import_stores_and_tells_of_each_line_once(
    tmp_path: Path, kind: FaultKind
) -> None:
    inner = MemoryStore()
    inner.open()
    # The 5th to the 14th write: of leases and of chunks alike.
    error = None if kind is FaultKind.RUN_TWICE else StorageBusy("a fault")
    store = FaultyStore(inner, {at: Fault(kind, error) for at in range(5, 15, 2)})
    jobs = Jobs(store, tmp_path / "files")
    file = File().models()
    twins = [file.twin(f"t{at}", temperature="x" if at % 3 else 1.0) for at in range(12)]
    body = jobs.body(file.section("Twins", *twins).render())
    done = jobs.do(lambda worker: worker.run("j", body))
    counts = [done[name] for name in ("twinsCreated", "twinsReplaced", "errorCount")]
    assert (counts, done["firstTwins"]) == ([4, 0, 8], ["t0", "t3", "t6", "t9"])
    told = [line["details"]["id"] for line in jobs.log() if "id" in line["details"]]
    assert told == [f"t{at}" for at in range(12) if at % 3]
    inner.close()


async def _sleep(*_: object) -> None:
    await asyncio.sleep(0)


def test_a_log_that_cannot_be_written_fails_the_job_and_is_written_when_it_goes_on(
    jobs: Jobs,
) -> None:
    body = jobs.body(whole().render())
    taken = jobs.folder / "in.ndjson.log"
    taken.write_text("something else")

    async def scenario(worker: Worker) -> dict[str, Any]:
        done = await worker.run("j", body)
        assert (done["status"], done["error"]["code"]) == ("failed", "UrlNotAllowed")
        assert done["twinsCreated"] == 2
        assert taken.read_text() == "something else"
        taken.unlink()
        await worker.graph.import_jobs.resume_job("j")
        return await worker.wait("j")

    assert jobs.do(scenario)["status"] == "succeeded"
    assert jobs.log()[-1]["details"]["status"] == "Succeeded"


def test_refused_lines_of_a_job_without_its_log_are_told_of_when_it_goes_on(jobs: Jobs) -> None:
    file = File().models()
    file.section("Twins", file.twin("a", temperature="x"))
    body = jobs.body(file.render())
    taken = jobs.folder / "in.ndjson.log"
    taken.write_text("something else")

    async def scenario(worker: Worker) -> dict[str, Any]:
        done = await worker.run("j", body)
        assert done["error"]["code"] == "ValidationFailed"
        message = done["error"]["message"]
        assert "1 lines were refused" in message
        assert f"The log could not be written: {taken} is there already" in message
        assert "resume the job" in message
        taken.unlink()
        await worker.graph.import_jobs.resume_job("j")
        return await worker.wait("j")

    assert "could not be written" not in jobs.do(scenario)["error"]["message"]
    assert [line["details"]["line"] for line in jobs.log() if "line" in line["details"]] == [11]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("", InvalidArgument),
        ("relative/path", InvalidArgument),
        ("file://host/files/in", InvalidArgument),
        ("file:///files/../etc/passwd", InvalidArgument),
        ("file:///files/%2e%2e/etc/passwd", InvalidArgument),
        ("file:///etc/passwd", UrlNotAllowed),
        ("file:///files/a%00b", InvalidArgument),
        ("file:///files/in?x", InvalidArgument),
        ("ftp://host/in", UrlNotAllowed),
        ("gopher://host/in", UrlNotAllowed),
        ("data:text/plain,x", UrlNotAllowed),
        ("https://127.0.0.1/in", UrlNotAllowed),
        ("https://user@data.example/in", InvalidArgument),
        ("https://data.example\\@127.0.0.1/in", InvalidArgument),
        ("https://data.example/in#@127.0.0.1", InvalidArgument),
        ("http://data.example/in", UrlNotAllowed),
        ("https://data.example:8443/in", UrlNotAllowed),
        ("https://data.example.evil/in", UrlNotAllowed),
        ("https://data.example:x/in", InvalidArgument),
        ("https://[::1/in", InvalidArgument),
        ("s3://other/in", UrlNotAllowed),
        ("s3://bucket/folder/../other/in", InvalidArgument),
        ("s3://bucket/foldered/in", UrlNotAllowed),
        ("https://data.example/a b", InvalidArgument),
        ("https://data.example/a\r\nX: y", InvalidArgument),
        ("https://data.example/" + "a" * 5000, InvalidArgument),
    ],
)
def test_a_source_that_is_not_allowed_is_refused_before_a_job_is_made(
    light: Jobs, source: str, error: type[Exception]
) -> None:
    jobs = light
    source = source.replace("file:///files/", f"file://{jobs.folder}/")
    good = f"file://{jobs.folder}/ok"

    async def scenario(worker: Worker) -> int:
        bodies: tuple[dict[str, Any], ...] = (
            {"inputBlobUri": source, "outputBlobUri": good},
            {"inputBlobUri": good, "outputBlobUri": source},
        )
        for body in bodies:
            with pytest.raises(error):
                await worker.graph.import_jobs.put_job("j", body)
        return len((await worker.graph.import_jobs.list_jobs()).items)

    assert jobs.do(scenario) == 0


@pytest.mark.parametrize("body", [None, [], {}, {"inputBlobUri": 1, "outputBlobUri": "x"}])
def test_a_job_needs_its_two_uris(light: Jobs, body: Any) -> None:
    with pytest.raises(InvalidArgument):
        light.do(lambda worker: worker.graph.import_jobs.put_job("j", body))


@pytest.mark.parametrize("job_id", ["", "a/b", "x" * 129, "a\u0000", "a\r\nb"])
def test_odd_ids_of_jobs_are_refused(light: Jobs, job_id: str) -> None:
    body = light.body(b"")
    with pytest.raises(InvalidArgument):
        light.do(lambda worker: worker.graph.import_jobs.put_job(job_id, body))


# --- deletions ------------------------------------------------------------------------------------


def test_a_delete_job_empties_the_graph_and_nothing_else(jobs: Jobs) -> None:
    async def scenario(worker: Worker) -> dict[str, Any]:
        await worker.run("j", jobs.body(_many()))
        job_id, job = await worker.graph.delete_jobs.start_job("d", 15)
        assert (job_id, _load(job)["status"]) == ("d", "notstarted")
        done = await worker.wait_for_deletion("d")
        assert await worker.count() == (0, 0, 0)
        assert (await worker.read("j"))["status"] == "succeeded"
        listed = await worker.graph.delete_jobs.list_jobs()
        assert [_load(item)["id"] for item in listed.items] == ["d"]
        return done

    done = jobs.do(scenario)
    assert done["status"] == "succeeded"
    counts = ("relationshipsDeleted", "twinsDeleted", "modelsDeleted")
    assert [done[name] for name in counts] == [59, 60, 6]


def test_a_delete_job_erases_less_at_once_where_there_is_no_memory_for_more(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    erase = changes.erase_twins
    sizes: list[int] = []

    def erase_twins(context: Any, transaction: Any, twin_ids: Sequence[str]) -> int:
        sizes.append(len(twin_ids))
        if len(twin_ids) > 1:
            raise MemoryLimitExceeded("writes", "Memory__Writes", 1)
        return erase(context, transaction, twin_ids)

    monkeypatch.setattr("twinframe.graph.transfer.jobs.deletions.erase_twins", erase_twins)

    async def scenario(worker: Worker) -> None:
        await worker.run("j", jobs.body(_many()))
        await worker.graph.delete_jobs.start_job("d", 15)
        done = await worker.wait_for_deletion("d")
        assert (done["status"], done["twinsDeleted"]) == ("succeeded", 60)

    jobs.do(scenario)
    assert sizes[0] == 2
    assert set(sizes[1:]) == {1}


def test_a_twin_that_comes_last_is_deleted_before_its_model(
    light: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, late = DeletionRun._find, [build_twin_document(ROOM)]

    async def find_then_write(run: DeletionRun, read: Any) -> Any:
        found = await find(run, read)
        if not found and read is deletions._find_twins and late:
            await worker.graph.twins.put_twin("late", late.pop())
        return found

    async def scenario(running: Worker) -> dict[str, Any]:
        nonlocal worker
        worker = running
        await worker.run("j", light.body(whole().render()))
        monkeypatch.setattr(DeletionRun, "_find", find_then_write)
        await worker.graph.delete_jobs.start_job("d", 15)
        done = await worker.wait_for_deletion("d")
        assert await worker.count() == (0, 0, 0)
        return done

    worker: Worker
    done = light.do(scenario)
    assert (late, done["twinsDeleted"], done["modelsDeleted"]) == ([], 3, 6)


@pytest.mark.parametrize("events", [None, False])
def test_what_jobs_do_is_told_of_as_any_write_unless_it_is_not_wanted(
    store: GraphStore, tmp_path: Path, events: bool | None
) -> None:
    file = whole()
    file.lines.insert(-2, file.twin("r1", temperature=2.5))  # once more: it is replaced
    jobs = Jobs(store, tmp_path / "files", **({} if events is None else {"events": events}))

    async def scenario(worker: Worker) -> list[tuple[str, str]]:
        await worker.run("j", jobs.body(file.render()))
        await worker.graph.delete_jobs.start_job("d", 15)
        await worker.wait_for_deletion("d")
        told = await worker.read_events()
        return [(each.type.split(".", 1)[1], each.document["subject"]) for each in told]

    told = jobs.do(scenario)
    if events is False:
        assert told == []
        return
    assert [each for each in told if not each[0].startswith("Model.")] == [
        ("DigitalTwins.Twin.Create", "r1"),
        ("DigitalTwins.Twin.Create", "s"),
        ("DigitalTwins.Twin.Update", "r1"),
        ("DigitalTwins.Relationship.Create", "r1/relationships/e"),
        ("DigitalTwins.Relationship.Delete", "r1/relationships/e"),
        ("DigitalTwins.Twin.Delete", "r1"),
        ("DigitalTwins.Twin.Delete", "s"),
    ]
    assert [each[0] for each in told if each[0].startswith("Model.")] == (
        ["Model.Create"] * 6 + ["Model.Delete"] * 6
    )


def test_a_model_that_an_exact_file_decommissions_is_told_of(light: Jobs) -> None:
    facts = {"uploadTime": "2024-01-01T00:00:00.0000000Z", "decommissioned": True}
    own = {"exact": True, "models": {ROOM: facts}}
    file = File({"fileVersion": "1.0.0", "twinframe": own}).models()

    async def scenario(worker: Worker) -> list[tuple[str, Any]]:
        await worker.run("j", light.body(file.render()))
        told = await worker.read_events()
        return [(each.key, each.data["decommissioned"]) for each in told]

    told = light.do(scenario)
    assert len(told) == 7
    assert told[-1] == (ROOM, True)


def test_a_delete_job_that_takes_too_long_fails(jobs: Jobs) -> None:
    async def scenario(worker: Worker) -> dict[str, Any]:
        await worker.run("j", jobs.body(_many()))
        await worker.graph.delete_jobs.start_job("d", 15)
        jobs.now += 16 * 60 * 1_000_000_000
        return await worker.wait_for_deletion("d")

    done = jobs.do(scenario)
    assert (done["status"], done["error"]["code"]) == ("failed", "TimeoutError")


def test_a_delete_job_has_an_id_of_its_own_and_bounds_of_its_time(jobs: Jobs) -> None:
    async def scenario(worker: Worker) -> None:
        deletions = worker.graph.delete_jobs
        for minutes in (0, 14, 1441):
            with pytest.raises(JobStateRefused):
                await deletions.start_job(None, minutes)
        job_id, _ = await deletions.start_job()
        await worker.wait_for_deletion(job_id)
        with pytest.raises(JobStateRefused, match="exists already"):
            await deletions.start_job(job_id)
        with pytest.raises(DeleteJobNotFound):
            await deletions.read_job("absent")

    jobs.do(scenario)


def test_the_changes_of_a_job_say_who_asked_for_it(jobs: Jobs) -> None:
    file = File()
    file.section("Models", build_interface("dtmi:test:Lamp;1"))
    file.section("Twins", file.twin("a", "dtmi:test:Lamp;1"))

    async def scenario(worker: Worker) -> None:
        token = CURRENT_SUBJECT.set("anna")
        body = jobs.body(file.render())
        await worker.graph.import_jobs.put_job("i", body)
        CURRENT_SUBJECT.set("bert")
        assert (await worker.wait("i"))["status"] == "succeeded"
        await worker.graph.delete_jobs.start_job("d", 15)
        CURRENT_SUBJECT.reset(token)
        await worker.wait_for_deletion("d")
        rows = await worker.runner.read(lambda session: session.read_events(after=0, limit=99))
        found = [(event.subject, (row := parse_row(event.body)) and row.who) for _, event in rows]
        assert sorted(set(found)) == [
            ("a", "anna"),
            ("a", "bert"),
            ("dtmi:test:Lamp;1", "anna"),
            ("dtmi:test:Lamp;1", "bert"),
        ]

    jobs.do(scenario)
