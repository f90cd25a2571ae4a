"""Paths of series: names joined by `/`, as JSON pointers without the first slash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from twinframe.errors import InvalidArgument
from twinframe.model.values import JsonValue
from twinframe.storage.points import PointValue

MAX_PATH_LENGTH: Final = 1024
_MOST_DOUBLE: Final = 2**53
_LONGEST: Final = 100


def parse_path(text: str) -> str:
    """Check a path and return it. Raises `InvalidArgument`."""
    if not text or len(text) > MAX_PATH_LENGTH or not all(text.split("/")):
        raise InvalidArgument(
            f"The path {text[:_LONGEST]!a} is not one: names joined by /, such as temperature or "
            f"thermostat/temperature, of at most {MAX_PATH_LENGTH} characters in all. A / inside "
            "of a name is ~1, a ~ is ~0."
        )
    if not text.isprintable():
        raise InvalidArgument(f"The path {text[:_LONGEST]!a} has characters that cannot be shown.")
    return text


def build_path(prefix: str, name: str) -> str:
    """Return the path of a member below another path, which may be empty."""
    if "~" in name or "/" in name:
        name = name.replace("~", "~0").replace("/", "~1")
    return f"{prefix}/{name}" if prefix else name


def list_values(document: Mapping[str, JsonValue], prefix: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield the path and value of each member, and of those of objects in it in their place."""
    for name, value in document.items():
        path = build_path(prefix, name)
        if isinstance(value, dict):
            yield from list_values(value, path)
        else:
            yield path, value


def check_value(value: JsonValue, path: str) -> PointValue:
    """Return a value that a point can have. Raises `InvalidArgument`."""
    if isinstance(value, float | str | bool):
        return value
    if isinstance(value, int) and -_MOST_DOUBLE <= value <= _MOST_DOUBLE:
        return value
    if isinstance(value, int):
        raise InvalidArgument(
            f"The value at {path[:_LONGEST]!a} is {value}, which is not exact as a double: send it "
            "as a text."
        )
    what = {type(None): "null", list: "an array"}.get(type(value), "an object")
    raise InvalidArgument(
        f"The value at {path[:_LONGEST]!a} is {what}; a point has a number, a boolean or a text."
    )
