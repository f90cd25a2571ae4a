"""Ending what runs in this thread at its deadline, wherever it is. It ends no call into C."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Final

from twinframe_storage_rdf.endpoint.writing import build_late_answer

_AGAIN: Final = 1.0
"""Seconds after which it is tried once more: rdflib takes some errors, of any kind, for false."""


class _Ended(BaseException):
    """Raised in the thread; no `except Exception` takes it for an error of its own."""


def run_until(deadline: float, work: Callable[[], None]) -> None:
    """Run what ends with `QueryTimeout` at the `time.monotonic()` moment, if not before.

    For code in Python alone that has no other way to be stopped, and that changes nothing.
    """
    thread = threading.get_ident()
    guard = threading.Lock()
    is_over = threading.Event()

    def watch() -> None:
        wait = deadline - time.monotonic()
        while not is_over.wait(max(0.0, wait)):
            with guard:
                if not is_over.is_set():
                    _raise(thread, _Ended)
            wait = _AGAIN

    def settle() -> None:
        with guard:  # from here on none is sent; one that was and did not come is taken back
            is_over.set()
            _raise(thread, None)

    try:
        try:
            threading.Thread(target=watch, name="twinframe-alarm", daemon=True).start()
            work()
        finally:
            settle()
    except _Ended:
        settle()  # it may have come into the first
        raise build_late_answer() from None


def _raise(thread: int, error: type[BaseException] | None) -> None:
    """SPEC: CPython C API, PyThreadState_SetAsyncExc: at a next bytecode; None takes it back."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
