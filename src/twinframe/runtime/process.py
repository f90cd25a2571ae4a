"""Sets up a process of the service: its end with its parent, its threads and its garbage."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from signal import Signals
from typing import Final

from twinframe.runtime.heap import set_up_heap

_PR_SET_PDEATHSIG: Final = 1
# PERF: the time for which a computing thread keeps the interpreter's lock from the event loop,
# which releases it several times per request: with the default 5 ms the 99th percentile of reads
# during two queries was 65 ms, with 1 ms 21 ms; 0.5 ms is by decision 0040.
_SWITCH_SECONDS: Final = 0.0005
_GARBAGE: Final = (5_000, 20, 50)


def set_up_process(parent: int, ending: Signals) -> None:
    """Make the calling process get the signal `ending` when its parent ends, on Linux.

    It exits if `parent`, the id of the process that started it, is gone. Call it before threads
    start.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, ending)
        if os.getppid() != parent:
            sys.exit(1)  # it was gone before the line above
    set_up_heap()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*_GARBAGE)
