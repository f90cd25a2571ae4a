"""Interrupts Python code in this thread at a deadline; a running call into C is not interrupted."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Final

from twinframe_storage_rdf.endpoint.writing import build_late_answer

_AGAIN: Final = 1.0
"""Seconds between attempts: rdflib swallows some errors of any kind and treats them as false."""


class _Ended(BaseException):
    """Raised in the thread; a BaseException, so that `except Exception` does not catch it."""


def run_until(deadline: float, work: Callable[[], None]) -> None:
    """Run `work`; raise `QueryTimeout` at the `time.monotonic()` moment if it has not ended.

    Only for Python code that cannot be stopped in another way and changes nothing.
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
        with guard:  # from here on none is sent; one that was sent but not raised yet is withdrawn
            is_over.set()
            _raise(thread, None)

    try:
        try:
            threading.Thread(target=watch, name="twinframe-alarm", daemon=True).start()
            work()
        finally:
            settle()
    except _Ended:
        settle()  # an error may have come during the first call
        raise build_late_answer() from None


def _raise(thread: int, error: type[BaseException] | None) -> None:
    """SPEC: CPython C API, PyThreadState_SetAsyncExc: raised at a next bytecode; None withdraws
    it.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
