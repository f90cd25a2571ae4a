"""The distinct texts of one column, each with a code by which rows name it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from twinframe_columns.kinds import Bools, Bytes, Codes, Floats, Integers


class Strings:
    """Texts by code: those of the file in the order of code points, then those added since.

    `offsets` has one entry more than there are texts in the file, `blob` their UTF-8 in a row.
    """

    def __init__(self, offsets: Integers, blob: Bytes) -> None:
        self._offsets = offsets
        self._blob = blob
        self._filed = len(offsets) - 1
        self._added: list[str] = []
        self._codes: dict[str, int] = {}
        self._ranks: Floats | None = None
        self.derived: dict[str, tuple[int, Any]] = {}
        """What was found out about all texts, by name, with their number at that time."""

    def __len__(self) -> int:
        return self._filed + len(self._added)

    def read_arrays(self) -> tuple[Integers, Bytes]:
        """Return the offsets and the UTF-8 of the texts of the file."""
        return self._offsets, self._blob

    def read_added(self) -> Sequence[str]:
        """Return the texts that were added, in the order of their codes."""
        return self._added

    @property
    def added(self) -> int:
        """How many texts were added since the file was made."""
        return len(self._added)

    @property
    def is_ordered(self) -> bool:
        """Whether the order of codes is that of the texts."""
        return not self._added

    def read(self, code: int) -> str:
        """Return the text of a code."""
        if code >= self._filed:
            return self._added[code - self._filed]
        return self._read_bytes(code).decode("utf-8", "surrogatepass")

    def read_all(self, codes: Codes | Integers) -> list[str]:
        """Return the texts of these codes."""
        if len(codes) and int(codes.max()) >= self._filed:
            return [self.read(code) for code in codes.tolist()]
        starts, ends = self._offsets[codes].tolist(), self._offsets[codes + 1].tolist()
        # PERF: half the time of `read` for each.
        blob = memoryview(self._blob)  # type: ignore[arg-type]  # an array is a buffer
        return [
            str(blob[start:end], "utf-8", "surrogatepass")
            for start, end in zip(starts, ends, strict=True)
        ]

    def find(self, text: str) -> int:
        """Return the code of a text, -1 if no row ever had it."""
        if self._added:
            found = self._codes.get(text)
            if found is not None:
                return found
        wanted = encode(text)
        at = self._find_place(wanted)
        return at if at < self._filed and self._read_bytes(at) == wanted else -1

    def find_or_add(self, text: str) -> int:
        """Return the code of a text, which is added if it is new."""
        found = self.find(text)
        if found < 0:
            found = len(self)
            self._added.append(text)
            self._codes[text] = found
            self._ranks = None
        return found

    def rank(self, codes: Codes) -> Floats | Codes:
        """Return numbers whose order is that of the texts."""
        if not self._added:
            return codes
        if self._ranks is None:
            self._ranks = self._build_ranks()
        return self._ranks[codes]

    def rank_text(self, text: str) -> tuple[float, bool]:
        """Return where a text stands among the ranks, and whether it is one of the texts.

        A text that is none of them stands between its neighbours.
        """
        code = self._codes.get(text, -1)
        wanted = encode(text)
        place = self._find_place(wanted) if code < 0 else 0
        if code < 0 and place < self._filed and self._read_bytes(place) == wanted:
            code = place
        if code >= 0:
            return float(self.rank(np.array([code], np.int32))[0]), True
        less = sum(one < text for one in self._added)
        return place - 1 + (less + 0.5) / (len(self._added) + 1), False

    def test_prefix(self, text: str) -> tuple[int, int, list[int]]:
        """Return the codes of the texts that start with `text`: a range of the file's, and added
        ones.
        """
        wanted = encode(text)
        low = self._find_place(wanted)
        high = self._filed if not wanted else self._find_place(_find_next(wanted), low)
        added = [self._filed + at for at, one in enumerate(self._added) if one.startswith(text)]
        return low, high, added

    def test_containing(self, text: str) -> Bools:
        """Return for each code whether its text contains `text`."""
        wanted = encode(text)
        found = np.zeros(len(self), np.bool_)
        if not wanted:
            found[:] = True
            return found
        starts = self._find_occurrences(wanted)
        owners = np.searchsorted(self._offsets, starts, "right") - 1
        is_whole = starts + len(wanted) <= self._offsets[owners + 1]
        found[owners[is_whole]] = True
        self._test_added(found, lambda one: text in one)
        return found

    def test_suffix(self, text: str) -> Bools:
        """Return for each code whether its text ends with `text`."""
        wanted = np.frombuffer(encode(text), np.uint8)
        found = np.zeros(len(self), np.bool_)
        ends = self._offsets[1:]
        rest = np.flatnonzero(ends - self._offsets[:-1] >= len(wanted))
        for back, byte in enumerate(reversed(wanted.tolist()), 1):
            rest = rest[self._blob[ends[rest] - back] == byte]
        found[rest] = True
        self._test_added(found, lambda one: one.endswith(text))
        return found

    def _test_added(self, found: Bools, holds: Callable[[str], bool]) -> None:
        for at, one in enumerate(self._added, self._filed):
            found[at] = holds(one)

    def _find_occurrences(self, wanted: bytes) -> Integers:
        """Return the places in the blob at which these bytes begin."""
        blob, size = self._blob, len(wanted)
        count = len(blob) - size + 1
        if count <= 0:
            return np.empty(0, np.int64)
        # PERF: the last byte differs most among texts like «Room 17».
        starts = np.flatnonzero(blob[size - 1 : size - 1 + count] == wanted[-1])
        for at in range(size - 1):
            starts = starts[blob[starts + at] == wanted[at]]
        return starts

    def _read_bytes(self, code: int) -> bytes:
        return self._blob[self._offsets[code] : self._offsets[code + 1]].tobytes()

    def _find_place(self, wanted: bytes, low: int = 0) -> int:
        """Return how many texts of the file are less."""
        # PERF: views are read in a third of the time of arrays.
        blob = memoryview(self._blob)  # type: ignore[arg-type]  # an array is a buffer
        offsets = memoryview(self._offsets)  # type: ignore[arg-type]  # as above

        def read(code: int) -> bytes:
            return bytes(blob[offsets[code] : offsets[code + 1]])

        return bisect_left(range(self._filed), wanted, lo=low, key=read)

    def _build_ranks(self) -> Floats:
        count = len(self._added)
        ranks = np.arange(len(self), dtype=np.float64)
        for at, (text, code) in enumerate(sorted((one, self._codes[one]) for one in self._added)):
            ranks[code] = self._find_place(encode(text)) - 1 + (at + 1) / (count + 1)
        return ranks


def encode(text: str) -> bytes:
    """Return the UTF-8 of a text, in which a query's text may have half a character."""
    return text.encode("utf-8", "surrogatepass")


def _find_next(prefix: bytes) -> bytes:
    """Return the least bytes that are greater than all that start with this prefix of UTF-8."""
    # NOTE: no byte of UTF-8 is 255.
    return prefix[:-1] + bytes([prefix[-1] + 1])


def build_strings(texts: Sequence[bytes]) -> Strings:
    """Build from distinct UTF-8 texts in ascending order."""
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(one) for one in texts], out=offsets[1:])
    return Strings(offsets, np.frombuffer(b"".join(texts), np.uint8))


def sort_texts(texts: Sequence[str]) -> tuple[Strings, Codes]:
    """Return distinct texts in order, and the new code of each."""
    # NOTE: UTF-8 keeps the order of code points.
    ordered = sorted((encode(text), code) for code, text in enumerate(texts))
    ranks = np.empty(len(ordered), np.int32)
    ranks[[code for _, code in ordered]] = np.arange(len(ordered), dtype=np.int32)
    return build_strings([text for text, _ in ordered]), ranks
