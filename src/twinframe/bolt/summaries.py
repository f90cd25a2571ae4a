"""The metadata at the end of a result: what was changed, and the warnings about its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from twinframe.bolt.framing import Version
from twinframe.bolt.results import Result
from twinframe.graph.queries.names import QueryWarning
from twinframe.query.writing.surroundings import Counters

_STATUSES_SINCE: Final = Version(5, 6)
_DONE: Final = {"gql_status": "00000", "status_description": "note: successful completion"}
_NO_ROWS: Final = {"gql_status": "02000", "status_description": "note: no data"}
_NO_COLUMNS: Final = {
    "gql_status": "00001",
    "status_description": "note: successful completion - omitted result",
}
_LABEL: Final = "Neo.ClientNotification.Statement.UnknownLabelWarning", "01N50"
_CODES: Final = {
    "UnknownLabel": _LABEL,
    "UnknownModel": _LABEL,
    "UnknownRelationship": (
        "Neo.ClientNotification.Statement.UnknownRelationshipTypeWarning",
        "01N51",
    ),
    "UnknownProperty": ("Neo.ClientNotification.Statement.UnknownPropertyKeyWarning", "01N52"),
}
_SEVERITY: Final = "WARNING"
_CATEGORY: Final = "UNRECOGNIZED"
_COUNTERS: Final = {one.name: one.name.replace("_", "-") for one in fields(Counters)}


def build_summary(result: Result, database: str, version: Version) -> Mapping[str, object]:
    """Return the metadata of the last SUCCESS of a result."""
    kind = "r"
    if result.writes:
        kind = "rw" if result.columns else "w"
    summary: dict[str, object] = {"type": kind, "t_last": 0, "db": database}
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
        summary["statuses"] = [outcome, *(_build_status(one) for one in result.warnings)]
    elif result.warnings:
        summary["notifications"] = [_build_notification(one) for one in result.warnings]
    return summary


def _build_counters(counters: Counters | None) -> dict[str, object]:
    if counters is None:
        return {}
    found: dict[str, object] = {
        shown: count for name, shown in _COUNTERS.items() if (count := getattr(counters, name))
    }
    return {**found, "contains-updates": True} if found else {}


def _build_position(warning: QueryWarning) -> dict[str, object]:
    return {"offset": 0, "line": warning.line, "column": warning.column}


def _build_notification(warning: QueryWarning) -> dict[str, object]:
    code, _ = _CODES[warning.code]
    return {
        "code": code,
        "title": warning.code,
        "description": warning.message,
        "severity": _SEVERITY,
        "category": _CATEGORY,
        "position": _build_position(warning),
    }


def _build_status(warning: QueryWarning) -> dict[str, object]:
    code, status = _CODES[warning.code]
    return {
        "gql_status": status,
        "status_description": f"warn: {warning.message}",
        "description": warning.message,
        "neo4j_code": code,
        "title": warning.code,
        "diagnostic_record": {
            "OPERATION": "",
            "OPERATION_CODE": "0",
            "CURRENT_SCHEMA": "/",
            "_classification": _CATEGORY,
            "_severity": _SEVERITY,
            "_position": _build_position(warning),
            "_status_parameters": {},
        },
    }
