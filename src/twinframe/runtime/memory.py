"""The memory account of a worker: what each part holds, and refusals when it is full.

It counts only reservations: a function that holds much memory for a client reserves it here first.
What cannot be known beforehand, such as intermediate values of a query, is bounded by checking the
process.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

from twinframe.errors import MemoryExhausted, MemoryLimitExceeded
from twinframe.runtime.heap import Footprint

DEFAULT_BYTES: Final = 288 * 1024 * 1024
"""The default size of an account: a worker's share of the default `Memory__Bytes`."""


class Part(StrEnum):
    """The purposes of memory. Each part has a limit of its own, and all have one together."""

    REQUESTS = "requests"
    """Incoming request bodies, and their parsed values."""
    WRITES = "writes"
    """Documents and patches being processed."""
    QUERIES = "queries"
    """Values that queries compute, compiled patterns, rows that are collected."""
    ANSWERS = "answers"
    """Answers that are being built, or that clients have not read yet."""
    IMPORTS = "imports"
    """Sections of models, spools of imports and exports."""

    @property
    def setting(self) -> str:
        """The setting with its share."""
        return f"Memory__{self.value.title()}"


class MemoryAccount:
    """What a worker may hold: `total` bytes in all, and of each part as many as `limits` say.

    A part without a limit of its own may use all. Thread-safe. PERF: reserving and releasing costs
    0.3 us each. Small work is not counted.
    """

    __slots__ = ("_footprint", "_held", "_limits", "_lock", "_refusals", "_total", "_used")

    def __init__(
        self,
        total: int = DEFAULT_BYTES,
        limits: Mapping[Part, int] | None = None,
        footprint: Footprint | None = None,
    ) -> None:
        """`footprint` is that of the process, None if it is not checked."""
        given = limits or {}
        self._total = total
        self._footprint = footprint
        self._limits = {part: min(total, given.get(part, total)) for part in Part}
        self._held = dict.fromkeys(Part, 0)
        self._used = 0
        self._refusals = 0
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        """The most bytes of all parts."""
        return self._total

    @property
    def used(self) -> int:
        """Bytes that all parts hold now."""
        return self._used

    @property
    def refusals(self) -> int:
        """The number of refused reservations."""
        return self._refusals

    def read_limit(self, part: Part) -> int:
        """The most bytes of a part."""
        return self._limits[part]

    def read_held(self, part: Part) -> int:
        """Bytes that a part holds now."""
        return self._held[part]

    def take(self, part: Part, size: int, own: int = 0) -> None:
        """Reserve `size` more bytes for a part; `own` is what the same work holds of it already.

        Raises `MemoryExhausted` when others hold too much now, and `MemoryLimitExceeded` when this
        work alone would be too large. Then nothing is reserved.
        """
        with self._lock:
            held = self._held[part] + size
            used = self._used + size
            if held <= self._limits[part] and used <= self._total:
                self._held[part] = held
                self._used = used
                return
            self._refusals += 1
            limit = self._limits[part]
        if own + size > limit:
            raise MemoryLimitExceeded(part.value, part.setting, limit)
        raise MemoryExhausted(part.value, part.setting if held > limit else "Memory__Bytes")

    def give_back(self, part: Part, size: int) -> None:
        """Release `size` bytes of a part."""
        with self._lock:
            self._held[part] -= size
            self._used -= size

    def look(self, part: Part = Part.QUERIES) -> None:
        """Raise `MemoryExhausted` when the process exceeds its memory, counted here or not.

        PERF: 15 us; call it where some MiB were built or read since the last time.
        """
        if self._footprint is not None and self._footprint.is_over():
            with self._lock:
                self._refusals += 1
            raise MemoryExhausted(part.value, "Memory__Bytes")

    def has_room(self, part: Part, size: int) -> bool:
        """Return whether `take` would succeed now."""
        fits = self._held[part] + size <= self._limits[part]
        return fits and self._used + size <= self._total

    def hold(self, part: Part, size: int = 0, beside: int = 0) -> Hold:
        """Return a context for memory in a part, which releases all of it at its end.

        `beside` is the memory of the part that the same work holds elsewhere. Raises as `take`.
        """
        return Hold(self, part, size, beside)


class Hold:
    """The bytes of one piece of work; they grow, and are released together."""

    __slots__ = ("_account", "_beside", "_part", "size")

    def __init__(self, account: MemoryAccount, part: Part, size: int, beside: int = 0) -> None:
        self._account = account
        self._beside = beside
        self._part = part
        self.size = 0
        if size:
            self.grow(size)

    def grow(self, size: int) -> None:
        """Reserve `size` bytes more.

        Raises as `MemoryAccount.take` does; then it holds as before.
        """
        self._account.take(self._part, size, self.size + self._beside)
        self.size += size

    def shrink(self, size: int) -> None:
        """Release `size` bytes, at most what it holds."""
        size = min(size, self.size)
        self.size -= size
        self._account.give_back(self._part, size)

    def release(self) -> None:
        """Release all of it. It may be called again."""
        size, self.size = self.size, 0
        if size:
            self._account.give_back(self._part, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.release()
