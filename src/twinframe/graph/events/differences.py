"""Renders an earlier document as its difference to the later one and to the notes beside it.

A difference is text in UTF-8 without line ends, in one of three forms:

* `=` and the earlier document itself;
* a JSON array that begins with `[`: etag and time of the earlier document, with which the later one
  is almost the same; then, for the contents and for the metadata after them, the numbers of bytes
  at the beginning and at the end that both have, and the text between these;
* `#` and a JSON array: texts, and parts of the notes and the later document together.

Texts of an array stand for bytes, one character each. One in place of which there is a pair of
numbers, start and length, is found in the notes.
"""

from __future__ import annotations

from random import getrandbits
from typing import Final

import orjson

_WHOLE: Final = b"="
_PARTS: Final = b"#"

_WHOLE_BITS: Final = 3
_LEAST_BITS: Final = 8
_MOST_BITS: Final = 7
"""One difference in 2 ** 3 is a whole document, one in 2 ** 7 of a document of 16 KiB, so that few
are needed to build an earlier state of a twin that changes often.

PERF: a document of 500 bytes behind 1,000 later changes takes 45 us, with one in 2 ** 4 twice as
long. The row of a change grows by a tenth.
"""

_ETAG: Final = b'"$etag":"'
_TOUCHED: Final = b'"$lastUpdateTime":"'
_METADATA: Final = b',"$metadata":'

_MUCH: Final = 1024
"""Bytes of texts beyond which the parts that both have are searched for."""
_IN_NOTES: Final = 32
"""A text of this length is searched for in the notes, which have old values."""

_BLOCK: Final = 256
_NEAR: Final = 16 * 1024
_MOST_SEARCHES: Final = 16
"""Searches of the whole source for a block; then a block is only searched near its last position.
"""


def render_difference(before: bytes, after: bytes, notes: bytes = b"") -> bytes:
    """Render the difference from which `read_difference` returns `before`.

    PERF: 4 us for a twin of 600 bytes, of which it takes some 110. A compressor with a dictionary
    takes as long, and gives the interpreter lock away meanwhile.
    """
    bits = len(before).bit_length() - _LEAST_BITS
    if not getrandbits(min(max(bits, _WHOLE_BITS), _MOST_BITS)):
        return _WHOLE + before
    etag, touched = _find_text(before, _ETAG), _find_text(before, _TOUCHED)
    like = _imitate(after, etag, touched)
    found: list[int | str | tuple[int, int]] = [etag.decode("latin-1"), touched.decode("latin-1")]
    at = before.rfind(_METADATA)
    if at >= 0 and before[at:] == like[at:]:  # PERF: nearly all writes replace a few values
        start, end = _measure_ends(before[:at], like[:at])
        text = before[start : at - end]
        if len(text) < _IN_NOTES:
            found += start, end, text.decode("latin-1"), len(before) - at, 0, ""
            return orjson.dumps(found)
    size = 0
    for old, new in zip(_split(before), _split(like), strict=True):
        start, end = _measure_ends(old, new)
        text = old[start : len(old) - end]
        at = notes.find(text) if len(text) >= _IN_NOTES else -1
        if at < 0:
            found += start, end, text.decode("latin-1")
            size += len(text)
        else:
            found += start, end, (at, len(text))
    if size > _MUCH:
        return _PARTS + _render_parts(before, notes + after)
    return orjson.dumps(found)


def is_whole(difference: bytes) -> bool:
    """Return whether it needs no other document."""
    return difference[:1] == _WHOLE


def read_difference(difference: bytes, after: bytes = b"", notes: bytes = b"") -> bytes:
    """Return the earlier document; the others are the same as when it was rendered."""
    if is_whole(difference):
        return difference[1:]
    if difference[:1] == _PARTS:
        return _read_parts(orjson.loads(difference[1:]), notes + after)
    etag, touched, *ends = orjson.loads(difference)
    like = _imitate(after, etag.encode("latin-1"), touched.encode("latin-1"))
    found: list[bytes] = []
    for new, (start, end, item) in zip(_split(like), (ends[:3], ends[3:]), strict=True):
        is_text = isinstance(item, str)
        text = item.encode("latin-1") if is_text else notes[item[0] : item[0] + item[1]]
        found += new[:start], text, new[len(new) - end :]
    return b"".join(found)


def _imitate(after: bytes, etag: bytes, touched: bytes) -> bytes:
    """Return the document with the etag and the time of the earlier one.

    A twin that was put has the time of each property; those of a patch go back together.
    """
    if etag and (new := _find_text(after, _ETAG)):
        after = after.replace(new, etag)
    if touched and (new := _find_text(after, _TOUCHED)):
        after = after.replace(new, touched)
    return after


def _find_text(document: bytes, name: bytes) -> bytes:
    """Return the text after the last member of this name, as it is spelled; or an empty one."""
    start = document.rfind(name)
    if start < 0:
        return b""
    start += len(name)
    return document[start : document.find(b'"', start + 4)]


def _split(document: bytes) -> tuple[bytes, bytes]:
    """Return contents and metadata of a twin; a relationship has only contents."""
    at = document.rfind(_METADATA)
    return (document, b"") if at < 0 else (document[:at], document[at:])


def _measure_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """Return how many bytes at the beginning and at the end are the same, without overlap.

    PERF: as numbers two texts of a kilobyte are compared in 1 us.
    """
    size, other = len(old), len(new)
    if old == new:
        return size, 0
    if size == other:
        number = int.from_bytes(old) ^ int.from_bytes(new)
        last = ((number & -number).bit_length() - 1) // 8
        return size - (number.bit_length() + 7) // 8, last
    least = min(size, other)
    number = int.from_bytes(old[:least]) ^ int.from_bytes(new[:least])
    start = least - (number.bit_length() + 7) // 8
    rest = least - start
    if not rest:
        return start, 0
    number = int.from_bytes(old[size - rest :]) ^ int.from_bytes(new[other - rest :])
    return start, ((number & -number).bit_length() - 1) // 8 if number else rest


def _render_parts(before: bytes, source: bytes) -> bytes:
    """Render the texts, the numbers of their bytes, and (start, length) of parts of the source."""
    parts: list[list[int] | str] = []
    texts: list[bytes] = []
    searches = _MOST_SEARCHES
    at, expected = 0, max(len(source) - len(before), 0)
    while at < len(before):
        block = before[at : at + _BLOCK]
        start = expected
        if not source.startswith(block, expected):
            start = source.find(block, max(expected - _NEAR, 0), expected + _NEAR)
            if start < 0 and searches:
                searches -= 1
                start = source.find(block)
        if start >= 0:
            length = _measure_common(before, at, source, start)
            if texts:
                parts.append(b"".join(texts).decode("latin-1"))
                texts.clear()
            parts.append([start, length])
            at, expected = at + length, start + length
        else:
            texts.append(block)
            at, expected = at + len(block), expected + len(block)
    if texts:
        parts.append(b"".join(texts).decode("latin-1"))
    return orjson.dumps(parts)


def _measure_common(one: bytes, at: int, other: bytes, start: int) -> int:
    """Return how many bytes from these positions on are equal, to the last few."""
    most = min(len(one) - at, len(other) - start)
    length, step, grows = 0, _BLOCK, True
    while step >= 16 and length < most:
        size = min(step, most - length)
        first, second = at + length, start + length
        if one[first : first + size] == other[second : second + size]:
            length += size
            step = 2 * step if grows else step // 2
        else:
            grows = False
            step //= 2
    return length


def _read_parts(parts: list[list[int] | str], source: bytes) -> bytes:
    return b"".join(
        part.encode("latin-1") if isinstance(part, str) else source[part[0] : part[0] + part[1]]
        for part in parts
    )
