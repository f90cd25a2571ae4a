"""What a service and its commands write is for their user alone, whatever the umask was."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.server import Server
from tests.reliability.traffic import Line
from tests.waiting import run_program
from twinframe.storage.base import GraphStore
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

MODEL = [{"@id": "dtmi:t:A;1", "@type": "Interface", "@context": "dtmi:dtdl:context;3"}]
TWIN = {"$metadata": {"$model": "dtmi:t:A;1"}}


@contextmanager
def open_to_all() -> Iterator[None]:
    """Inside, files are made for everybody."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def list_open(folder: Path) -> list[str]:
    """Files and folders that others than their owner may use."""
    return [
        f"{stat.filemode(path.stat().st_mode)} {path.relative_to(folder)}"
        for path in folder.rglob("*")
        if path.stat().st_mode & 0o077 and not path.is_symlink()
    ]


def run(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "Storage__Sqlite__Directory": str(folder / "data")}
    command = [sys.executable, "-m", "twinframe", *arguments]
    run_program(command, env=environment, cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("provider", ["Sqlite", "Rdf"])
def test_whatever_a_service_and_its_commands_write_is_private(
    tmp_path: Path, provider: str
) -> None:
    jobs = tmp_path / "jobs"
    jobs.mkdir(mode=0o700)
    (jobs / "in").write_text("")
    (jobs / "in").chmod(0o600)
    environment = {
        "Storage__Provider": provider,
        "Storage__Rdf__Directory": str(tmp_path / "rdf"),
        "Jobs__Directories": json.dumps([str(jobs)]),
        "Jobs__LookSeconds": "0.05",
    }
    server = Server(tmp_path, workers=2, environment=environment)
    with open_to_all(), server:
        line = Line(server.port)
        assert line.call("POST", "/models", MODEL)[0] == 201
        assert line.call("PUT", "/digitaltwins/a", TWIN)[0] == 200
        job = {"inputBlobUri": f"file://{jobs}/in", "outputBlobUri": f"file://{jobs}/out"}
        assert line.call("PUT", "/jobs/imports/a", job)[0] == 201
        while json.loads(line.call("GET", "/jobs/imports/a")[2])["status"] in (
            "notstarted",
            "running",
        ):
            pass
        line.close()
        if provider == "Sqlite":
            run(tmp_path, "backup", "--to", "backup")
            run(tmp_path, "export", "export.gz")
        server.log.chmod(0o600)  # the test's
        assert list_open(tmp_path) == []
        assert (tmp_path / "backup").exists() == (provider == "Sqlite")
    if provider == "Sqlite":
        with open_to_all():
            run(tmp_path, "restore", "-", "backup")
        assert list_open(tmp_path) == []


def test_a_store_that_is_opened_without_the_commands_makes_private_files(tmp_path: Path) -> None:
    store: GraphStore = SqliteGraphStore(
        SqliteSettings(directory=str(tmp_path / "data")), "default"
    )
    with open_to_all():
        store.open()
        try:
            assert list_open(tmp_path) == []
            assert len(list((tmp_path / "data").iterdir())) >= 5
        finally:
            store.close()


def test_files_that_are_there_keep_their_mode(tmp_path: Path) -> None:
    with open_to_all(), Server(tmp_path):
        pass
    database = tmp_path / "data" / "default.db"
    database.chmod(0o640)
    (tmp_path / "data").chmod(0o750)
    with Server(tmp_path):
        pass
    assert stat.S_IMODE(database.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o750
