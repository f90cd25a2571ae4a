"""Converts parameters to texts that only SQLite reads: JSON paths, and bounds of prefixes."""

from __future__ import annotations

import json

from twinframe.model.values import Value
from twinframe.query.engine import CannotRun
from twinframe.query.sql.bindings import SqlValue


def build_path(value: Value) -> SqlValue:
    """The JSON path of the member that the string `value` names."""
    if not isinstance(value, str):
        raise CannotRun("The name of a member that is no string.")
    return "$." + json.dumps(value, ensure_ascii=False)


def build_prefix_end(value: Value) -> SqlValue:
    """Return the least value above every string that starts with the string `value`.

    Strings are ordered by code point; when the last code point has no successor the one before it
    decides. A blob is above every text.
    """
    text = value if isinstance(value, str) else ""
    while text:
        last = ord(text[-1])
        if last < 0x10FFFF:
            return text[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        text = text[:-1]
    return b""
