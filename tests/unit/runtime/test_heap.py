"""Freed memory goes back to the system."""

from __future__ import annotations

import sys

from tests.waiting import run_program

PROGRAM = """
from twinframe.runtime.heap import HeapTrimmer, read_own_memory, set_up_heap

set_up_heap()
heap = HeapTrimmer(16_000_000)
before = read_own_memory()
pieces = [bytes(10_000) for _ in range(8_000)]
full = read_own_memory()
LOOK
kept = pieces[::20]  # so that the free pieces are not at the end of the heap
del pieces
assert heap.is_due()
heap.trim()
assert not heap.is_due()
print(before, full, read_own_memory(), len(kept))
"""


def measure(look: str) -> tuple[int, int, int]:
    """Bytes before, with all pieces, and after most of them were freed; `look` is run at most."""
    program = PROGRAM.replace("LOOK", look)
    done = run_program([sys.executable, "-c", program], capture_output=True, check=True)
    before, full, after, _ = map(int, done.stdout.split())
    return before, full, after


def test_memory_between_pieces_that_stay_is_given_back() -> None:
    before, full, after = measure("")
    assert full - before > 70_000_000
    assert after - before < (full - before) / 3


def test_memory_is_given_back_after_a_peak_at_which_some_was_returned() -> None:
    before, full, after = measure("heap.trim()")
    assert full - before > 70_000_000
    assert after - before < (full - before) / 3


def test_memory_in_use_is_not_looked_through_for_what_is_free() -> None:
    measure("assert not heap.is_due()")


REUSE = """
import resource
from twinframe.runtime.heap import keep_blocks, set_up_heap

set_up_heap()
KEEP
bytearray(1_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(200):
    bytearray(1_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def count_faults(keep: str) -> int:
    """Pages that the system had to clear for 200 blocks, one after the other."""
    program = REUSE.replace("KEEP", keep)
    return int(run_program([sys.executable, "-c", program], capture_output=True, check=True).stdout)


def test_blocks_that_are_kept_are_used_again() -> None:
    assert count_faults("") > 200 * 100
    assert count_faults("keep_blocks(2_000_000)") < 1_000


def test_keeping_smaller_blocks_changes_nothing() -> None:
    assert count_faults("keep_blocks(2_000_000); keep_blocks(300_000)") < 1_000
    assert count_faults("keep_blocks(10_000)") > 200 * 100
