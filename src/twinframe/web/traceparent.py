"""The `traceparent` header of a request: the trace it belongs to. It makes no spans."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

NAME: Final = b"traceparent"

# SPEC: W3C Trace Context section 3.2.2; version ff and all-zero ids are invalid. A version above 00
# may have more fields behind these; of its flags only `sampled` is known.
_FORM: Final = re.compile(
    rb"(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_SAMPLED: Final = 1


class TraceParent(NamedTuple):
    """A valid header: `text` is what to send on, of version 00."""

    trace_id: bytes
    text: str


def parse_traceparent(value: bytes) -> TraceParent | None:
    """The trace context of a header's value, or None where it is not well formed."""
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
    """The trace context of a request; None without one, and where the header came twice."""
    values = [value for name, value in headers if name == NAME]
    return parse_traceparent(values[0]) if len(values) == 1 else None
