"""Generates unique ids, which are predictable and must not serve as secrets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import getrandbits
from typing import Final

_VERSION: Final = 0x4000_8000_0000_0000_0000  # SPEC: RFC 9562, version 4 and its variant
_FREE: Final = ~(0xF000_C000_0000_0000_0000)


def build_guid() -> str:
    """Build a new random id, such as `0a8f2c51-9f2e-4b6a-8a57-3d1f5e1f9b11`.

    PERF: 1 us; `uuid.uuid4` calls the kernel: 2 to 7 us, a quarter of a write in a batch. NOTE:
    `random` is seeded again in each forked process.
    """
    text = "%032x" % (getrandbits(128) & _FREE | _VERSION)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def iterate_guids() -> Iterator[str]:
    """Yield new ids without end, for many objects at once: 74 random bits of their own, then a
    count.

    PERF: 0.2 us each.
    """
    head = build_guid()[:24]
    for number in count(getrandbits(47)):  # it stays below the 48 bits of the rest
        yield f"{head}{number:012x}"
