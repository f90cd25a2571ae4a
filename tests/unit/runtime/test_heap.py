"""Freed memory goes back to the system."""

from __future__ import annotations

import sys

from tests.waiting import run_program

PROGRAM = """
from twinframe.runtime.heap import HeapTrimmer, read_own_memory, set_up_heap

set_up_heap()
heap = HeapTrimmer(16_000_000)
heap.trim()
before = read_own_memory()
pieces = [bytes(10_000) for _ in range(8_000)]
full = read_own_memory()
kept = pieces[::20]  # so that the free pieces are not at the end of the heap
del pieces
assert heap.has_grown()
heap.trim()
assert not heap.has_grown()
print(before, full, read_own_memory(), len(kept))
"""


def test_memory_between_pieces_that_stay_is_given_back() -> None:
    done = run_program([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    before, full, after, _ = map(int, done.stdout.split())
    assert full - before > 70_000_000
    assert after - before < (full - before) / 3
