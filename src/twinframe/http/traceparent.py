"""Parser of a request's `traceparent` header, which names the trace it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

NAME: Final = b"traceparent"

# SPEC: W3C Trace Context section 3.2.2; version ff and all-zero ids are invalid. A version above 00
# may have more fields after these; of its flags only `sampled` is defined.
_FORM: Final = re.compile(
    rb"(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_SAMPLED: Final = 1


class TraceParent(NamedTuple):
    """A valid header: `text` is the header to send on, in version 00."""

    trace_id: bytes
    text: str


def parse_traceparent(value: bytes) -> TraceParent | None:
    """Return the trace context of a header's value, or None if it is not well formed."""
    found = _FORM.fullmatch(value)
    if found is None:
        return None
    version, trace_id, parent_id, flags, more = found.groups()
    if version == b"00":
        if more is not None:
            return None
    else:
        flags = b"%02x" % (int(flags, 16) & _SAMPLED)
    return TraceParent(trace_id, (b"00-%b-%b-%b" % (trace_id, parent_id, flags)).decode("ascii"))


def find_traceparent(headers: Iterable[tuple[bytes, bytes]]) -> TraceParent | None:
    """Return the trace context of a request; None without the header or if it is repeated."""
    values = [value for name, value in headers if name == NAME]
    return parse_traceparent(values[0]) if len(values) == 1 else None
