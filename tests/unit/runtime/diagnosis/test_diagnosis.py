"""What is found wrong with a machine, and that what is in order is not."""

from __future__ import annotations

import http.server
import os
import resource
import shutil
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from pathlib import Path

import pytest
import trustme

from tests.waiting import join, start
from twinframe.runtime.diagnosis import directories, machine
from twinframe.runtime.diagnosis.directories import check_directory, check_offered, read_file_system
from twinframe.runtime.diagnosis.endpoints import check_endpoint, compare_clock
from twinframe.runtime.diagnosis.findings import Finding, Severity
from twinframe.runtime.diagnosis.machine import (
    check_clock,
    check_libraries,
    check_open_files,
    check_plugins,
    check_temporary,
    check_workers,
)
from twinframe.runtime.diagnosis.secrecy import check_certificate, check_private_file, check_secret
from twinframe.service.examination import _check_directories
from twinframe.settings import JobsSettings, Settings

MIB = 1024 * 1024


def find_worse(findings: Iterable[Finding]) -> list[tuple[str, Severity]]:
    """Checks and severities of all that is not fine; each says how to mend it."""
    worse = [one for one in findings if one.severity is not Severity.FINE]
    assert all(one.fix for one in worse)
    return [(one.check, one.severity) for one in worse]


# --- places ---------------------------------------------------------------------------------------


def test_a_directory_that_can_be_made_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet"
    assert find_worse(check_directory("Key", path)) == []
    assert not path.exists(), "looking makes nothing"


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("", encoding="utf-8")
    assert find_worse(check_directory("Key", tmp_path / "data")) == [("directory", Severity.ERROR)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere: run it as another user")
def test_a_directory_of_somebody_else_is_an_error() -> None:
    assert find_worse(check_directory("Key", Path("/etc/x"))) == [("directory", Severity.ERROR)]


def test_a_directory_that_is_not_writable_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_args: False)
    (found,) = check_directory("Key", tmp_path)
    assert found.severity is Severity.ERROR
    assert "is not writable for user" in found.message
    assert str(tmp_path) in found.fix


def test_a_directory_offered_to_jobs_must_be_there(tmp_path: Path) -> None:
    assert [one.severity for one in check_offered("K", tmp_path)] == [Severity.FINE]
    (missing,) = check_offered("K", tmp_path / "absent")
    assert missing.severity is Severity.WARNING
    assert "jobs that name files there fail" in missing.message


def test_directories_of_jobs_are_looked_at_but_for_those_of_hosted_graphs(tmp_path: Path) -> None:
    jobs = JobsSettings(directories=(str(tmp_path / "absent"), f"{tmp_path}/{{graph}}"))
    (found,) = _check_directories(Settings(jobs=jobs))
    assert found.message.startswith(f"Jobs__Directories__0={tmp_path}/absent is no directory")


def test_a_directory_open_to_everybody_is_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert ("directory", Severity.WARNING) in find_worse(check_directory("Key", tmp_path))


def test_a_directory_whose_files_everybody_may_read_is_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    file = tmp_path / "default.db"
    file.touch(0o600)
    assert ("directory", Severity.WARNING) not in find_worse(check_directory("Key", tmp_path))
    file.chmod(0o644)
    (found,) = [one for one in check_directory("Key", tmp_path) if one.check == "directory"]
    assert found.severity is Severity.WARNING
    assert found.fix == f"chmod o-rwx {tmp_path}"
    tmp_path.chmod(0o700)
    assert ("directory", Severity.WARNING) not in find_worse(check_directory("Key", tmp_path))


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /srv rw shared:2 - tmpfs tmpfs rw
31 30 0:50 / /srv/data rw - nfs4 server:/x rw
32 22 0:51 / /with\\040blank rw - cifs //server/x rw
33 22 0:52 / /srv/data/local rw - xfs /dev/sdb rw
34 22 0:53 / /over rw - ext4 /dev/sdc rw
35 22 0:54 / /over rw - nfs server:/y rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/data/graph", "nfs4"),
        ("/srv/data", "nfs4"),
        ("/srv/database", "tmpfs"),
        ("/srv/data/local/x", "xfs"),
        ("/with blank/x", "cifs"),
        ("/home", "ext4"),
        ("/over/x", "nfs"),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(path: str, kind: str, tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert read_file_system(Path(path), mounts) == kind


def test_the_file_system_of_this_machine_has_a_name() -> None:
    assert read_file_system(Path("/"))


@pytest.mark.parametrize(
    ("kind", "shares_memory", "severity"),
    [
        ("nfs4", True, Severity.ERROR),
        ("nfs4", False, Severity.WARNING),
        ("fuse.sshfs", True, Severity.ERROR),
        ("tmpfs", True, Severity.WARNING),
    ],
)
def test_a_log_needs_a_file_system_of_this_machine(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    shares_memory: bool,
    severity: Severity,
) -> None:
    monkeypatch.setattr(directories, "read_file_system", lambda _path: kind)
    found = find_worse(check_directory("Key", tmp_path, shares_memory=shares_memory))
    assert found == [("file system", severity)]


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        (10 * MIB, [("disk space", Severity.ERROR)]),
        (200 * MIB, [("disk space", Severity.WARNING)]),
        (2000 * MIB, []),
    ],
)
def test_room_is_looked_at(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    expected: list[tuple[str, Severity]],
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    monkeypatch.setattr(directories, "read_file_system", lambda _path: "ext4")
    assert find_worse(check_directory("Key", tmp_path)) == expected


# --- the machine ----------------------------------------------------------------------------------


def test_a_missing_library_is_said_with_the_way_to_have_it() -> None:
    (missing, *_rest) = check_libraries(["httptools-of-nowhere"])
    assert (missing.severity, missing.fix) == (
        Severity.ERROR,
        "pip install httptools-of-nowhere",
    )
    assert find_worse(check_libraries()) == []


def test_plugins_of_another_release_are_a_warning() -> None:
    plugins = [("twinframe-storage-sqlite", "0.1.0"), ("lakes", "9"), ("twinframe-x", "0.2.0")]
    (found,) = check_plugins("0.1.0", plugins)
    assert "twinframe-x is 0.2.0" in found.message


def test_too_few_open_files_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (1024, 4096))
    assert check_open_files(800).severity is Severity.FINE
    found = check_open_files(1000, 100)
    assert found.severity is Severity.WARNING
    assert "LimitNOFILE=1228" in found.fix


def test_more_workers_than_processors_are_a_warning() -> None:
    assert check_workers(1).severity is Severity.FINE
    assert check_workers(10_000).severity is Severity.WARNING


def test_a_clock_that_was_never_set_is_an_error() -> None:
    assert find_worse(check_clock(now=1000.0)) == [("clock", Severity.ERROR)]
    assert find_worse(check_clock()) == []


def test_data_from_the_future_is_a_warning(tmp_path: Path) -> None:
    newest = tmp_path / "default.db"
    newest.touch()
    assert find_worse(check_clock(newest)) == []
    os.utime(newest, (time.time() + 3600,) * 2)
    assert find_worse(check_clock(newest)) == [("clock", Severity.WARNING)]
    assert find_worse(check_clock(tmp_path / "gone.db")) == []


def test_temporary_files_need_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_temporary().severity is Severity.FINE

    def refuse() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine.tempfile, "TemporaryFile", refuse)
    assert check_temporary().severity is Severity.ERROR


# --- secrets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        ("changeme", [("secrets", Severity.ERROR)]),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", [("secrets", Severity.ERROR)]),
        ("k9-Zr4!w", [("secrets", Severity.WARNING)]),
        ("hJ0cF1vYb7dXq2sLw5oPz8tRk3", []),
    ],
)
def test_a_secret_must_not_be_easily_guessed(
    value: str, expected: list[tuple[str, Severity]]
) -> None:
    found = list(check_secret("Secrets__TokenKey", value))
    assert find_worse(found) == expected
    assert all(value not in one.message + one.fix for one in found)


def test_a_file_of_secrets_is_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    assert find_worse(check_private_file("Key", path)) == [("secrets", Severity.ERROR)]
    path.touch(0o600)
    assert find_worse(check_private_file("Key", path)) == []
    path.chmod(0o644)
    assert find_worse(check_private_file("Key", path)) == [("secrets", Severity.WARNING)]


def test_a_certificate_is_looked_at_before_it_expires(tmp_path: Path) -> None:
    path = tmp_path / "chain.pem"
    end = datetime.now(UTC) + timedelta(days=100)
    trustme.CA().issue_cert("a.example", not_after=end).cert_chain_pems[0].write_to_path(str(path))
    assert find_worse(check_certificate("Key", path)) == []
    for days, severity in ((-5, Severity.WARNING), (1, Severity.ERROR)):
        moment = end + timedelta(days=days)
        assert find_worse(check_certificate("Key", path, moment)) == [("certificate", severity)]
    early = datetime(1990, 1, 1, tzinfo=UTC)
    assert find_worse(check_certificate("Key", path, early)) == [("certificate", Severity.ERROR)]


# --- other servers --------------------------------------------------------------------------------


@pytest.fixture
def other() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert "authorization" not in {name.lower() for name in self.headers}
            self.send_response(int(self.path.strip("/")))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as there
            """Nobody reads it."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = start(server.serve_forever)
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    join(thread)
    server.server_close()


def test_a_server_that_answers_is_there_whatever_it_says(other: str) -> None:
    for status in (200, 301, 401, 404):
        assert find_worse(check_endpoint("Key", f"{other}/{status}")) == []
    assert find_worse(check_endpoint("Key", f"{other}/503")) == [("reachability", Severity.WARNING)]


def test_a_server_that_is_not_there_is_an_error() -> None:
    found = find_worse(check_endpoint("Key", "http://127.0.0.1:9/", timeout=2))
    assert found == [("reachability", Severity.ERROR)]


def test_clocks_that_differ_are_a_warning() -> None:
    now = time.time()
    assert find_worse(compare_clock("Key", formatdate(now - 2), now)) == []
    for skew in (-3600, 20):
        found = find_worse(compare_clock("Key", formatdate(now - skew), now))
        assert found == [("clock", Severity.WARNING)]
    assert list(compare_clock("Key", "yesterday", now)) == []
