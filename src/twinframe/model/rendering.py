"""Renders values as JSON text for the wire.

- A node or relationship is its document.
- A path is one array, nodes and relationships alternating: `[node, relationship, node, ...]`.
- A float that JSON has no number for is a string: `"NaN"`, `"Infinity"`, `"-Infinity"`. It is not
  null, which would be another answer.
- A temporal value is a string of ISO 8601: `"2015-07-21T21:40:32.142+02:00[Europe/Stockholm]"`; one
  that was read from a document is the string in it.
- Integers stay integers over the whole 64-bit range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from twinframe.errors import LimitExceeded
from twinframe.model.temporal.instants import LocalDateTime, LocalTime
from twinframe.model.temporal.rendering import render_temporal
from twinframe.model.values import Node, Path, Relationship, Temporal, Value


def render_json(value: Value) -> bytes:
    """Render the value as JSON text in UTF-8. Raises `LimitExceeded` for more than 254 levels."""
    return _render(build_json(value))


def render_row(columns: Sequence[str], row: Sequence[Value], *, omit_null: bool = False) -> bytes:
    """Render a row as a JSON object keyed by column, in column order; `omit_null` leaves null ones
    out.
    """
    if omit_null:
        return _render(
            {
                name: build_json(value)
                for name, value in zip(columns, row, strict=True)
                if value is not None
            }
        )
    return _render({name: build_json(value) for name, value in zip(columns, row, strict=True)})


def build_json(value: Value) -> Any:
    """Convert the value to JSON types: None, bool, int, float, str, list and dict."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, Node | Relationship):
        return value.document
    match value:
        case float():
            return value if math.isfinite(value) else _name_non_finite(value)
        case list():
            return [build_json(item) for item in value]
        case dict():
            return {key: build_json(item) for key, item in value.items()}
        case Path():
            return _build_path(value)
        case _ if isinstance(value, Temporal):
            return _render_stored(value) or render_temporal(value)
        case _:
            raise TypeError(f"Not a value of the query languages: {kind.__name__}.")


def render_text(value: str | float | Temporal) -> str:
    """Render a scalar as `toString()` does: numbers in the shortest form that reads back."""
    if isinstance(value, str):
        return value
    if isinstance(value, Temporal):
        return _render_stored(value) or render_temporal(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if math.isfinite(value) else _name_non_finite(value)


def _render_stored(value: Temporal) -> str | None:
    """Return the document's text of the value; None for computed ones."""
    return None if isinstance(value, LocalTime | LocalDateTime) else value.text


def _build_path(path: Path) -> list[Any]:
    parts: list[Any] = [path.nodes[0].document]
    for crossed, node in zip(path.relationships, path.nodes[1:], strict=True):
        parts.append(crossed.document)
        parts.append(node.document)
    return parts


def _name_non_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _render(built: Any) -> bytes:
    try:
        return orjson.dumps(built, default=_render_mapping)
    except orjson.JSONEncodeError as error:
        raise LimitExceeded(f"A result value cannot be written as JSON: {error}.") from error


def _render_mapping(document: object) -> dict[str, Any]:
    if isinstance(document, Mapping):
        return dict(document)
    raise TypeError(f"no JSON form of {type(document).__name__}")
