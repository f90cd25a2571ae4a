"""Texts as pieces of one array of UTF-8, in any order and more than once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from twinframe.query.engine import CannotRun
from twinframe_columns.kinds import Bools, Bytes, Codes, Integers
from twinframe_columns.strings import Strings, build_strings, encode

_LARGEST: Final = 256 * 2**20
"""Bytes of a table in which texts are sorted."""

_PACKED: Final = 8
_SPARSE: Final = 8
"""The part of the texts of a column from which they are copied before they are changed."""


class Heap:
    """Text `n` is the `sizes[n]` bytes of `blob` from `starts[n]` on; `starts` is ascending."""

    def __init__(self, starts: Integers, sizes: Integers, blob: Bytes) -> None:
        self.starts = starts
        self.sizes = sizes
        self.blob = blob

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def is_ascii(self) -> bool:
        """Whether a byte is a character."""
        return not len(self.blob) or int(self.blob.max()) < 128

    def read_all(self) -> list[str]:
        """Return the texts."""
        blob = memoryview(self.blob)  # type: ignore[arg-type]  # an array is a buffer
        ends = (self.starts + self.sizes).tolist()
        return [
            str(blob[start:end], "utf-8", "surrogatepass")
            for start, end in zip(self.starts.tolist(), ends, strict=True)
        ]

    def change(self, apply: Callable[[str], str]) -> Heap:
        """Return a function of each text."""
        return build_heap([encode(apply(one)) for one in self.read_all()])

    def lower(self) -> Heap:
        """Return the texts in lower case."""
        if not self.is_ascii:
            return self.change(str.lower)
        return Heap(self.starts, self.sizes, self._swap("A"))

    def upper(self) -> Heap:
        """Return the texts in upper case."""
        if not self.is_ascii:
            return self.change(str.upper)
        return Heap(self.starts, self.sizes, self._swap("a"))

    def _swap(self, first: str) -> Bytes:
        """Return the bytes with the other case of the 26 letters from `first` on.

        PERF: in a tenth of the time of a table of letters. What is below wraps around.
        """
        is_letter = (self.blob - np.uint8(ord(first))) < np.uint8(26)
        return self.blob ^ (is_letter.view(np.uint8) << np.uint8(5))

    def cut(self, first: int, count: int) -> Heap:
        """Return at most `count` characters of each text from `first` on."""
        if not self.is_ascii:
            return self.change(lambda text: text[first : first + count])
        if not first:
            return Heap(self.starts, np.minimum(self.sizes, count), self.blob)
        skipped = np.minimum(self.sizes, first)
        sizes = np.minimum(self.sizes - skipped, count)
        return Heap(self.starts + skipped, sizes, self.blob)

    def cut_right(self, count: int) -> Heap:
        """Return the last `count` characters of each text."""
        if not self.is_ascii:
            return self.change(lambda text: text[max(0, len(text) - count) :])
        sizes = np.minimum(self.sizes, count)
        return Heap(self.starts + (self.sizes - sizes), sizes, self.blob)

    def count_characters(self) -> Integers:
        """Return the number of characters of each text."""
        if self.is_ascii:
            return self.sizes
        before = np.zeros(len(self.blob) + 1, np.int64)
        np.cumsum((self.blob & 0xC0) != 0x80, out=before[1:])
        found: Integers = before[self.starts + self.sizes] - before[self.starts]
        return found

    # --- tests ------------------------------------------------------------------------------------

    def test_prefix(self, text: str) -> Bools:
        """Return which texts start with `text`."""
        return self._test_ends(encode(text), is_end=False)

    def test_suffix(self, text: str) -> Bools:
        """Return which texts end with `text`."""
        return self._test_ends(encode(text), is_end=True)

    def test_equal(self, text: str) -> Bools:
        """Return which texts are `text`."""
        wanted = encode(text)
        return self._test_bytes(wanted, np.flatnonzero(self.sizes == len(wanted)), is_end=False)

    def _test_ends(self, wanted: bytes, *, is_end: bool) -> Bools:
        return self._test_bytes(wanted, np.flatnonzero(self.sizes >= len(wanted)), is_end=is_end)

    def _test_bytes(self, wanted: bytes, rest: Integers, *, is_end: bool) -> Bools:
        """Return which of the texts `rest`, which are long enough, start or end so."""
        found = np.zeros(len(self), np.bool_)
        places = self.starts[rest]
        if is_end:
            places = places + (self.sizes[rest] - len(wanted))
        # PERF: the last byte differs most among texts like «Room 17».
        for at in reversed(range(len(wanted))):
            holds = np.flatnonzero(self.blob[places + at] == wanted[at])
            rest, places = rest[holds], places[holds]
        found[rest] = True
        return found

    def test_containing(self, text: str) -> Bools:
        """Return which texts contain `text`."""
        wanted = encode(text)
        found = np.zeros(len(self), np.bool_)
        if not wanted:
            found[:] = True
            return found
        size = len(wanted)
        count = len(self.blob) - size + 1
        if count <= 0 or not len(self):
            return found
        # PERF: the last byte differs most among texts like «Room 17».
        places = np.flatnonzero(self.blob[size - 1 : size - 1 + count] == wanted[-1])
        for at in range(size - 1):
            places = places[self.blob[places + at] == wanted[at]]
        owners = np.searchsorted(self.starts, places, "right") - 1
        places, owners = places[owners >= 0], owners[owners >= 0]
        is_whole = places + size <= self.starts[owners] + self.sizes[owners]
        found[owners[is_whole]] = True
        # NOTE: empty texts share their start with the next one.
        return found & (self.sizes >= size)

    # --- order ------------------------------------------------------------------------------------

    @cached_property
    def ordered(self) -> tuple[Strings, Codes]:
        """The distinct texts in order, and the code of each text."""
        if not len(self):
            return build_strings([]), np.empty(0, np.int32)
        longest = int(self.sizes.max())
        if longest * len(self) > _LARGEST:
            raise CannotRun("Texts that are too long to be sorted together.")
        if not longest:
            return build_strings([b""]), np.zeros(len(self), np.int32)
        if not self.blob.all():
            return self._sort_one_by_one()  # a zero byte ends what NumPy takes for a text
        keys: npt.NDArray[Any] = (
            self._pack(longest) if longest <= _PACKED else self._tabulate(longest)
        )
        # PERF: the beginnings of texts in order are in order.
        if (keys[1:] >= keys[:-1]).all():
            is_new = np.ones(len(keys), np.bool_)
            np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
            firsts, codes = np.flatnonzero(is_new), np.cumsum(is_new) - 1
        else:
            _, firsts, codes = np.unique(keys, return_index=True, return_inverse=True)
        chosen = self.pick(firsts)
        offsets = np.append(chosen.starts, len(chosen.blob))
        return Strings(offsets, chosen.blob), codes.astype(np.int32)

    def _pack(self, longest: int) -> npt.NDArray[np.uint64]:
        """Return numbers in the order of texts of few bytes."""
        keys = np.zeros(len(self), np.uint64)
        shortest, last = int(self.sizes.min()), len(self.blob) - 1
        for at in range(longest):
            keys <<= np.uint64(8)
            if at < shortest:
                keys |= self.blob[self.starts + at]
            else:
                found = self.blob[np.minimum(self.starts + at, last)]
                keys |= np.where(self.sizes > at, found, np.uint8(0))
        return keys

    def _tabulate(self, longest: int) -> npt.NDArray[np.bytes_]:
        columns = np.arange(longest)
        places = np.minimum(self.starts[:, None] + columns, len(self.blob) - 1)
        table = np.where(columns < self.sizes[:, None], self.blob[places], np.uint8(0))
        return np.ascontiguousarray(table).view(f"S{longest}").ravel()

    def _sort_one_by_one(self) -> tuple[Strings, Codes]:
        blob = self.blob.tobytes()
        ends = (self.starts + self.sizes).tolist()
        texts = [blob[a:b] for a, b in zip(self.starts.tolist(), ends, strict=True)]
        codes = {text: code for code, text in enumerate(sorted(set(texts)))}
        return build_strings(list(codes)), np.array([codes[one] for one in texts], np.int32)

    def pick(self, numbers: Codes | Integers) -> Heap:
        """Return some of the texts. PERF: a copy, so that functions do not change all others."""
        blob = memoryview(self.blob)  # type: ignore[arg-type]  # an array is a buffer
        starts, sizes = self.starts[numbers].tolist(), self.sizes[numbers].tolist()
        pairs = zip(starts, sizes, strict=True)
        return build_heap([bytes(blob[start : start + size]) for start, size in pairs])


def build_heap(texts: Sequence[bytes]) -> Heap:
    """Build from texts in UTF-8."""
    sizes = np.array([len(one) for one in texts], np.int64)
    return Heap(np.cumsum(sizes) - sizes, sizes, np.frombuffer(b"".join(texts), np.uint8))


def join_heaps(one: Heap, first: Codes, other: Heap, second: Codes) -> Heap:
    """Return for each pair of texts the one behind the other."""
    own, others = one.sizes[first], other.sizes[second]
    sizes = own + others
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    if total > _LARGEST:
        raise CannotRun("Texts that are too long to be held together.")
    blob = np.empty(total, np.uint8)
    starts = ends - sizes
    _copy(one, one.starts[first], own, starts, blob)
    _copy(other, other.starts[second], others, starts + own, blob)
    return Heap(starts, sizes, blob)


def _copy(heap: Heap, starts: Integers, sizes: Integers, places: Integers, blob: Bytes) -> None:
    before = np.cumsum(sizes) - sizes
    steps = np.arange(int(sizes.sum()))
    blob[steps + np.repeat(places - before, sizes)] = heap.blob[
        steps + np.repeat(starts - before, sizes)
    ]


def _read_range(strings: Strings, codes: Codes) -> tuple[Heap, Codes]:
    """Return the texts from the first to the last of some codes, and the numbers of these.

    PERF: codes are in the order of the texts, and those of twins of one model are often together.
    """
    offsets, blob = strings.read_arrays()
    low, high = (int(codes.min()), int(codes.max())) if len(codes) else (0, -1)
    if high < len(offsets) - 1:
        offsets = offsets[low : high + 2]
        base = int(offsets[0]) if len(offsets) else 0
        sizes = np.diff(offsets)
        starts = offsets[:-1] - base
        own = blob[base : base + int(sizes.sum())]
        return Heap(starts, sizes, own), codes - np.int32(low)
    more = build_heap([encode(one) for one in strings.read_added()])
    return Heap(
        np.concatenate((offsets[:-1], more.starts + len(blob))),
        np.concatenate((np.diff(offsets), more.sizes)),
        np.concatenate((blob, more.blob)),
    ), codes


def read_heap(strings: Strings, codes: Codes) -> tuple[Heap, Codes]:
    """Return the texts of a column, and the numbers of those with the codes among them."""
    heap, codes = _read_range(strings, codes)
    if len(codes) * _SPARSE < len(heap):
        used, numbers = np.unique(codes, return_inverse=True)
        return heap.pick(used), numbers.astype(np.int32)
    return heap, codes
