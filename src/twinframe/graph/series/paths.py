"""The values of a document that can be points, with their paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from twinframe.errors import InvalidArgument
from twinframe.model.paths import build_path
from twinframe.model.values import JsonValue
from twinframe.storage.points import PointValue

_MOST_DOUBLE: Final = 2**53
_LONGEST: Final = 100


@dataclass(frozen=True, slots=True)
class ChosenPaths:
    """Of which paths the telemetry of a model is kept, where it is not that of all."""

    model_id: str
    paths: frozenset[str]

    def has(self, path: str) -> bool:
        """Return whether a path is one of them, or below one."""
        name, _, rest = path.partition("/")
        return name in self.paths or f"{name}/{rest.partition('/')[0]}" in self.paths


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
