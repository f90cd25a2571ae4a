"""Import and delete jobs against a running service: the vendor's clients, and workers killed."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.digitaltwins.core._generated.models import ImportJob

from tests.e2e.clients import AsyncClient, SyncClient
from tests.e2e.server import Certificates, Server
from tests.e2e.wire import Wire
from tests.waiting import run_program

MODEL = "dtmi:com:example:job:Thing;1"
TWINS = int(os.environ.get("TWINFRAME_IMPORT_TWINS", "2000"))
KILLS = int(os.environ.get("TWINFRAME_IMPORT_KILLS", "2"))
FINAL = ("succeeded", "failed", "cancelled")


def write_file(path: Path, twins: int) -> None:
    """A file with a model, twins and twice as many relationships."""
    model = {
        "@id": MODEL,
        "@type": "Interface",
        "@context": "dtmi:dtdl:context;3",
        "contents": [
            {"@type": "Property", "name": "value", "schema": "double"},
            {"@type": "Relationship", "name": "next", "target": MODEL},
        ],
    }
    with path.open("wb") as out:

        def line(document: Any) -> None:
            out.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))

        line({"Section": "Header"})
        line({"fileVersion": "1.0.0"})
        line({"Section": "Models"})
        line(model)
        line({"Section": "Twins"})
        for at in range(twins):
            line({"$dtId": f"t{at:08}", "$metadata": {"$model": MODEL}, "value": at / 7})
        line({"Section": "Relationships"})
        for at in range(twins):
            for step in (1, 2):
                line(
                    {
                        "$dtId": f"t{at:08}",
                        "$relationshipId": f"r{step}",
                        "$targetId": f"t{(at + step) % twins:08}",
                        "$relationshipName": "next",
                    }
                )


@pytest.fixture
def served(tmp_path: Path, certificates: Certificates) -> Iterator[Server]:
    """A service whose jobs may use a folder."""
    files = tmp_path / "files"
    files.mkdir()
    write_file(files / "in.ndjson", 50)
    environment = {
        "Jobs__Directories": f'["{files}"]',
        "Jobs__LookSeconds": "0.05",
        "Jobs__LeaseSeconds": "1",
        "Server__GracefulTimeout": "1",
    }
    with Server(tmp_path, certificates, workers=2, environment=environment) as running:
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.mark.parametrize("kind", [SyncClient, AsyncClient])
def test_the_vendors_clients_run_all_operations_of_jobs(
    served: Server, kind: Callable[[str, str], SyncClient | AsyncClient]
) -> None:
    assert served.certificates is not None
    jobs, files = kind(served.url, str(served.certificates.authority)), served.folder / "files"
    job = ImportJob(
        input_blob_uri=f"file://{files}/in.ndjson", output_blob_uri=f"file://{files}/out.ndjson"
    )
    try:
        made = jobs.do("import_jobs", "add", "first", job)
        assert (made.id, made.status, made.error) == ("first", "notstarted", None)
        assert made.finished_date_time is None
        with pytest.raises(HttpResponseError) as refused:
            jobs.do("import_jobs", "add", "first", job)
        assert refused.value.status_code in (409, 429)
        done = _wait(lambda: jobs.do("import_jobs", "get_by_id", "first"))
        assert done.status == "succeeded"
        assert done.created_date_time <= done.finished_date_time < done.purge_date_time
        with pytest.raises(ResourceExistsError):
            jobs.do("import_jobs", "add", "first", job)
        with pytest.raises(HttpResponseError) as refused:
            jobs.do("import_jobs", "cancel", "first")
        assert _tell(refused.value) == (400, "ValidationFailed")
        with pytest.raises(ResourceNotFoundError) as missing:
            jobs.do("import_jobs", "get_by_id", "absent")
        assert _tell(missing.value) == (404, "JobNotFound")
        job.input_blob_uri = "https://storage.example/in.ndjson"
        with pytest.raises(HttpResponseError) as refused:
            jobs.do("import_jobs", "add", "other", job)
        assert refused.value.status_code == 400
        assert [each.id for each in jobs.do("import_jobs", "list")] == ["first"]
        # Its answers say when to look again; without that the client would wait an hour.
        deleted = jobs.do("delete_jobs", "begin_add", polling_interval=3600)
        assert deleted.status == "succeeded"
        assert [each.id for each in jobs.do("delete_jobs", "list")] == [deleted.id]
        again = jobs.do("delete_jobs", "get_by_id", deleted.id)
        assert again.finished_date_time is not None
        with pytest.raises(ResourceNotFoundError) as missing:
            jobs.do("delete_jobs", "get_by_id", "absent")
        assert _tell(missing.value) == (404, "DeleteJobNotFound")
        jobs.do("import_jobs", "delete", "first")
        assert jobs.do("import_jobs", "list") == []
    finally:
        jobs.close()


def _tell(error: HttpResponseError) -> tuple[int | None, str | None]:
    return error.status_code, error.error.code if error.error else None


def _wait(read: Callable[[], Any]) -> Any:
    end = time.monotonic() + 120
    while (job := read()).status not in FINAL:
        assert time.monotonic() < end, job
        time.sleep(0.02)
    return job


def test_the_answer_to_a_delete_job_says_where_it_is(tmp_path: Path) -> None:
    with Server(tmp_path, environment={"Jobs__LookSeconds": "0.05"}) as server:
        wire = Wire(server.port)
        status, headers, job = wire.call(
            "POST",
            "/api/jobs/deletions?timeoutInMinutes=15&api-version=2023-10-31",
            operation_id="d 1",
        )
        assert (status, job["status"]) == (202, "notstarted")
        assert headers["retry-after"] == "1"
        url = urlsplit(headers["operation-location"])
        assert url.netloc == f"127.0.0.1:{server.port}"
        assert url.path == "/api/jobs/deletions/d%201"
        assert url.query == "api-version=2023-10-31"
        while job["status"] not in FINAL:
            status, headers, job = wire.call("GET", f"{url.path}?{url.query}")
            assert status == 200
            assert headers.get("retry-after") == (None if job["status"] in FINAL else "1")
        assert job["status"] == "succeeded"
        status, _, body = wire.call("POST", "/jobs/deletions", operation_id="d 1")
        assert (status, body["error"]["code"]) == (400, "ValidationFailed")
        for minutes in ("1", "x", "99999999999999"):
            status, _, _ = wire.call("POST", f"/jobs/deletions?timeoutInMinutes={minutes}")
            assert status == 400
        wire.close()


# --- killed -----------------------------------------------------------------------------------


def _read_job(server: Server) -> dict[str, Any]:
    wire = Wire(server.port)
    try:
        status, _, job = wire.call("GET", "/jobs/imports/big")
        assert status == 200, job
        return job  # type: ignore[no-any-return]
    finally:
        wire.close()


def _count(job: dict[str, Any]) -> int:
    return int(job["twinsCreated"]) + int(job["relationshipsCreated"])


def _export(folder: Path, name: str) -> bytes:
    out = folder / name
    environment = {**os.environ, "Storage__Sqlite__Directory": str(folder / "data")}
    run_program(
        [sys.executable, "-m", "twinframe", "export", str(out)], env=environment, check=True
    )
    with out.open("rb") as exported:
        return hashlib.file_digest(exported, "sha256").digest()


def test_an_import_killed_in_the_middle_goes_on_and_nothing_is_lost_or_twice(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    write_file(files / "big.ndjson", TWINS)
    environment = {
        "Jobs__Directories": f'["{files}"]',
        "Jobs__LookSeconds": "0.05",
        "Jobs__LeaseSeconds": "0.5",
        "Jobs__ChunkRows": "50" if TWINS < 100_000 else "500",
        "Jobs__Pause": "0.05" if TWINS < 100_000 else "0.002",  # it is to be met before its end
    }
    server = Server(tmp_path, workers=2, environment=environment)
    server.start()
    try:
        wire = Wire(server.port)
        body = {
            "inputBlobUri": f"file://{files}/big.ndjson",
            "outputBlobUri": f"file://{files}/big.log",
        }
        status, _, job = wire.call("PUT", "/jobs/imports/big", body)
        assert status == 201, job
        wire.close()
        seen = []
        for number in range(1, KILLS + 1):
            goal = 3 * TWINS * number // (KILLS + 1)
            while _count(job := _read_job(server)) < goal:
                assert job["status"] in ("notstarted", "running"), job
                time.sleep(0.01)
            seen.append(_count(job))
            server.kill()
            server.start()
            started = time.monotonic()
            while _count(job := _read_job(server)) <= seen[-1] and job["status"] not in FINAL:
                time.sleep(0.01)
            record_property("seconds until an import goes on", time.monotonic() - started)
        while (job := _read_job(server))["status"] not in FINAL:
            time.sleep(0.05)
    finally:
        server.stop()
    assert all(count < 3 * TWINS for count in seen), "killed when it was done already"
    assert job["status"] == "succeeded", job
    counts = ("modelsCreated", "twinsCreated", "relationshipsCreated", "errorCount")
    assert [job[name] for name in counts] == [1, TWINS, 2 * TWINS, 0]
    exports = [_export(tmp_path, name) for name in ("one.ndjson", "other.ndjson")]
    assert exports[0] == exports[1]
    lines = (tmp_path / "one.ndjson").read_bytes().splitlines()
    assert len(lines) == 5 + 1 + 3 * TWINS
    statuses = [
        (line["details"].get("section"), line["details"]["status"])
        for line in map(orjson.loads, (files / "big.log").read_bytes().splitlines())
    ]
    # However often its workers died, each section began and ended once.
    assert statuses == [
        (None, "Started"),
        *(
            (section, status)
            for section in ("Models", "Twins", "Relationships")
            for status in ("Started", "Succeeded")
        ),
        (None, "Succeeded"),
    ]
