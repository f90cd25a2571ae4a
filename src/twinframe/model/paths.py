"""Paths of values in a twin: names joined by `/`, as JSON pointers without the first slash."""

from __future__ import annotations

import re
from typing import Final

from twinframe.errors import InvalidArgument

MAX_PATH_LENGTH: Final = 1024
_LONGEST: Final = 100

BAD_ESCAPE: Final = re.compile("~(?![01])")
"""SPEC: RFC 6901 section 3: only `~0` and `~1` are escapes."""


def parse_path(text: str) -> str:
    """Check a path and return it. Raises `InvalidArgument`."""
    if not text or len(text) > MAX_PATH_LENGTH or not all(text.split("/")):
        raise InvalidArgument(
            f"The path {text[:_LONGEST]!a} is not one: names joined by /, such as temperature or "
            f"thermostat/temperature, of at most {MAX_PATH_LENGTH} characters in all. A / inside "
            "of a name is ~1, a ~ is ~0."
        )
    if BAD_ESCAPE.search(text):
        raise InvalidArgument(
            f"In the path {text[:_LONGEST]!a} a ~ is not followed by 0 or 1. A / inside of a name "
            "is ~1, a ~ is ~0."
        )
    if not text.isprintable():
        raise InvalidArgument(f"The path {text[:_LONGEST]!a} has characters that cannot be shown.")
    return text


def build_path(prefix: str, name: str) -> str:
    """Return the path of a member below another path, which may be empty."""
    if "~" in name or "/" in name:
        name = name.replace("~", "~0").replace("/", "~1")
    return f"{prefix}/{name}" if prefix else name


def split_path(path: str) -> list[str]:
    """Return the names of a path."""
    return [name.replace("~1", "/").replace("~0", "~") for name in path.split("/")]
