"""Runs of statements are counted in bounded memory, and looked at when that is worth it."""

from __future__ import annotations

from twinframe_storage_sqlite.index_notes import IndexNotes

SLOW = 50_000


class Clock:
    """A clock that stands still unless moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def build() -> tuple[IndexNotes, Clock]:
    """Notes that have looked once."""
    clock = Clock()
    notes = IndexNotes(clock)
    clock.now = 20.0
    assert notes.is_due
    assert notes.is_search_due()
    notes.take()
    return notes, clock


def test_runs_are_counted_by_text() -> None:
    notes, _ = build()
    for steps in (10, 30, -5):
        notes.count("a", steps)
    notes.count("b", SLOW)
    taken = notes.take()
    assert (taken["a"].runs, taken["a"].steps, taken["a"].is_slow) == (3, 40, False)
    assert taken["b"].is_slow
    assert not notes.peek()


def test_slow_runs_are_looked_at_soon_and_the_same_ones_less_and_less_often() -> None:
    notes, clock = build()
    waits = []
    for _ in range(7):
        notes.count("a", SLOW)
        began = clock.now
        while not notes.is_due:
            clock.now += 10.0
        waits.append(clock.now - began)
        notes.take()
    assert waits == [20, 40, 80, 160, 300, 300, 300]
    notes.count("new", SLOW)
    clock.now += 20.0
    assert notes.is_due


def test_fast_runs_wait_for_minutes_and_silence_for_an_hour() -> None:
    notes, clock = build()
    notes.count("a", 100)
    clock.now += 299.0
    assert not notes.is_due
    clock.now += 1.0
    assert notes.is_due
    assert not notes.is_search_due()
    clock.now += 3600.0
    assert notes.is_search_due()


def test_memory_is_bounded() -> None:
    notes, _ = build()
    notes.count("x" * 20_000, SLOW)
    assert not notes.peek()
    for number in range(2000):
        notes.count(f"text {number}", SLOW)
    assert len(notes.peek()) == 256
    for _ in range(10):
        notes.take()
        for number in range(2000):
            notes.count(f"text {number} {_}", 1)
    assert len(notes._known) < 2000
