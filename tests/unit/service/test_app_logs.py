"""The service's log lines."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from typing import Literal

import pytest

from twinframe.service.logs import JsonFormatter, ServiceHandler, TextFormatter, configure_logging
from twinframe.settings import LoggingSettings


def build_record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    record = logging.getLogger("twinframe.test").makeRecord(
        "twinframe.test", logging.WARNING, "file.py", 1, message, args, None, extra=extra
    )
    record.created = 1_700_000_000.25
    return record


def test_a_json_line_holds_time_level_logger_message_and_extra_fields() -> None:
    line = JsonFormatter().format(build_record("twin %s", "a", twin="a", count=2))
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "warning",
        "logger": "twinframe.test",
        "message": "twin a",
        "twin": "a",
        "count": 2,
    }


def test_a_value_that_json_does_not_know_becomes_its_text() -> None:
    line = JsonFormatter().format(build_record("x", path=ValueError("why"), keys={1: (2,)}))
    assert json.loads(line)["path"] == "why"
    assert json.loads(line)["keys"] == {"1": [2]}


def test_an_error_comes_with_its_traceback_in_the_same_line() -> None:
    record = build_record("failed")
    try:
        int("the reason")
    except ValueError:
        record.exc_info = sys.exc_info()
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert (
        "ValueError: invalid literal for int() with base 10: 'the reason'"
        in json.loads(line)["error"]
    )


def test_a_line_of_text_cannot_be_forged_by_its_message() -> None:
    line = TextFormatter().format(build_record("bad\nINFO all is well", user="x\ny"))
    assert "\n" not in line
    assert line.endswith("twinframe.test: bad\\nINFO all is well user='x\\ny'")


def test_configuring_again_replaces_form_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = root.level
    try:
        configure_logging(LoggingSettings(level="debug"))
        configure_logging(LoggingSettings(level="warning", format="text"))
        logging.getLogger("twinframe.test").info("quiet")
        logging.getLogger("twinframe.test").warning("loud")
        (line,) = capsys.readouterr().err.splitlines()
        assert "WARNING twinframe.test: loud" in line
    finally:
        root.setLevel(before)
        for handler in list(root.handlers):
            if isinstance(handler.formatter, (JsonFormatter, TextFormatter)):
                root.removeHandler(handler)


@pytest.mark.parametrize(
    ("form", "on_terminal", "elsewhere"),
    [("auto", "text", "json"), ("json", "json", "json"), ("text", "text", "text")],
)
def test_lines_are_text_on_a_terminal_alone_unless_the_setting_names_a_format(
    form: Literal["auto", "json", "text"], on_terminal: str, elsewhere: str
) -> None:
    settings = LoggingSettings(format=form)
    assert settings.choose_format(is_terminal=True) == on_terminal
    assert settings.choose_format(is_terminal=False) == elsewhere


# --- the thread that writes -----------------------------------------------------------------------


def test_a_stream_that_nobody_reads_holds_nobody_up() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, True)
    with open(writing, "w", encoding="utf-8") as stream:  # noqa: PTH123  (a descriptor)
        handler = ServiceHandler(stream, capacity=100)
        handler.setFormatter(logging.Formatter("%(message)s"))
        handler.begin()
        for number in range(5000):  # far more than a pipe holds
            handler.emit(build_record("%05d" + "x" * 200, number))
        received = b""
        while b"dropped" not in received:
            received += os.read(reading, 65536)
        handler.end()
    os.close(reading)
    lines = received.splitlines()
    assert lines[0].startswith(b"00000x")
    told = next(json.loads(line) for line in lines if b"dropped" in line)
    assert told["message"] == "service log lines dropped"
    assert told["count"] > 0


def test_all_lines_are_written_in_order_before_the_end_and_directly_behind_it() -> None:
    stream = io.StringIO()
    handler = ServiceHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    for begun in (False, True, False):
        if begun:
            handler.begin()
        for number in range(200):
            handler.emit(build_record("%s %d", begun, number))
        handler.end()
    expected = [f"{begun} {n}" for begun in (False, True, False) for n in range(200)]
    assert stream.getvalue().splitlines() == expected


def test_a_record_that_cannot_be_rendered_ends_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    handler = ServiceHandler(io.StringIO())
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.begin()
    handler.emit(build_record("%d", "no number"))
    handler.end()
    assert "a real number is required" in capsys.readouterr().err
