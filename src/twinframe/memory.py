"""The account of memory of a worker: what its work holds by part, and who is refused when full.

It counts what it is told: whoever holds much memory for a client takes it here first. What nobody
can tell beforehand, as the values on the way through a query, is bounded by a look at the process.
It allocates nothing itself.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

from twinframe.errors import MemoryExhausted, MemoryLimitExceeded
from twinframe.footprint import Footprint

DEFAULT_BYTES: Final = 288 * 1024 * 1024
"""What an account holds where nobody says: a worker's share of the default `Memory__Bytes`."""


class Part(StrEnum):
    """What memory is held for. Each part has a limit of its own, and all have one together."""

    REQUESTS = "requests"
    """Bodies on their way in, and what is parsed of them."""
    WRITES = "writes"
    """Documents and patches that are worked on."""
    QUERIES = "queries"
    """Values that queries compute, compiled patterns, rows that are collected."""
    ANSWERS = "answers"
    """Answers that are made, or that clients have not taken yet."""
    IMPORTS = "imports"
    """Sections of models, spools of imports and exports."""

    @property
    def setting(self) -> str:
        """The setting with its share."""
        return f"Memory__{self.value.title()}"


class MemoryAccount:
    """What a worker may hold: `total` bytes in all, and of each part as many as `limits` say.

    A part without a limit of its own may have all. It may be used from any thread.

    PERF: taking and giving back costs 0.3 us each. Who works on small things takes nothing for
    them.
    """

    __slots__ = ("_footprint", "_held", "_limits", "_lock", "_refusals", "_total", "_used")

    def __init__(
        self,
        total: int = DEFAULT_BYTES,
        limits: Mapping[Part, int] | None = None,
        footprint: Footprint | None = None,
    ) -> None:
        """`footprint` is the process, None where nobody looks at it."""
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
        """How often it was asked for what it did not have."""
        return self._refusals

    def read_limit(self, part: Part) -> int:
        """The most bytes of a part."""
        return self._limits[part]

    def read_held(self, part: Part) -> int:
        """Bytes that a part holds now."""
        return self._held[part]

    def take(self, part: Part, size: int, own: int = 0) -> None:
        """Hold `size` more bytes for a part; `own` is what the same work holds of it already.

        Raises `MemoryExhausted` when others hold too much now, and `MemoryLimitExceeded` when this
        work alone would be too large. Then nothing is taken.
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
        """Hold `size` bytes less for a part."""
        with self._lock:
            self._held[part] -= size
            self._used -= size

    def look(self, part: Part = Part.QUERIES) -> None:
        """`MemoryExhausted` when the process has more memory than it may, counted here or not.

        PERF: 15 us; look where some MiB were built or read since the last time.
        """
        if self._footprint is not None and self._footprint.is_over():
            with self._lock:
                self._refusals += 1
            raise MemoryExhausted(part.value, "Memory__Bytes")

    def has_room(self, part: Part, size: int) -> bool:
        """Whether `take` would succeed now."""
        fits = self._held[part] + size <= self._limits[part]
        return fits and self._used + size <= self._total

    def hold(self, part: Part, size: int = 0, beside: int = 0) -> Hold:
        """What a piece of work holds of a part; a context that gives all of it back at its end.

        `beside` is what the same work holds of the part elsewhere. Raises as `take` does.
        """
        return Hold(self, part, size, beside)


class Hold:
    """The bytes of one piece of work; they grow, and are given back together."""

    __slots__ = ("_account", "_beside", "_part", "size")

    def __init__(self, account: MemoryAccount, part: Part, size: int, beside: int = 0) -> None:
        self._account = account
        self._beside = beside
        self._part = part
        self.size = 0
        if size:
            self.grow(size)

    def grow(self, size: int) -> None:
        """Hold `size` bytes more. Raises as `MemoryAccount.take` does; then it holds as before."""
        self._account.take(self._part, size, self.size + self._beside)
        self.size += size

    def shrink(self, size: int) -> None:
        """Give `size` bytes back, at most what it holds."""
        size = min(size, self.size)
        self.size -= size
        self._account.give_back(self._part, size)

    def release(self) -> None:
        """Give all of it back. It may be called again."""
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
