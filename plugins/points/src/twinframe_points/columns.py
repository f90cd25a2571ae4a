"""Points as columns in memory, and their compressed form."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import orjson

from twinframe.errors import StorageDamaged
from twinframe.storage.points import PointValue

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Kinds = npt.NDArray[np.uint8]

NUMBER: Final = 0
BOOLEAN: Final = 1
TEXT: Final = 2

_HEAD: Final = struct.Struct("<BBIII")
"""The version, which columns there are, the number of points, the bytes of the texts, and a CRC
of these and of the descriptions of the columns; what is compressed has a checksum of its own.
"""
_COLUMN: Final = struct.Struct("<BbqqQ")
"""The width in bytes, the decimals, the first value, the usual step, and the divisor."""
_VERSION: Final = 2
_RAW: Final = -1
"""In place of the decimals: the bits of the numbers themselves."""
_LEVEL: Final = 1
"""PERF: higher levels find nothing more in noise, and take longer."""
_MOST_DECIMALS: Final = 6
_EXACT: Final = 2.0**53
_WIDTH: Final = 8


@dataclass(frozen=True, slots=True)
class Columns:
    """Points, one a row. `times` are microseconds since 1970.

    `numbers` hold numbers, 0 or 1 for booleans, and positions in `texts` for texts.
    """

    series: Integers
    times: Integers
    kinds: Kinds
    numbers: Floats
    texts: tuple[str, ...]

    def take(self, rows: Integers | npt.NDArray[np.bool_] | slice) -> Columns:
        """Return these rows."""
        return Columns(
            self.series[rows], self.times[rows], self.kinds[rows], self.numbers[rows], self.texts
        )

    def take_values(self, rows: Integers) -> list[PointValue | None]:
        """Return the values of these rows."""
        return build_values(self.kinds[rows], self.numbers[rows], self.texts)


def build_values(kinds: Kinds, numbers: Floats, texts: Sequence[str]) -> list[PointValue | None]:
    """Build values of their columns."""
    found: list[PointValue | None] = numbers.tolist()
    if not kinds.any():
        return found
    for row, kind in enumerate(kinds.tolist()):
        if kind == BOOLEAN:
            found[row] = bool(numbers[row])
        elif kind == TEXT:
            found[row] = texts[int(numbers[row])]
    return found


def build_columns(
    series: Sequence[int], times: Sequence[int], values: Sequence[PointValue]
) -> Columns:
    """Build columns of points in any order."""
    types = set(map(type, values))
    texts: dict[str, int] = {}
    if types <= {float, int}:
        kinds = np.zeros(len(values), np.uint8)
        numbers = np.array(values, np.float64)
    else:
        kinds = np.array([_KINDS.get(type(value), NUMBER) for value in values], np.uint8)
        numbers = np.array(
            [
                texts.setdefault(value, len(texts)) if isinstance(value, str) else float(value)
                for value in values
            ],
            np.float64,
        )
    ids, moments = np.array(series, np.int64), np.array(times, np.int64)
    return Columns(ids, moments, kinds, numbers, tuple(texts))


_KINDS: Final[dict[type, int]] = {bool: BOOLEAN, str: TEXT}

EMPTY: Final = build_columns((), (), ())


def merge_columns(parts: Sequence[Columns]) -> Columns:
    """Return all points by series and time, each (series, time) once: the last one given.

    Several parts are each in that order; a single one may be in any.
    """
    if not parts:
        return EMPTY
    joined = _join(parts)
    # PERF: most series have one block a day, and what is read is in order.
    is_apart = len(parts) > 1 and all(
        one.series[-1] < other.series[0] for one, other in pairwise(parts)
    )
    if is_apart or is_ordered(joined):
        return joined
    found = joined.take(np.lexsort((joined.times, joined.series)))  # it keeps the order of equals
    is_last = np.ones(len(found.times), np.bool_)
    is_last[:-1] = (np.diff(found.series) != 0) | (np.diff(found.times) != 0)
    return found if is_last.all() else found.take(is_last)


def is_ordered(columns: Columns) -> bool:
    """Return whether the points are by series and time, each once."""
    steps = np.diff(columns.series)
    return bool(((steps > 0) | ((steps == 0) & (np.diff(columns.times) > 0))).all())


def _join(parts: Sequence[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    numbers = [part.numbers for part in parts]
    texts: dict[str, int] = {}
    if any(part.texts for part in parts):
        numbers = [_renumber(part, texts) for part in parts]
    return Columns(
        np.concatenate([part.series for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.kinds for part in parts]),
        np.concatenate(numbers),
        tuple(texts),
    )


def _renumber(part: Columns, texts: dict[str, int]) -> Floats:
    if not part.texts:
        return part.numbers
    codes = [texts.setdefault(text, len(texts)) for text in part.texts]
    numbers, rows = part.numbers.copy(), part.kinds == TEXT
    numbers[rows] = np.array(codes, np.float64)[numbers[rows].astype(np.int64)]
    return numbers


# --- the compressed form --------------------------------------------------------------------------


def pack_columns(columns: Columns, *, with_series: bool = False) -> bytes:
    """Return the compressed form of at least one point, without the series unless asked for.

    Each column is the differences of its values from the usual step, as bytes of equal rank side
    by side: deflate then takes little more than the entropy of each.
    """
    texts = b""
    if columns.texts:
        columns, texts = _trim(columns)
    with_kinds = bool(columns.kinds.any())
    parts = [_pack_integers(columns.times, 0), _pack_numbers(columns.numbers)]
    if with_kinds:
        parts.append(_pack_integers(columns.kinds.astype(np.int64), 0))
    if with_series:
        parts.append(_pack_integers(columns.series, 0))
    flags = _WITH_KINDS * with_kinds | _WITH_SERIES * with_series
    head = (_VERSION, flags, len(columns.times), len(texts))
    described = b"".join(described for described, _ in parts)
    packed = zlib.compressobj(_LEVEL)
    pieces = [_HEAD.pack(*head, _sum(*head, described)), described]
    for plane in (plane for _, planes in parts for plane in planes):
        # PERF: each plane gets a code of its own, which takes a tenth less than one for all.
        pieces += (packed.compress(plane), packed.flush(zlib.Z_SYNC_FLUSH))
    return b"".join((*pieces, packed.compress(texts), packed.flush()))


def unpack_columns(body: bytes, series: int = 0) -> Columns:
    """Return the points of a compressed form; they are of `series` if it names none.

    Raises `StorageDamaged`.
    """
    try:
        version, flags, count, text_bytes, crc = _HEAD.unpack_from(body)
        if version != _VERSION:
            raise StorageDamaged(f"A block of points has the unknown version {version}.")
        end = _HEAD.size + (2 + flags.bit_count()) * _COLUMN.size
        described = body[_HEAD.size : end]
        if crc != _sum(version, flags, count, text_bytes, described):
            raise StorageDamaged("A block of points is damaged: its head is not what it was.")
        heads = list(_COLUMN.iter_unpack(described))
        raw = zlib.decompress(memoryview(body)[end:])
        found = []
        start = 0
        for head in heads:
            found.append(_unpack(raw, start, count, head))
            start += head[0] * count
        texts = tuple(orjson.loads(raw[start:])) if text_bytes else ()
    except (struct.error, zlib.error, ValueError) as error:
        raise StorageDamaged(f"A block of points is damaged: {error}.") from error
    times, numbers, *others = found
    ids = others.pop() if flags & _WITH_SERIES else np.full(count, series, np.int64)
    kinds = others.pop().astype(np.uint8) if others else np.zeros(count, np.uint8)
    decimals = heads[1][1]
    floats = numbers.view(np.float64) if decimals == _RAW else numbers / _SCALES[decimals]
    return Columns(ids, times, kinds, floats, texts)


def _sum(version: int, flags: int, count: int, text_bytes: int, described: bytes) -> int:
    return zlib.crc32(described, zlib.crc32(_HEAD.pack(version, flags, count, text_bytes, 0)))


_WITH_KINDS: Final = 1
_WITH_SERIES: Final = 2
_SCALES: Final = [10.0**decimals for decimals in range(_MOST_DECIMALS + 1)]


def _trim(columns: Columns) -> tuple[Columns, bytes]:
    """Return the columns with the texts that they use, and those as JSON."""
    rows = columns.kinds == TEXT
    used, codes = np.unique(columns.numbers[rows].astype(np.int64), return_inverse=True)
    texts = tuple(columns.texts[code] for code in used.tolist())
    numbers = columns.numbers.copy()
    numbers[rows] = codes
    trimmed = Columns(columns.series, columns.times, columns.kinds, numbers, texts)
    return trimmed, orjson.dumps(texts) if texts else b""


def _pack_numbers(numbers: Floats) -> tuple[bytes, list[bytes]]:
    bits = numbers.view(np.int64)
    for decimals, scale in enumerate(_SCALES):
        with np.errstate(over="ignore"):
            scaled = numbers * scale
        if not (np.abs(scaled) < _EXACT).all():
            break
        whole = np.rint(scaled)
        # NOTE: compared by their bits: -0.0 is not 0.0.
        if ((whole.astype(np.int64) / scale).view(np.int64) == bits).all():
            return _pack_integers(whole.astype(np.int64), decimals)
    shifted = bits.copy()
    shifted[1:] ^= bits[:-1]
    return _COLUMN.pack(_WIDTH, _RAW, 0, 0, 1), _split_planes(shifted.view(np.uint64), _WIDTH)


def _pack_integers(values: Integers, decimals: int) -> tuple[bytes, list[bytes]]:
    first = int(values[0])
    if len(values) == 1 or not (values != first).any():
        return _COLUMN.pack(0, decimals, first, 0, 1), []
    steps = np.diff(values)
    divisor = int(np.gcd.reduce(steps)) or 1
    steps //= divisor
    usual = int(np.sort(steps)[len(steps) // 2])
    steps -= usual
    folded = np.zeros(len(values), np.uint64)
    folded[1:] = ((steps << 1) ^ (steps >> 63)).view(np.uint64)
    width = (int(folded.max()).bit_length() + 7) // 8
    return _COLUMN.pack(width, decimals, first, usual, divisor), _split_planes(folded, width)


def _split_planes(values: npt.NDArray[np.uint64], width: int) -> list[bytes]:
    planes = values.astype("<u8").view(np.uint8).reshape(-1, 8)
    return [planes[:, rank].tobytes() for rank in range(width)]


def _unpack(raw: bytes, start: int, count: int, head: tuple[int, int, int, int, int]) -> Integers:
    width, decimals, first, usual, divisor = head
    if width == 0:
        if not usual:
            return np.full(count, first, np.int64)
        return first + np.arange(count, dtype=np.int64) * (usual * divisor)
    planes = np.frombuffer(raw, np.uint8, width * count, start).reshape(width, count)
    # PERF: plane by plane into wider integers takes a third of the time of a transposed copy.
    folded = planes[0].astype(np.int64)
    for rank in range(1, width):
        folded |= planes[rank].astype(np.int64) << (8 * rank)
    if decimals == _RAW:
        return np.bitwise_xor.accumulate(folded)
    steps = ((folded >> 1) & _POSITIVE) ^ -(folded & 1)
    steps += usual
    if divisor != 1:
        steps *= divisor
    steps[0] = first
    return np.cumsum(steps)


_POSITIVE: Final = 2**63 - 1
