"""Renders rows of data history as CloudEvents, for endpoints that take one event after the other.

The data of an event has the columns of the row, with a small first letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from twinframe.graph.events.event import Event
from twinframe.hooks.event_sinks.tables import (
    PROPERTY_EVENTS,
    RELATIONSHIP_EVENTS,
    TWIN_EVENTS,
    ColumnKind,
    TableRow,
)

_TYPES: Final = {
    PROPERTY_EVENTS.name: "Microsoft.DigitalTwins.Property.Event",
    TWIN_EVENTS.name: "Microsoft.DigitalTwins.Twin.Lifecycle",
    RELATIONSHIP_EVENTS.name: "Microsoft.DigitalTwins.Relationship.Lifecycle",
}


def render_history(event: Event, rows: Sequence[TableRow]) -> list[bytes]:
    """Render the rows of an event, each as a CloudEvent."""
    return [_render_row(event, number, row) for number, row in enumerate(rows)]


def _render_row(event: Event, number: int, row: TableRow) -> bytes:
    envelope = event.document
    return orjson.dumps(
        {
            "specversion": "1.0",
            "id": f"{envelope['id']}-{number}",
            "type": _TYPES[row.table.name],
            "source": envelope["source"],
            "subject": envelope["subject"],
            "time": envelope["time"],
            **({"traceparent": envelope["traceparent"]} if "traceparent" in envelope else {}),
            "datacontenttype": "application/json",
            "data": _build_data(row),
        }
    )


def _build_data(row: TableRow) -> dict[str, Any]:
    """Build the members of a row; a time that is not known is left out."""
    found: dict[str, Any] = {}
    for (name, kind), value in zip(row.table.columns, row.values, strict=True):
        if kind is ColumnKind.JSON:
            found[_build_name(name)] = None if value is None else orjson.Fragment(value)
        elif value is not None:
            found[_build_name(name)] = value
    return found


def _build_name(column: str) -> str:
    return column[0].lower() + column[1:]
