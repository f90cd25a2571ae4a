"""The log of lines: what is written together stays together, whoever shares the pipe."""

from __future__ import annotations

import io
import os
import select
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.access.gate import AuditEntry, RequestInfo
from twinframe.errors.masking import mask_path
from twinframe.http.line_log import LineLog, render_entry, render_moment, split_lines

LINES = st.lists(st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b"") + b"\n"))


class Calls(io.RawIOBase):
    """A stream that keeps what each call has written."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self.pieces.append(bytes(piece))
        return len(piece)


def render(number: int) -> bytes:
    return b"%07d %b\n" % (number, b"x" * 191)


def write_thousand(stream: Any) -> None:
    log = LineLog(stream, render, name="test")
    for number in range(1000):
        log.add(number)
    log.start()
    log.stop()


@pytest.mark.parametrize("is_buffered", [True, False])
def test_no_call_writes_more_than_a_pipe_keeps_together(is_buffered: bool) -> None:
    calls = Calls()
    write_thousand(io.BufferedWriter(calls, 100_000) if is_buffered else calls)
    assert b"".join(calls.pieces) == b"".join(render(number) for number in range(1000))
    for piece in calls.pieces:
        assert len(piece) <= select.PIPE_BUF
        assert not piece or piece.endswith(b"\n")


class CountedFile(io.FileIO):
    """A file that counts the calls that write to it."""

    calls = 0

    def write(self, piece: Any) -> int:
        self.calls += 1
        return super().write(piece) or 0


def test_a_file_gets_all_lines_that_wait_in_one_call(tmp_path: Path) -> None:
    with CountedFile(tmp_path / "log", "ab") as file:
        log = LineLog(file, render, name="test")
        for number in range(1000):
            log.add(number)
        log.start()
        log.stop()
        assert file.calls <= 2
    assert (tmp_path / "log").read_bytes() == b"".join(render(number) for number in range(1000))


def test_two_logs_in_one_full_pipe_cut_no_line_of_each_other() -> None:
    reading, writing = os.pipe()
    with ExitStack() as files:
        reader = files.enter_context(os.fdopen(reading, "rb"))
        streams = [os.fdopen(end, "wb") for end in (writing, os.dup(writing))]
        logs = [LineLog(files.enter_context(stream), render, name="test") for stream in streams]
        for log in logs:
            for number in range(3000):
                log.add(number)
            log.start()
        for log in logs:
            files.callback(log.stop)
        lines = [reader.readline() for _ in range(6000)]
    assert sorted(lines) == sorted(render(number) for number in [*range(3000)] * 2)


@given(LINES, st.integers(min_value=1, max_value=100))
def test_pieces_are_whole_lines_and_as_many_as_fit(lines: list[bytes], most: int) -> None:
    pieces = list(split_lines(b"".join(lines), most))
    assert b"".join(pieces) == b"".join(lines)
    for piece in pieces:
        assert not piece or piece.endswith(b"\n")
        assert len(piece) <= most or piece.count(b"\n") == 1


def test_a_line_that_the_thread_takes_at_the_last_moment_is_not_counted_as_lost() -> None:
    log = LineLog(io.BytesIO(), render, name="test", capacity=0)
    for number in range(63):
        log.add(number)

    class Taken(type(log._queue)):  # type: ignore[misc]  # a deque whose entries go when counted
        def __len__(self) -> int:
            found = super().__len__()
            self.clear()
            return found

    log._queue = Taken(log._queue)
    log.add(63)
    assert log._dropped == 0


TEXTS = st.text(max_size=12)


@given(
    st.builds(
        AuditEntry,
        st.floats(0, 4e9),
        st.booleans(),
        TEXTS,
        TEXTS,
        st.builds(RequestInfo, TEXTS, TEXTS, TEXTS),
        TEXTS,
        TEXTS,
    )
)
def test_a_line_of_the_audit_log_is_the_object_of_its_members(entry: AuditEntry) -> None:
    members = {
        "time": render_moment(entry.moment),
        "level": "info" if entry.allowed else "warning",
        "message": "audit",
        "decision": "allowed" if entry.allowed else "refused",
        "subject": entry.subject,
        "credential": entry.kind,
        "action": mask_path(entry.request_info.action),
        "needed": entry.needed,
        "reason": entry.reason,
        "request_id": entry.request_info.request_id,
        "client": entry.request_info.client,
    }
    assert render_entry(entry) == orjson.dumps(members) + b"\n"
