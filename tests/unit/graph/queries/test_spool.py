"""Results kept for their next pages: what readers get while and after they are written."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.waiting import PATIENCE
from twinframe.errors import (
    InvalidContinuationToken,
    LimitExceeded,
    QueryTimeout,
    StorageError,
    TwinframeError,
)
from twinframe.graph.queries import spool
from twinframe.graph.queries.spool import ResultSpool, SpoolLimits

ROWS = [b'{"n":%d}' % n for n in range(10)]
LIMITS = SpoolLimits(result=1000, total=3000, lifetime=60)


@pytest.fixture
def results(tmp_path: Path) -> ResultSpool:
    return ResultSpool(tmp_path / "results", LIMITS)


def keep(results: ResultSpool, rows: list[bytes], error: TwinframeError | None = None) -> str:
    with results.open_writer() as writer:
        writer.write(rows)
        writer.finish(error)
    return writer.name


def read_all(results: ResultSpool, name: str, size: int) -> list[bytes]:
    found: list[bytes] = []
    offset: int | None = 0
    while offset is not None:
        page = results.read(name, offset, size, 10**6)
        assert page is not None
        assert page.rows or offset == 0
        found += page.rows
        offset = page.following
    return found


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=5), max_size=30
    ),
    st.integers(1, 9),
)
@settings(deadline=None)
def test_pages_of_any_size_hold_all_rows_in_order(texts: list[str], size: int) -> None:
    rows = [f'{{"x":"{text}"}}'.encode() for text in texts]
    with tempfile.TemporaryDirectory() as place:
        results = ResultSpool(Path(place), LIMITS)
        assert read_all(results, keep(results, rows), size) == rows


def test_a_page_waits_until_it_is_known_what_follows(
    results: ResultSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "_BUFFER", 2)  # each row is seen at once
    with results.open_writer() as writer:
        assert results.read(writer.name, 0, 3, 10**6) is None
        writer.write(ROWS[:3])
        assert results.read(writer.name, 0, 3, 10**6) is None
        writer.write(ROWS[3:4])
        page = results.read(writer.name, 0, 3, 10**6)
        assert page is not None
        assert page.rows == tuple(ROWS[:3])
        writer.finish()
    assert page.following is not None
    last = results.read(writer.name, page.following, 3, 10**6)
    assert last is not None
    assert (last.rows, last.following) == ((ROWS[3],), None)


@pytest.mark.parametrize("error", [QueryTimeout("late"), LimitExceeded("much")])
def test_an_error_is_given_where_the_rows_end(results: ResultSpool, error: TwinframeError) -> None:
    name = keep(results, ROWS, error)
    page = results.read(name, 0, 10, 10**6)
    assert page is not None
    assert page.rows == tuple(ROWS)
    assert page.following is not None
    with pytest.raises(type(error), match=error.message):
        results.read(name, page.following, 10, 10**6)


def test_an_error_of_the_store_asks_to_run_the_query_again(results: ResultSpool) -> None:
    name = keep(results, [], StorageError("disk"))
    with pytest.raises(InvalidContinuationToken, match="Run it again"):
        results.read(name, 0, 10, 10**6)


def test_a_result_that_is_too_large_is_an_error_that_names_the_setting(
    results: ResultSpool,
) -> None:
    with results.open_writer() as writer, pytest.raises(LimitExceeded, match="MaxResultBytes"):
        writer.write(b"x" * 100 for _ in range(100))


def test_a_writer_that_dies_leaves_a_result_that_is_lost_not_late(
    results: ResultSpool, tmp_path: Path
) -> None:
    code = (
        "import os, sys; from pathlib import Path; "
        "from twinframe.graph.queries.spool import ResultSpool, SpoolLimits; "
        "writer = ResultSpool(Path(sys.argv[1]), SpoolLimits(1000, 3000, 60)).open_writer(); "
        "writer.write([b'{}']); writer._file.flush(); print(writer.name, flush=True); "
        "sys.stdin.read(1); os._exit(9)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "results")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        assert results.read(name, 0, 3, 10**6) is None
        other.communicate("x", timeout=PATIENCE)
    with pytest.raises(InvalidContinuationToken, match="Run the query again"):
        results.read(name, 0, 3, 10**6)


def test_what_is_not_used_expires_and_use_prolongs(results: ResultSpool, tmp_path: Path) -> None:
    used, unused = keep(results, ROWS), keep(results, ROWS)
    for name, age in ((used, LIMITS.lifetime - 20), (unused, LIMITS.lifetime + 1)):
        then = time.time() - age
        os.utime(tmp_path / "results" / f"{name}.rows", (then, then))
    assert results.read(used, 0, 3, 10**6) is not None
    assert (tmp_path / "results" / f"{used}.rows").stat().st_mtime > time.time() - 20
    results.tidy()
    assert results.read(used, 0, 3, 10**6) is not None
    with pytest.raises(InvalidContinuationToken, match="Run the query again"):
        results.read(unused, 0, 3, 10**6)


def test_the_longest_unused_go_when_there_is_too_much(tmp_path: Path) -> None:
    results = ResultSpool(tmp_path / "results", LIMITS)
    names = []
    for age in range(40, 0, -1):
        names.append(keep(results, [b"{%s}" % (b" " * 200)]))
        then = time.time() - age
        os.utime(tmp_path / "results" / f"{names[-1]}.rows", (then, then))
        size = sum(each.stat().st_size for each in (tmp_path / "results").iterdir())
        assert size <= LIMITS.total
    kept = [name for name in names if (tmp_path / "results" / f"{name}.rows").exists()]
    assert kept
    assert kept == names[-len(kept) :]


@pytest.mark.parametrize("name", ["", "../graph", "a" * 31, "A" * 32, "0" * 32, "/etc/passwd"])
def test_only_names_given_out_are_opened(results: ResultSpool, name: str) -> None:
    keep(results, ROWS)
    with pytest.raises(InvalidContinuationToken):
        results.read(name, 0, 3, 10**6)


def test_nobody_else_may_read_what_is_kept(results: ResultSpool, tmp_path: Path) -> None:
    name = keep(results, ROWS)
    assert (tmp_path / "results").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "results" / f"{name}.rows").stat().st_mode & 0o777 == 0o600


def test_a_temporary_directory_of_another_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"twinframe-results-{os.getuid()}").mkdir(mode=0o777)
    (tmp_path / f"twinframe-results-{os.getuid()}").chmod(0o777)
    with pytest.raises(StorageError, match="this user alone"):
        ResultSpool(None, LIMITS).open_writer()


def test_a_directory_that_cannot_be_written_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot be kept"):
        ResultSpool(tmp_path / "file", LIMITS).open_writer()
