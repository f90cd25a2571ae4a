"""The metadata at the end of a result: what was changed, and the warnings about its text."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from twinframe.bolt.framing import Version
from twinframe.bolt.notifications import NotificationFilter, build_notification, build_status
from twinframe.bolt.packstream import Packed
from twinframe.bolt.results import Result
from twinframe.bolt.values import pack_value
from twinframe.query.writing.surroundings import Counters

_STATUSES_SINCE: Final = Version(5, 6)


def _pack_outcome(status: str, description: str) -> Packed:
    buffer = bytearray()
    pack_value(buffer, {"gql_status": status, "status_description": f"note: {description}"})
    return Packed(buffer)


# PERF: packing it anew took as long as all else of a summary.
_DONE: Final = _pack_outcome("00000", "successful completion")
_NO_ROWS: Final = _pack_outcome("02000", "no data")
_NO_COLUMNS: Final = _pack_outcome("00001", "successful completion - omitted result")
_COUNTERS: Final = {one.name: one.name.replace("_", "-") for one in fields(Counters)}


def build_summary(
    result: Result, database: str, version: Version, wanted: NotificationFilter
) -> Mapping[str, object]:
    """Return the metadata of the last SUCCESS of a result."""
    kind = "r"
    if result.writes:
        kind = "rw" if result.columns else "w"
    consumed = int((time.perf_counter() - result.available_at) * 1000)
    summary: dict[str, object] = {"type": kind, "t_last": consumed, "db": database}
    text, warnings = result.text, wanted.select(result.warnings)
    counted = _build_counters(result.counters)
    if counted:
        summary["stats"] = counted
    if result.plan is not None:
        summary[result.plan.member] = result.plan.root
    if result.bookmark:
        summary["bookmark"] = result.bookmark
    if version >= _STATUSES_SINCE:
        outcome = _DONE if result.has_rows else _NO_ROWS
        if not result.columns:
            outcome = _NO_COLUMNS
        summary["statuses"] = [outcome, *(build_status(one, text) for one in warnings)]
    elif warnings:
        summary["notifications"] = [build_notification(one, text) for one in warnings]
    return summary


def _build_counters(counters: Counters | None) -> dict[str, object]:
    if counters is None:
        return {}
    found: dict[str, object] = {
        shown: count for name, shown in _COUNTERS.items() if (count := getattr(counters, name))
    }
    return {**found, "contains-updates": True} if found else {}
