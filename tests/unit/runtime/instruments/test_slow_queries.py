"""What the log says of slow queries, and what it keeps to itself."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.runtime.instruments.base import CURRENT_REQUEST, QueryRun
from twinframe.runtime.instruments.slow_queries import SlowQueryLog, mask_literals
from twinframe.settings.operations import SlowQueryText


def build_run(text: str, seconds: float = 2.0, error: str = "") -> QueryRun:
    return QueryRun(
        text=text,
        language="cypher",
        engine="sqlite",
        started=100.0,
        seconds=seconds,
        compiling=(100.0, 100.5),
        running=(100.5, 102.0),
        rows=7,
        charge=3.5,
        error=error,
        fingerprint=lambda: "00ff",
    )


def log_run(
    run: QueryRun, caplog: pytest.LogCaptureFixture, text: SlowQueryText = "masked"
) -> list[logging.LogRecord]:
    with caplog.at_level(logging.INFO):
        SlowQueryLog(1.0, text).note_query(run)
    return caplog.records


def test_a_slow_query_is_told_with_its_cost_and_its_plan(caplog: pytest.LogCaptureFixture) -> None:
    token = CURRENT_REQUEST.set("abc-1")
    try:
        (record,) = log_run(build_run("MATCH (n) RETURN n"), caplog)
    finally:
        CURRENT_REQUEST.reset(token)
    said = vars(record)
    assert said["milliseconds"] == 2000
    assert (said["compile_ms"], said["run_ms"]) == (500, 1500)
    assert (said["rows"], said["charge"], said["engine"]) == (7, 3.5, "sqlite")
    assert (said["plan"], said["request_id"], said["outcome"]) == ("00ff", "abc-1", "done")
    assert said["query"] == "MATCH (n) RETURN n"


def test_a_quick_query_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    assert log_run(build_run("MATCH (n) RETURN n", seconds=0.999), caplog) == []


def test_a_query_that_failed_slowly_is_told_with_its_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (record,) = log_run(build_run("MATCH (n) RETURN n", error="TimeoutError"), caplog)
    assert vars(record)["outcome"] == "TimeoutError"


def test_the_text_is_shown_as_the_setting_says(caplog: pytest.LogCaptureFixture) -> None:
    text = "MATCH (n {pin: 1234}) RETURN n"
    (record,) = log_run(build_run(text), caplog, "full")
    assert vars(record)["query"] == text
    caplog.clear()
    (record,) = log_run(build_run(text), caplog, "none")
    assert "query" not in vars(record)


def test_a_text_of_any_length_or_kind_becomes_a_line(caplog: pytest.LogCaptureFixture) -> None:
    (record,) = log_run(build_run("RETURN n\ud800" + "x" * 100_000), caplog)
    assert len(str(vars(record)["query"])) < 5_000
    str(vars(record)["query"]).encode()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("WHERE n.name = 'it''s'", "WHERE n.name = ??"),
        (r"WHERE n.a = 'it\'s' AND n.b = "  + '"x\\"y"', "WHERE n.a = ? AND n.b = ?"),
        ("RETURN n.a2, n1, $p1, 12, 1.5e-3, .5, 0xFF", "RETURN n.a2, n1, $p1, ?, ?, ?, ?"),
        ("MATCH (a)-[*1..3]->(b)", "MATCH (a)-[*?]->(b)"),
        ("MATCH (n:`dtmi:x:Room;1`) RETURN n", "MATCH (n:`dtmi:x:Room;1`) RETURN n"),
        ("RETURN 1 // the key is hunter2\n+ /* or\nthis */ 2", "RETURN ?  \n+   ?"),
        ("RETURN 'never closed", "RETURN ?"),
        ("SELECT * FROM twins T WHERE T.$dtId = 'x'", "SELECT * FROM twins T WHERE T.$dtId = ?"),
    ],
)  # fmt: skip
def test_literals_are_masked_and_names_are_not(text: str, masked: str) -> None:
    assert mask_literals(text) == masked


PLAIN = st.characters(codec="utf-8", exclude_characters="\\'\"`")


@given(
    st.text(alphabet=PLAIN).map("SECRET{}".format),
    st.sampled_from("'\""),
    st.text(alphabet="MATCHRETURNwhere =<>()[]{}.,:", max_size=40),
)  # fmt: skip
def test_no_string_is_ever_shown(secret: str, quote: str, around: str) -> None:
    assert "SECRET" not in mask_literals(f"{around}{quote}{secret}{quote}{around}")
