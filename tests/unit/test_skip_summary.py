"""The line at the end of a test run that says what was skipped and how to get it."""

from __future__ import annotations

from tests.session import render_skips


def test_reasons_are_counted_and_their_packages_are_one_command() -> None:
    virtuoso = "Skipped: needs Virtuoso: apt-get install virtuoso-opensource-7-bin"
    told = render_skips([virtuoso, "needs Mosquitto: apt install mosquitto", virtuoso, "too old"])
    assert told == (
        "Skipped: 2 × needs Virtuoso: apt-get install virtuoso-opensource-7-bin; "
        "1 × needs Mosquitto: apt install mosquitto; 1 × too old; "
        "all packages at once: apt-get install mosquitto virtuoso-opensource-7-bin"
    )


def test_a_run_without_skips_says_nothing() -> None:
    assert render_skips([]) == ""
